/* Reads single lines of a large JSONL file, and remembers where lines begin. */
#include "gym/torch/problem/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES  4
#define PLACES 4096
#define CHUNK  (256u << 10)

struct place {
    long line;
    off_t at; /* where it begins */
};

/* Lines 1, 1 + stride, 1 + 2 stride, ... as far as the file was read. */
struct index {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
    off_t begins[PLACES];
    long stride, n;
    struct place next; /* the line after the one that was read last */
};

/* A file's bytes from a place on, chunk after chunk. */
struct stream {
    int fd;
    const char *file;
    off_t at; /* of the chunk */
    size_t n;
    char bytes[CHUNK];
};

static struct index known[FILES];
static unsigned newest;
static struct stream stream;

static struct index *index_of(const struct stat *st)
{
    for (unsigned i = 0; i < FILES; i++) {
        struct index *x = &known[i];
        if (x->n > 0 && x->dev == st->st_dev && x->ino == st->st_ino && x->size == st->st_size &&
            x->changed.tv_sec == st->st_mtim.tv_sec && x->changed.tv_nsec == st->st_mtim.tv_nsec) {
            return x;
        }
    }
    struct index *x = &known[++newest % FILES];
    x->dev = st->st_dev;
    x->ino = st->st_ino;
    x->size = st->st_size;
    x->changed = st->st_mtim;
    x->begins[0] = 0;
    x->stride = x->n = 1;
    x->next = (struct place){1, 0};
    return x;
}

static void note(struct index *x, long line, off_t at)
{
    if (line != x->n * x->stride + 1) {
        return;
    }
    if (x->n == PLACES) { /* every second one is enough */
        for (long i = 0; i < PLACES / 2; i++) {
            x->begins[i] = x->begins[2 * i];
        }
        x->n = PLACES / 2;
        x->stride *= 2;
    }
    x->begins[x->n++] = at;
}

/* The last place that is known up to a line. */
static struct place nearest(const struct index *x, long line)
{
    long i = (line - 1) / x->stride;
    i = i < x->n ? i : x->n - 1;
    struct place p = {i * x->stride + 1, x->begins[i]};
    return x->next.line <= line && x->next.line > p.line ? x->next : p;
}

static enum kg_code fetch(struct stream *s, off_t at, struct kg_err *err)
{
    ssize_t got;
    do {
        got = pread(s->fd, s->bytes, sizeof s->bytes, at);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot read: %s", s->file, strerror(errno));
    }
    s->at = at;
    s->n = (size_t)got;
    return KG_OK;
}

/* From p to the beginning of a line, or to the end of the file: then p->line is the line that would
 * begin there, or the last one if it has no end. *ends: the file ended first. */
static enum kg_code walk(struct stream *s, struct index *x, struct place *p, long line, bool *ends,
                         struct kg_err *err)
{
    *ends = false;
    for (off_t at = p->at; p->line < line;) {
        if (fetch(s, at, err) != KG_OK) {
            return err->code;
        }
        if (s->n == 0) {
            *ends = true;
            return KG_OK;
        }
        const char *from = s->bytes, *end = s->bytes + s->n, *nl;
        while (p->line < line && (nl = memchr(from, '\n', (size_t)(end - from)))) {
            from = nl + 1;
            p->line++;
            p->at = s->at + (from - s->bytes);
            note(x, p->line, p->at);
        }
        at = s->at + (off_t)s->n;
    }
    return KG_OK;
}

static enum kg_code take(struct stream *s, struct index *x, struct place p, const char *what,
                         struct kg_buf *out, struct kg_err *err)
{
    const char *nl = NULL;
    for (off_t at = p.at; !nl; at += (off_t)s->n) {
        if (fetch(s, at, err) != KG_OK) {
            return err->code;
        }
        if (s->n == 0) {
            return at > p.at ? KG_OK
                             : kg_fail(err, KG_E_NOT_FOUND, "%s: the file has no such line", what);
        }
        nl = memchr(s->bytes, '\n', s->n);
        size_t n = nl ? (size_t)(nl - s->bytes) : s->n;
        if (n > out->max - out->len) {
            return kg_fail(err, KG_E_LIMIT, "%s: more than %zu bytes", what, out->max);
        }
        kg_buf_add(out, s->bytes, n);
    }
    x->next = (struct place){p.line + 1, s->at + (nl - s->bytes) + 1};
    note(x, x->next.line, x->next.at);
    return KG_OK;
}

static enum kg_code open_file(struct stream *s, const char *file, struct index **x,
                              struct kg_err *err)
{
    struct stat st;
    s->file = file;
    s->fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (s->fd < 0 || fstat(s->fd, &st) != 0) {
        enum kg_code code = errno == ENOENT ? KG_E_NOT_FOUND : KG_E_IO;
        return kg_fail(err, code, "%s: cannot open: %s", file, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return kg_fail(err, KG_E_IO, "%s: not a regular file", file);
    }
    *x = index_of(&st);
    return KG_OK;
}

static void close_file(struct stream *s)
{
    if (s->fd >= 0) {
        close(s->fd);
    }
}

enum kg_code kg_trow_read(const char *file, long line, const char *what, struct kg_buf *out,
                          struct kg_err *err)
{
    struct stream *s = &stream;
    struct index *x = NULL;
    bool ends;
    enum kg_code code = open_file(s, file, &x, err);
    if (x) {
        struct place p = nearest(x, line);
        code = walk(s, x, &p, line, &ends, err);
        if (code == KG_OK) {
            code = ends ? kg_fail(err, KG_E_NOT_FOUND, "%s: the file has no such line", what)
                        : take(s, x, p, what, out, err);
        }
    }
    close_file(s);
    return code;
}

enum kg_code kg_trows_count(const char *file, long *n, struct kg_err *err)
{
    struct stream *s = &stream;
    struct index *x = NULL;
    bool ends = false;
    *n = 0;
    enum kg_code code = open_file(s, file, &x, err);
    if (x) {
        struct place p = nearest(x, LONG_MAX);
        code = walk(s, x, &p, LONG_MAX, &ends, err);
        *n = p.at < x->size ? p.line : p.line - 1;
    }
    close_file(s);
    return code;
}
