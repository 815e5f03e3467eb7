/* The records of a run folder between evaluations: locked, merged and replaced as whole files. */
#include "gym/kernelbench/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"

#define MAX_BYTES (2ull << 30)

/* The place of a kernel in the list; *there: it has one. */
static size_t find(const struct kg_kb_store *s, const struct kg_kb_kernel *k, bool *there)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (kg_kb_kernel_order(&s->line[mid].kernel, k) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    *there = lo < s->n && kg_kb_kernel_order(&s->line[lo].kernel, k) == 0;
    return lo;
}

enum kg_code kg_kb_store_put(struct kg_kb_store *s, const struct kg_kb_kernel *k, const char *text,
                             size_t len, struct kg_err *err)
{
    bool there;
    char *copy = strndup(text, len);
    size_t at = find(s, k, &there);
    if (copy && !there && s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 256;
        struct kg_kb_line *grown = realloc(s->line, cap * sizeof *grown);
        if (grown) {
            s->line = grown;
            s->cap = cap;
        }
    }
    if (!copy || (!there && s->n == s->cap)) {
        free(copy);
        return kg_fail(err, KG_E_LIMIT, "%s: no memory for its records", s->records);
    }
    if (there) {
        free(s->line[at].text);
    } else {
        memmove(&s->line[at + 1], &s->line[at], (s->n - at) * sizeof *s->line);
        s->line[at].kernel = *k;
        s->n++;
    }
    s->line[at].text = copy;
    return KG_OK;
}

/* One line of a file of records. */
static enum kg_code take_line(struct kg_kb_store *s, const char *text, size_t len,
                              const char *source, struct kg_err *err)
{
    struct kg_kb_kernel k;
    json_t *j;
    if (kg_json_parse_line(text, len, source, &j, err) != KG_OK) {
        return err->code;
    }
    const char *id = json_string_value(json_object_get(j, "batch_id"));
    enum kg_code code = KG_OK;
    if (!id || !kg_kb_kernel_id_parse(id, &k)) {
        code = kg_fail(err, KG_E_INPUT, "%s: batch_id: not that of a kernel", source);
    }
    json_decref(j);
    return code == KG_OK ? kg_kb_store_put(s, &k, text, len, err) : code;
}

/* All whole lines of a file that may be missing; what follows the last line end is torn. */
static enum kg_code take_file(struct kg_kb_store *s, const char *path, struct kg_err *err)
{
    struct kg_buf b;
    char source[1200];
    kg_buf_init(&b, MAX_BYTES);
    enum kg_code code = kg_file_read(path, &b, err);
    if (code == KG_E_NOT_FOUND) {
        kg_buf_deinit(&b);
        return KG_OK;
    }
    int line = 1;
    for (size_t at = 0; code == KG_OK && at < b.len; line++) {
        const char *nl = memchr(b.data + at, '\n', b.len - at);
        if (!nl) {
            break;
        }
        size_t len = (size_t)(nl - (b.data + at));
        snprintf(source, sizeof source, "%s:%d", path, line);
        code = take_line(s, b.data + at, len, source, err);
        at += len + 1;
    }
    kg_buf_deinit(&b);
    return code;
}

static enum kg_code lock_folder(struct kg_kb_store *s, const char *folder, struct kg_err *err)
{
    s->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->lock < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot open: %s", folder, strerror(errno));
    }
    if (flock(s->lock, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK
                   ? kg_fail(err, KG_E_USAGE, "%s: another evaluation is at work there", folder)
                   : kg_fail(err, KG_E_IO, "%s: cannot lock: %s", folder, strerror(errno));
    }
    return KG_OK;
}

/* A results file without records is somebody else's work. */
static enum kg_code check_ours(const struct kg_kb_store *s, struct kg_err *err)
{
    if (!kg_file_exists(s->results) || kg_file_exists(s->records) || kg_file_exists(s->part)) {
        return KG_OK;
    }
    return kg_fail(err, KG_E_USAGE,
                   "%s: kgym did not write this file; it is left as it is (name another folder "
                   "with --out)",
                   s->results);
}

enum kg_code kg_kb_store_open(const char *folder, struct kg_kb_store *out, struct kg_err *err)
{
    *out = (struct kg_kb_store){.lock = -1};
    const struct {
        char *path;
        const char *name;
    } files[] = {{out->records, "kgym_records.jsonl"},
                 {out->batch, "kgym_batch.jsonl"},
                 {out->part, "kgym_records.part.jsonl"},
                 {out->results, "eval_results.json"},
                 {out->pass, "pass_at_k_results.json"}};
    if (strlen(folder) > 1000) {
        return kg_fail(err, KG_E_INPUT, "%.200s...: the path is too long", folder);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(files[i].path, sizeof out->records, "%s/%s", folder, files[i].name);
    }
    if (kg_file_mkdirs(folder, 0755, err) != KG_OK || lock_folder(out, folder, err) != KG_OK ||
        check_ours(out, err) != KG_OK || take_file(out, out->records, err) != KG_OK ||
        take_file(out, out->part, err) != KG_OK) {
        kg_kb_store_close(out);
        return err->code;
    }
    return KG_OK;
}

void kg_kb_store_close(struct kg_kb_store *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->line[i].text);
    }
    free(s->line);
    if (s->lock >= 0) {
        close(s->lock);
    }
    s->line = NULL;
    s->n = s->cap = 0;
    s->lock = -1;
}

static enum kg_code write_lines(const struct kg_kb_store *s, const struct kg_kb_run *only,
                                const char *path, struct kg_err *err)
{
    struct kg_buf b;
    kg_buf_init(&b, MAX_BYTES);
    for (size_t i = 0, k = 0; i < s->n; i++) {
        while (only && k < only->n &&
               kg_kb_kernel_order(&only->kernel[k], &s->line[i].kernel) < 0) {
            k++;
        }
        if (!only ||
            (k < only->n && kg_kb_kernel_order(&only->kernel[k], &s->line[i].kernel) == 0)) {
            kg_buf_adds(&b, s->line[i].text);
            kg_buf_addc(&b, '\n');
        }
    }
    enum kg_code code = kg_buf_ok(&b)
                            ? kg_file_write_atomic(path, b.data, b.len, err)
                            : kg_fail(err, KG_E_LIMIT, "%s: the records are too large", path);
    kg_buf_deinit(&b);
    return code;
}

enum kg_code kg_kb_store_keep(const struct kg_kb_store *s, struct kg_err *err)
{
    return write_lines(s, NULL, s->records, err);
}

/* The records first: from then on the part holds nothing that they lack. */
enum kg_code kg_kb_store_begin(struct kg_kb_store *s, const struct kg_kb_run *run,
                               const struct kg_buf *lines, struct kg_err *err)
{
    if (write_lines(s, NULL, s->records, err) != KG_OK ||
        kg_file_write_atomic(s->batch, lines->data, lines->len, err) != KG_OK) {
        return err->code;
    }
    return write_lines(s, run, s->part, err);
}

enum kg_code kg_kb_store_end(struct kg_kb_store *s, struct kg_err *err)
{
    if (take_file(s, s->part, err) != KG_OK || write_lines(s, NULL, s->records, err) != KG_OK) {
        return err->code;
    }
    if (unlink(s->part) != 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot remove: %s", s->part, strerror(errno));
    }
    return KG_OK;
}
