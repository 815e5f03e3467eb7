/* Reads and appends lines of verdicts. */
#include "rl/judge/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "rl/judge/index.h"
#include "rl/judge/journal_line.h"

#define FORMAT    "kgym.verdicts/1"
#define MAX_BYTES ((size_t)4 << 30)

struct entry {
    char key[KG_SHA256_HEX];
    bool asked;
    uint32_t len; /* of its line in the file, without the end */
    uint64_t at;
};

struct rl_journal {
    char *path;
    int fd;       /* -1: not open yet */
    bool writes;  /* entries can be appended */
    uint64_t end; /* of its last whole line */
    struct entry *entry;
    size_t n, cap;
    struct rl_index index;
};

void rl_journal_close(struct rl_journal *j)
{
    if (j == NULL) {
        return;
    }
    if (j->fd >= 0) {
        close(j->fd);
    }
    free(j->entry);
    rl_index_deinit(&j->index);
    free(j->path);
    free(j);
}

size_t rl_journal_count(const struct rl_journal *j)
{
    return j->n;
}

/* --- entries --- */

static const char *key_of(const void *owner, size_t i)
{
    const struct rl_journal *j = owner;
    return j->entry[i].key;
}

static bool grow(struct rl_journal *j)
{
    if (j->n == j->cap) {
        size_t cap = j->cap == 0 ? 1024 : 2 * j->cap;
        struct entry *entry = realloc(j->entry, cap * sizeof *entry);
        if (entry == NULL) {
            return false;
        }
        j->entry = entry;
        j->cap = cap;
    }
    return rl_index_grow(&j->index, j->n);
}

/* The entry of a key; NULL: none. */
static struct entry *find(const struct rl_journal *j, const char *key)
{
    const size_t *slot = rl_index_slot(&j->index, key);
    return slot != NULL && *slot > 0 ? &j->entry[*slot - 1] : NULL;
}

/* The line of [at, at + len) belongs to this key, unless an earlier one does. False: memory. */
static bool put(struct rl_journal *j, const char *key, uint64_t at, size_t len, bool asked)
{
    if (!grow(j)) {
        return false;
    }
    size_t *slot = rl_index_slot(&j->index, key);
    if (*slot == 0) {
        struct entry *e = &j->entry[j->n];
        *e = (struct entry){.at = at, .len = (uint32_t)len, .asked = asked};
        snprintf(e->key, sizeof e->key, "%s", key);
        *slot = ++j->n;
    }
    return true;
}

/* --- reading --- */

static enum kg_code read_bytes(const struct rl_journal *j, char *out, size_t len, uint64_t at,
                               struct kg_err *err)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = pread(j->fd, out + got, len - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return kg_fail(err, KG_E_IO, "%s: cannot read a verdict at byte %llu: %s", j->path,
                           (unsigned long long)at, n == 0 ? "the file was cut" : strerror(errno));
        }
        got += (size_t)n;
    }
    return KG_OK;
}

enum kg_code rl_journal_ask(struct rl_journal *j, const char *key, bool *found,
                            struct rl_verdict *out, bool *asked, struct kg_err *err)
{
    char source[400], its_key[KG_SHA256_HEX];
    json_t *line = NULL;
    struct entry *e = find(j, key);
    *found = false;
    if (e == NULL) {
        return KG_OK;
    }
    char *text = malloc((size_t)e->len + 1);
    if (text == NULL) {
        return kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", j->path);
    }
    snprintf(source, sizeof source, "%.340s, byte %llu", j->path, (unsigned long long)e->at);
    enum kg_code code = read_bytes(j, text, e->len, e->at, err);
    if (code == KG_OK) {
        code = kg_json_parse_line(text, e->len, source, &line, err);
    }
    free(text);
    if (code != KG_OK) {
        return code;
    }
    code = rl_journal_parse(source, line, its_key, out, err);
    json_decref(line);
    if (code != KG_OK) {
        return code;
    }
    if (strcmp(its_key, key) != 0) {
        return kg_fail(err, KG_E_INPUT, "%s: another verdict is there than when it was read",
                       source);
    }
    if (asked != NULL) {
        *asked = e->asked;
    }
    e->asked = true;
    *found = true;
    return KG_OK;
}

/* The first line has the members of head, and no others. */
static enum kg_code check_head(const char *source, const json_t *line, const json_t *head,
                               struct kg_err *err)
{
    const char *key, *format = json_string_value(json_object_get(line, "journal"));
    const json_t *want;
    if (format == NULL || strcmp(format, FORMAT) != 0) {
        return kg_fail(err, KG_E_INPUT, "%s: not a journal of verdicts (" FORMAT ")", source);
    }
    json_object_foreach((json_t *)(uintptr_t)head, key, want)
    {
        if (!json_equal((json_t *)(uintptr_t)want, json_object_get(line, key))) {
            return kg_fail(err, KG_E_USAGE,
                           "%s: these verdicts were made with another `%s` than this run has",
                           source, key);
        }
    }
    return KG_OK;
}

/* The line begins at j->end. */
static enum kg_code read_line(struct rl_journal *j, const char *text, size_t len, int number,
                              const json_t *head, struct kg_err *err)
{
    char source[400], key[KG_SHA256_HEX];
    struct rl_verdict v;
    json_t *line;
    snprintf(source, sizeof source, "%.360s:%d", j->path, number);
    if (kg_json_parse_line(text, len, source, &line, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = number == 1 ? check_head(source, line, head, err)
                                    : rl_journal_parse(source, line, key, &v, err);
    json_decref(line);
    if (code == KG_OK && number > 1 && !put(j, key, j->end, len, false)) {
        code = kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", source);
    }
    return code;
}

/* All whole lines. */
static enum kg_code read_all(struct rl_journal *j, const json_t *head, struct kg_err *err)
{
    struct kg_buf text;
    int number = 0;
    kg_buf_init(&text, MAX_BYTES);
    enum kg_code code = kg_file_read(j->path, &text, err);
    while (code == KG_OK && j->end < text.len) {
        const char *from = text.data + j->end, *nl = memchr(from, '\n', text.len - j->end);
        if (nl == NULL) {
            break;
        }
        code = read_line(j, from, (size_t)(nl - from), ++number, head, err);
        j->end += (size_t)(nl - from) + 1;
    }
    kg_buf_deinit(&text);
    return code;
}

static enum kg_code open_file(struct rl_journal *j, int flags, struct kg_err *err)
{
    j->fd = open(j->path, flags | O_CLOEXEC, 0666);
    return j->fd >= 0 ? KG_OK
                      : kg_fail(err, KG_E_IO, "%s: cannot open: %s", j->path, strerror(errno));
}

static struct rl_journal *create(const char *path)
{
    struct rl_journal *j = calloc(1, sizeof *j);
    if (j != NULL) {
        j->fd = -1;
        j->index = (struct rl_index){.owner = j, .key = key_of};
        j->path = strdup(path);
        if (j->path == NULL) {
            free(j);
            j = NULL;
        }
    }
    return j;
}

/* The journal if all went well, else NULL. */
static enum kg_code give(struct rl_journal *j, enum kg_code code, struct rl_journal **out)
{
    if (code != KG_OK) {
        rl_journal_close(j);
        j = NULL;
    }
    *out = j;
    return code;
}

enum kg_code rl_journal_read(const char *path, const json_t *head, struct rl_journal **out,
                             struct kg_err *err)
{
    struct rl_journal *j = create(path);
    *out = NULL;
    if (j == NULL) {
        return kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", path);
    }
    enum kg_code code = read_all(j, head, err);
    if (code == KG_OK && j->end == 0) {
        code = kg_fail(err, KG_E_INPUT, "%s: not a journal of verdicts: it is empty", path);
    }
    code = code == KG_OK ? open_file(j, O_RDONLY, err) : code;
    return give(j, code, out);
}

/* --- writing --- */

static enum kg_code cannot(const struct rl_journal *j, struct kg_err *err)
{
    return kg_fail(err, KG_E_IO, "%s: cannot write: %s", j->path, strerror(errno));
}

/* The line in one write, so that a crash leaves a part of one line at most. Takes it over. */
static enum kg_code append(struct rl_journal *j, json_t *line, struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, 1u << 20);
    kg_json_dump(line, &text);
    json_decref(line);
    kg_buf_addc(&text, '\n');
    enum kg_code code = kg_file_write_all(j->fd, text.data, text.len, err);
    j->end += code == KG_OK ? text.len : 0;
    kg_buf_deinit(&text);
    return code == KG_OK ? KG_OK : kg_err_prefix(err, "%s", j->path);
}

static enum kg_code open_end(struct rl_journal *j, const json_t *head, struct kg_err *err)
{
    if (open_file(j, O_RDWR | O_CREAT, err) != KG_OK) {
        return err->code;
    }
    j->writes = true;
    if (ftruncate(j->fd, (off_t)j->end) != 0 || lseek(j->fd, 0, SEEK_END) < 0) {
        return cannot(j, err);
    }
    if (j->end > 0) {
        return KG_OK;
    }
    json_t *line = json_pack("{s:s}", "journal", FORMAT);
    json_object_update_missing(line, (json_t *)(uintptr_t)head);
    return append(j, line, err);
}

enum kg_code rl_journal_open(const char *path, const json_t *head, struct rl_journal **out,
                             struct kg_err *err)
{
    struct rl_journal *j = create(path);
    *out = NULL;
    if (j == NULL) {
        return kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", path);
    }
    enum kg_code code = kg_file_exists(path) ? read_all(j, head, err) : KG_OK;
    code = code == KG_OK ? open_end(j, head, err) : code;
    return give(j, code, out);
}

enum kg_code rl_journal_add(struct rl_journal *j, const char *key, const struct rl_verdict *v,
                            struct kg_err *err)
{
    struct entry *e = find(j, key);
    uint64_t at = j->end;
    if (e != NULL) { /* the first verdict stays */
        e->asked = true;
        return KG_OK;
    }
    if (append(j, rl_journal_line(key, v), err) != KG_OK) {
        return err->code;
    }
    return put(j, key, at, (size_t)(j->end - at - 1), true)
               ? KG_OK
               : kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", j->path);
}

enum kg_code rl_journal_sync(struct rl_journal *j, struct kg_err *err)
{
    return !j->writes || fsync(j->fd) == 0 ? KG_OK : cannot(j, err);
}

/* --- what was asked --- */

json_t *rl_journal_save(const struct rl_journal *j)
{
    json_t *unasked = json_array();
    for (size_t i = 0; i < j->n; i++) {
        if (!j->entry[i].asked) {
            json_array_append_new(unasked, json_integer((json_int_t)i));
        }
    }
    return json_pack("{s:I,s:o}", "entries", (json_int_t)j->n, "unasked", unasked);
}

enum kg_code rl_journal_restore(struct rl_journal *j, const json_t *saved, struct kg_err *err)
{
    json_int_t n = json_integer_value(json_object_get(saved, "entries"));
    const json_t *unasked = json_object_get(saved, "unasked"), *x;
    size_t at;
    if (n < 0 || (size_t)n > j->n) {
        return kg_fail(err, KG_E_INPUT, "%s: has %zu entries, and the checkpoint knows %lld",
                       j->path, j->n, (long long)n);
    }
    for (size_t i = 0; i < j->n; i++) {
        j->entry[i].asked = i < (size_t)n;
    }
    json_array_foreach((json_t *)(uintptr_t)unasked, at, x)
    {
        json_int_t i = json_integer_value(x);
        if (i >= 0 && (size_t)i < j->n) {
            j->entry[i].asked = false;
        }
    }
    return KG_OK;
}
