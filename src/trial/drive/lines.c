/* Appends lines and finds them again by a hash of their key. */
#include "trial/drive/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "rl/judge/index.h"

struct place {
    char hash[KG_SHA256_HEX];
    off_t at;
    size_t len; /* without the line's end */
};

struct tr_lines {
    char *path;
    const char *key; /* static text of the caller */
    int fd;
    off_t end; /* of the last whole line */
    bool synced;
    struct place *place;
    size_t n, cap;
    struct rl_index index;
};

static const char *hash_of(const void *owner, size_t i)
{
    const struct tr_lines *l = owner;
    return l->place[i].hash;
}

void tr_lines_close(struct tr_lines *l)
{
    if (l == NULL) {
        return;
    }
    if (l->fd >= 0) {
        close(l->fd);
    }
    rl_index_deinit(&l->index);
    free(l->place);
    free(l->path);
    free(l);
}

static enum kg_code no_memory(const struct tr_lines *l, struct kg_err *err)
{
    return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", l->path);
}

static enum kg_code cannot(const struct tr_lines *l, const char *what, struct kg_err *err)
{
    return kg_fail(err, KG_E_IO, "%s: cannot %s: %s", l->path, what, strerror(errno));
}

/* Makes room for one more place. */
static bool grow(struct tr_lines *l)
{
    if (l->n == l->cap) {
        size_t cap = l->cap > 0 ? 2 * l->cap : 256;
        struct place *place = realloc(l->place, cap * sizeof *place);
        if (place == NULL) {
            return false;
        }
        l->place = place;
        l->cap = cap;
    }
    return rl_index_grow(&l->index, l->n);
}

/* There is room. */
static void put(struct tr_lines *l, const char *key, off_t at, size_t len)
{
    struct place p = {.at = at, .len = len};
    kg_sha256_hex(key, strlen(key), p.hash);
    size_t *slot = rl_index_slot(&l->index, p.hash);
    if (*slot > 0) {
        l->place[*slot - 1] = p;
        return;
    }
    l->place[l->n] = p;
    *slot = ++l->n;
}

static const struct place *find(const struct tr_lines *l, const char *key)
{
    char hash[KG_SHA256_HEX];
    kg_sha256_hex(key, strlen(key), hash);
    const size_t *slot = rl_index_slot(&l->index, hash);
    return slot != NULL && *slot > 0 ? &l->place[*slot - 1] : NULL;
}

bool tr_lines_has(const struct tr_lines *l, const char *key)
{
    return find(l, key) != NULL;
}

/* --- opening --- */

/* A line that begins at l->end. */
static enum kg_code take(struct tr_lines *l, const char *text, size_t len, long number,
                         tr_lines_seen *seen, void *user, struct kg_err *err)
{
    char source[400];
    json_t *line = NULL;
    snprintf(source, sizeof source, "%.360s:%ld", l->path, number);
    if (kg_json_parse_line(text, len, source, &line, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = KG_OK;
    const char *key = json_string_value(json_object_get(line, l->key));
    if (key == NULL) {
        code = kg_fail(err, KG_E_INPUT, "%s: no object with the member `%s`", source, l->key);
    } else if (!grow(l)) {
        code = no_memory(l, err);
    } else {
        put(l, key, l->end, len);
    }
    if (code == KG_OK && seen != NULL) {
        seen(user, line);
    }
    json_decref(line);
    return code;
}

/* All whole lines. f: at its beginning. An error leaves the file as it is. */
static enum kg_code scan(struct tr_lines *l, FILE *f, tr_lines_seen *seen, void *user,
                         struct kg_err *err)
{
    char *text = NULL;
    size_t cap = 0;
    long number = 0;
    enum kg_code code = KG_OK;
    ssize_t len;
    errno = 0;
    while (code == KG_OK && (len = getline(&text, &cap, f)) > 0 && text[len - 1] == '\n') {
        code = take(l, text, (size_t)len - 1, ++number, seen, user, err);
        l->end += code == KG_OK ? len : 0;
    }
    if (code == KG_OK && !feof(f)) { /* also where a line is more than memory holds */
        code = cannot(l, "read", err);
    }
    free(text);
    return code;
}

static enum kg_code read_all(struct tr_lines *l, tr_lines_seen *seen, void *user,
                             struct kg_err *err)
{
    if (l->key == NULL) { /* only where the last whole line ends matters */
        char byte = '\0';
        l->end = lseek(l->fd, 0, SEEK_END);
        while (l->end > 0 && byte != '\n') {
            if (pread(l->fd, &byte, 1, l->end - 1) != 1) {
                return cannot(l, "read", err);
            }
            l->end -= byte != '\n';
        }
        return l->end >= 0 ? KG_OK : cannot(l, "read", err);
    }
    FILE *f = fopen(l->path, "re");
    if (f == NULL) {
        return cannot(l, "open", err);
    }
    enum kg_code code = scan(l, f, seen, user, err);
    fclose(f);
    return code;
}

static enum kg_code open_file(struct tr_lines *l, tr_lines_seen *seen, void *user,
                              struct kg_err *err)
{
    l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (l->fd < 0) {
        return cannot(l, "open", err);
    }
    if (read_all(l, seen, user, err) != KG_OK) {
        return err->code;
    }
    return ftruncate(l->fd, l->end) == 0 && lseek(l->fd, l->end, SEEK_SET) == l->end
               ? KG_OK
               : cannot(l, "write", err);
}

enum kg_code tr_lines_open(const char *path, const char *key, tr_lines_seen *seen, void *user,
                           struct tr_lines **out, struct kg_err *err)
{
    struct tr_lines *l = calloc(1, sizeof *l);
    *out = NULL;
    if (l == NULL || (l->path = strdup(path)) == NULL) {
        free(l);
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", path);
    }
    l->fd = -1;
    l->key = key;
    l->index = (struct rl_index){.owner = l, .key = hash_of};
    if (open_file(l, seen, user, err) != KG_OK) {
        tr_lines_close(l);
        return err->code;
    }
    *out = l;
    return KG_OK;
}

/* --- lines --- */

enum kg_code tr_lines_read(const struct tr_lines *l, const char *key, struct kg_buf *out,
                           bool *found, struct kg_err *err)
{
    const struct place *p = find(l, key);
    *found = p != NULL;
    if (p == NULL) {
        return KG_OK;
    }
    char *text = malloc(p->len + 1);
    if (text == NULL) {
        return no_memory(l, err);
    }
    for (size_t got = 0; got < p->len;) {
        ssize_t n = pread(l->fd, text + got, p->len - got, p->at + (off_t)got);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            free(text);
            return cannot(l, "read", err);
        }
        got += (size_t)n;
    }
    kg_buf_add(out, text, p->len);
    free(text);
    return KG_OK;
}

/* Takes back what a failed append may have left. */
static enum kg_code undo(struct tr_lines *l, struct kg_err *err)
{
    int why = errno;
    if (ftruncate(l->fd, l->end) != 0 || lseek(l->fd, l->end, SEEK_SET) != l->end) {
        return kg_fail(err, KG_E_IO, "%s: cannot write: %s; its last line is torn: %s", l->path,
                       strerror(why), strerror(errno));
    }
    errno = why;
    return cannot(l, "write", err);
}

enum kg_code tr_lines_append(struct tr_lines *l, const char *key, const char *text, size_t len,
                             struct kg_err *err)
{
    struct kg_err why = KG_ERR_INIT;
    KG_ASSERT((key == NULL) == (l->key == NULL) && memchr(text, '\n', len) == NULL);
    if (len >= TR_LINE_BYTES) {
        return kg_fail(err, KG_E_LIMIT, "%s: a line of %zu bytes is too long", l->path, len);
    }
    char *line = key == NULL || grow(l) ? malloc(len + 1) : NULL;
    if (line == NULL) {
        return no_memory(l, err);
    }
    memcpy(line, text, len);
    line[len] = '\n';
    enum kg_code code = kg_file_write_all(l->fd, line, len + 1, &why);
    free(line);
    if (code != KG_OK) {
        return undo(l, err);
    }
    l->synced = false;
    if (key != NULL) {
        put(l, key, l->end, len);
    }
    l->end += (off_t)len + 1;
    return KG_OK;
}

enum kg_code tr_lines_sync(struct tr_lines *l, struct kg_err *err)
{
    if (!l->synced && fdatasync(l->fd) != 0) {
        return cannot(l, "sync", err);
    }
    l->synced = true;
    return KG_OK;
}

enum kg_code tr_lines_append_json(struct tr_lines *l, const char *key, const json_t *line,
                                  struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, TR_LINE_BYTES);
    kg_json_dump(line, &text);
    enum kg_code code = kg_buf_ok(&text)
                            ? tr_lines_append(l, key, text.data, text.len, err)
                            : kg_fail(err, KG_E_LIMIT, "%s: a line is too long", l->path);
    kg_buf_deinit(&text);
    return code;
}
