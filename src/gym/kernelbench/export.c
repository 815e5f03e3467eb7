/* Turns records of any batch into a run folder of KernelBench. */
#include "gym/kernelbench/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define MOST_LINE (64u << 20)
#define MOST_CODE (4u << 20)

/* One record, as far as it is looked at. */
struct entry {
    json_t *j;
    struct kg_kb_kernel kernel; /* sample -1: not named */
    const char *code;           /* NULL: the reply held none */
};

struct reader {
    const char *path;
    FILE *f;
    char *line;
    size_t cap;
    int number;
};

static enum kg_code rewind_to(struct reader *r, struct kg_err *err)
{
    r->f = r->f ? r->f : fopen(r->path, "re");
    r->number = 0;
    if (!r->f || fseek(r->f, 0, SEEK_SET) != 0) {
        return kg_fail(err, r->f ? KG_E_IO : KG_E_NOT_FOUND, "%s: cannot read: %s", r->path,
                       strerror(errno));
    }
    return KG_OK;
}

/* "12_Name", at the level that the record has. */
static bool is_kernel(const json_t *record, struct kg_kb_kernel *k)
{
    const json_t *problem = json_object_get(record, "problem");
    const char *name = json_string_value(json_object_get(problem, "name"));
    const char *id = json_string_value(json_object_get(record, "batch_id"));
    json_int_t level = json_integer_value(json_object_get(problem, "level"));
    char file[KG_KB_NAME_MAX];
    *k = (struct kg_kb_kernel){.level = (int)level, .sample = -1};
    if (!name || level < 1 || level > 99 || json_is_string(json_object_get(record, "replay")) ||
        (size_t)snprintf(file, sizeof file, "%s.py", name) >= sizeof file ||
        !kg_kb_id_parse(file, &k->problem)) {
        return false;
    }
    struct kg_kb_kernel named;
    if (id && kg_kb_kernel_id_parse(id, &named) && named.level == k->level &&
        named.problem == k->problem) {
        k->sample = named.sample;
    }
    return true;
}

/* The next record that is a kernel; e->j NULL: that was all. others: records that are none. */
static enum kg_code next(struct reader *r, struct entry *e, size_t *others, struct kg_err *err)
{
    char source[1200];
    ssize_t n;
    e->j = NULL;
    while ((n = getline(&r->line, &r->cap, r->f)) >= 0) {
        snprintf(source, sizeof source, "%.1000s:%d", r->path, ++r->number);
        n -= n > 0 && r->line[n - 1] == '\n';
        if ((size_t)n > MOST_LINE) {
            return kg_fail(err, KG_E_LIMIT, "%s: more than %u bytes", source, MOST_LINE);
        }
        if ((size_t)n <= strspn(r->line, " \t\r\n")) {
            continue;
        }
        if (kg_json_parse_line(r->line, (size_t)n, source, &e->j, err) != KG_OK) {
            return err->code;
        }
        const char *schema = json_string_value(json_object_get(e->j, "schema"));
        if (!schema || strcmp(schema, KG_RECORD_SCHEMA) != 0) {
            json_decref(e->j);
            return kg_fail(err, KG_E_INPUT, "%s: not a record (%s)", source, KG_RECORD_SCHEMA);
        }
        e->code = json_string_value(json_object_get(json_object_get(e->j, "candidate"), "code"));
        if (is_kernel(e->j, &e->kernel)) {
            return KG_OK;
        }
        json_decref(e->j);
        e->j = NULL;
        *others += 1;
    }
    return ferror(r->f) ? kg_fail(err, KG_E_IO, "%s: cannot read: %s", r->path, strerror(errno))
                        : KG_OK;
}

static enum kg_code find_level(struct reader *r, int *level, struct kg_err *err)
{
    struct entry e;
    size_t ignored = 0;
    int lo = 0, hi = 0;
    enum kg_code code = rewind_to(r, err);
    while (code == KG_OK && (code = next(r, &e, &ignored, err)) == KG_OK && e.j) {
        lo = lo == 0 || e.kernel.level < lo ? e.kernel.level : lo;
        hi = e.kernel.level > hi ? e.kernel.level : hi;
        json_decref(e.j);
    }
    if (code == KG_OK && *level == 0 && lo != hi) {
        code = kg_fail(err, KG_E_USAGE,
                       "%s: it holds records of levels %d to %d; name one with --level", r->path,
                       lo, hi);
    }
    if (code == KG_OK && hi == 0) {
        code =
            kg_fail(err, KG_E_NOT_FOUND,
                    "%s: no record is of a problem of that project (its name is 12_Name)", r->path);
    }
    *level = *level ? *level : hi;
    return code;
}

/* Samples that are taken, by problem. */
struct samples {
    struct kg_kb_kernel *at;
    size_t n, cap;
};

static bool taken(const struct samples *s, const struct kg_kb_kernel *k)
{
    for (size_t i = 0; i < s->n; i++) {
        if (kg_kb_kernel_order(&s->at[i], k) == 0) {
            return true;
        }
    }
    return false;
}

static enum kg_code take(struct samples *s, const struct reader *r, struct kg_kb_kernel *k,
                         struct kg_err *err)
{
    if (k->sample >= 0 && taken(s, k)) {
        return kg_fail(err, KG_E_INPUT, "%s:%d: a second record of problem %d, sample %d", r->path,
                       r->number, k->problem, k->sample);
    }
    if (k->sample < 0) {
        k->sample = 0;
        for (size_t i = 0; i < s->n; i++) {
            bool same = s->at[i].problem == k->problem && s->at[i].sample >= k->sample;
            k->sample = same ? s->at[i].sample + 1 : k->sample;
        }
    }
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 256;
        struct kg_kb_kernel *grown = realloc(s->at, cap * sizeof *grown);
        if (!grown) {
            return kg_fail(err, KG_E_LIMIT, "%s: no memory for %zu kernels", r->path, cap);
        }
        s->at = grown;
        s->cap = cap;
    }
    s->at[s->n++] = *k;
    return KG_OK;
}

static enum kg_code write_kernel(const char *folder, const char *id, const char *code,
                                 struct kg_err *err)
{
    char path[1200];
    struct kg_buf old;
    if ((size_t)snprintf(path, sizeof path, "%s/%s_kernel.py", folder, id) >= sizeof path) {
        return kg_fail(err, KG_E_INPUT, "%.200s...: the path is too long", folder);
    }
    if (!kg_file_exists(path)) {
        return kg_file_write_atomic(path, code, strlen(code), err);
    }
    kg_buf_init(&old, MOST_CODE);
    enum kg_code status = kg_file_read(path, &old, err);
    if (status == KG_OK && (old.len != strlen(code) || memcmp(old.data, code, old.len) != 0)) {
        status = kg_fail(err, KG_E_USAGE,
                         "%s: it holds another kernel, and is left as it is (name another folder)",
                         path);
    }
    kg_buf_deinit(&old);
    return status;
}

static enum kg_code put(const char *folder, struct kg_kb_store *store, const struct entry *e,
                        struct kg_kb_export *out, struct kg_err *err)
{
    char id[KG_KB_ID_MAX];
    struct kg_buf text;
    kg_kb_kernel_id(&e->kernel, id);
    if (e->code && write_kernel(folder, id, e->code, err) != KG_OK) {
        return err->code;
    }
    out->kernels++;
    out->no_code += !e->code;
    json_object_set_new(e->j, "batch_id", json_string(id));
    kg_buf_init(&text, MOST_LINE);
    kg_json_dump(e->j, &text);
    enum kg_code code = kg_buf_ok(&text)
                            ? kg_kb_store_put(store, &e->kernel, text.data, text.len, err)
                            : kg_fail(err, KG_E_LIMIT, "%s: a record is too large", id);
    kg_buf_deinit(&text);
    return code;
}

/* Those that are named first: a number that was free must not be another record's. */
static enum kg_code all_of(struct reader *r, bool named, const char *folder, int level,
                           struct samples *s, struct kg_kb_store *store, struct kg_kb_export *out,
                           struct kg_err *err)
{
    struct entry e;
    size_t others = 0;
    enum kg_code code = rewind_to(r, err);
    while (code == KG_OK && (code = next(r, &e, &others, err)) == KG_OK && e.j) {
        bool ours = e.kernel.level == level;
        others += !ours;
        if (ours && (e.kernel.sample >= 0) == named) {
            code = take(s, r, &e.kernel, err);
            code = code == KG_OK ? put(folder, store, &e, out, err) : code;
        }
        json_decref(e.j);
    }
    out->others = others;
    return code;
}

static enum kg_code list(const struct kg_kb_store *store, const char *folder, int level,
                         struct kg_kb_run *all, struct kg_err *err)
{
    *all = (struct kg_kb_run){.kernel = calloc(store->n + 1, sizeof *all->kernel)};
    if (!all->kernel) {
        return kg_fail(err, KG_E_LIMIT, "%s: no memory for its kernels", folder);
    }
    snprintf(all->root, sizeof all->root, "%s", folder);
    for (size_t i = 0; i < store->n; i++) {
        if (store->line[i].kernel.level == level) {
            all->kernel[all->n++] = store->line[i].kernel;
        }
    }
    return KG_OK;
}

enum kg_code kg_kb_export(const char *records, const char *folder, int *level,
                          struct kg_kb_store *store, struct kg_kb_run *all,
                          struct kg_kb_export *out, struct kg_err *err)
{
    struct reader r = {.path = records};
    struct samples s = {.n = 0};
    *out = (struct kg_kb_export){.kernels = 0};
    *all = (struct kg_kb_run){.n = 0};
    enum kg_code code = find_level(&r, level, err);
    for (int named = 1; named >= 0 && code == KG_OK; named--) {
        code = all_of(&r, named, folder, *level, &s, store, out, err);
    }
    code = code == KG_OK ? kg_kb_store_keep(store, err) : code;
    code = code == KG_OK ? list(store, folder, *level, all, err) : code;
    free(s.at);
    free(r.line);
    if (r.f) {
        fclose(r.f);
    }
    return code;
}
