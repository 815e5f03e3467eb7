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
    struct rl_verdict verdict;
};

struct rl_journal {
    char *path;
    int fd; /* -1: not to be written */
    struct entry **entry;
    size_t n, cap;
    struct rl_index index;
};

void rl_journal_close(struct rl_journal *j)
{
    if (j == NULL) {
        return;
    }
    for (size_t i = 0; i < j->n; i++) {
        free(j->entry[i]);
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
    return j->entry[i]->key;
}

static bool grow(struct rl_journal *j)
{
    if (j->n == j->cap) {
        size_t cap = j->cap == 0 ? 1024 : 2 * j->cap;
        struct entry **entry = realloc(j->entry, cap * sizeof *entry);
        if (entry == NULL) {
            return false;
        }
        j->entry = entry;
        j->cap = cap;
    }
    return rl_index_grow(&j->index, j->n);
}

/* The entry of the key, made if there is none; the first verdict stays. NULL: memory. */
static struct entry *put(struct rl_journal *j, const char *key, const struct rl_verdict *v)
{
    if (!grow(j)) {
        return NULL;
    }
    size_t *slot = rl_index_slot(&j->index, key);
    if (*slot > 0) {
        return j->entry[*slot - 1];
    }
    struct entry *e = calloc(1, sizeof *e);
    if (e != NULL) {
        e->verdict = *v;
        snprintf(e->key, sizeof e->key, "%s", key);
        j->entry[j->n++] = e;
        *slot = j->n;
    }
    return e;
}

const struct rl_verdict *rl_journal_ask(struct rl_journal *j, const char *key, bool *asked)
{
    const size_t *slot = rl_index_slot(&j->index, key);
    if (slot == NULL || *slot == 0) {
        return NULL;
    }
    struct entry *e = j->entry[*slot - 1];
    if (asked != NULL) {
        *asked = e->asked;
    }
    e->asked = true;
    return &e->verdict;
}

/* --- reading --- */

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
    if (code == KG_OK && number > 1 && put(j, key, &v) == NULL) {
        code = kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", source);
    }
    return code;
}

/* All whole lines. *end: the bytes that they take. */
static enum kg_code read_all(struct rl_journal *j, const json_t *head, size_t *end,
                             struct kg_err *err)
{
    struct kg_buf text;
    int number = 0;
    *end = 0;
    kg_buf_init(&text, MAX_BYTES);
    enum kg_code code = kg_file_read(j->path, &text, err);
    while (code == KG_OK && *end < text.len) {
        const char *from = text.data + *end, *nl = memchr(from, '\n', text.len - *end);
        if (nl == NULL) {
            break;
        }
        code = read_line(j, from, (size_t)(nl - from), ++number, head, err);
        *end += (size_t)(nl - from) + 1;
    }
    kg_buf_deinit(&text);
    return code;
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
    size_t end;
    struct rl_journal *j = create(path);
    *out = NULL;
    if (j == NULL) {
        return kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", path);
    }
    enum kg_code code = read_all(j, head, &end, err);
    if (code == KG_OK && end == 0) {
        code = kg_fail(err, KG_E_INPUT, "%s: not a journal of verdicts: it is empty", path);
    }
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
    kg_buf_deinit(&text);
    return code == KG_OK ? KG_OK : kg_err_prefix(err, "%s", j->path);
}

static enum kg_code open_end(struct rl_journal *j, size_t end, const json_t *head,
                             struct kg_err *err)
{
    j->fd = open(j->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (j->fd < 0 || ftruncate(j->fd, (off_t)end) != 0 || lseek(j->fd, 0, SEEK_END) < 0) {
        return cannot(j, err);
    }
    if (end > 0) {
        return KG_OK;
    }
    json_t *line = json_pack("{s:s}", "journal", FORMAT);
    json_object_update_missing(line, (json_t *)(uintptr_t)head);
    return append(j, line, err);
}

enum kg_code rl_journal_open(const char *path, const json_t *head, struct rl_journal **out,
                             struct kg_err *err)
{
    size_t end = 0;
    struct rl_journal *j = create(path);
    *out = NULL;
    if (j == NULL) {
        return kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", path);
    }
    enum kg_code code = kg_file_exists(path) ? read_all(j, head, &end, err) : KG_OK;
    code = code == KG_OK ? open_end(j, end, head, err) : code;
    return give(j, code, out);
}

enum kg_code rl_journal_add(struct rl_journal *j, const char *key, const struct rl_verdict *v,
                            struct kg_err *err)
{
    size_t before = j->n;
    struct entry *e = put(j, key, v);
    if (e == NULL) {
        return kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", j->path);
    }
    e->asked = true;
    return j->n == before ? KG_OK : append(j, rl_journal_line(key, v), err);
}

enum kg_code rl_journal_sync(struct rl_journal *j, struct kg_err *err)
{
    return j->fd < 0 || fsync(j->fd) == 0 ? KG_OK : cannot(j, err);
}

/* --- what was asked --- */

json_t *rl_journal_save(const struct rl_journal *j)
{
    json_t *unasked = json_array();
    for (size_t i = 0; i < j->n; i++) {
        if (!j->entry[i]->asked) {
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
        j->entry[i]->asked = i < (size_t)n;
    }
    json_array_foreach((json_t *)(uintptr_t)unasked, at, x)
    {
        json_int_t i = json_integer_value(x);
        if (i >= 0 && (size_t)i < j->n) {
            j->entry[i]->asked = false;
        }
    }
    return KG_OK;
}
