/* Loads PyTorch problems from files and rows, and finds them by name. */
#include "gym/torch/problem/suite.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/yaml.h"
#include "gym/problem/problem.h"
#include "gym/torch/problem/module.h"
#include "gym/torch/problem/rows.h"

static bool ends_in(const char *s, size_t n, const char *suffix)
{
    size_t m = strlen(suffix);
    return n > m && strncmp(s + n - m, suffix, m) == 0;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Of FILE#LINE: where #LINE begins. NULL: no line is named. A folder may have `#` in its name. */
static const char *row_mark(const char *problem)
{
    return strrchr(base_of(problem), '#');
}

bool kg_tsuite_is_path(const char *problem)
{
    const char *hash = row_mark(problem);
    size_t n = hash ? (size_t)(hash - problem) : strlen(problem);
    return ends_in(problem, n, ".jsonl") || (!hash && ends_in(problem, n, ".py"));
}

/* --- finding --- */

/* Of a path in a list: the name, in place. */
static void to_name(char *path)
{
    const char *base = base_of(path);
    size_t n = strlen(base);
    n -= ends_in(base, n, ".py") ? 3 : 0;
    memmove(path, base, n);
    path[n] = 0;
}

/* The one file whose name begins with these bytes and ends in the suffix; *hit NULL: none. */
static enum kg_code find_file(const char *name, size_t len, const char *suffix, char **all,
                              size_t n, const char **hit, struct kg_err *err)
{
    *hit = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *base = base_of(all[i]);
        if (strncmp(base, name, len) != 0 || strcmp(base + len, suffix) != 0) {
            continue;
        }
        if (*hit) {
            return kg_fail(err, KG_E_INPUT,
                           "problem '%s' is ambiguous: %.150s and %.150s (name one by its path)",
                           name, *hit, all[i]);
        }
        *hit = all[i];
    }
    return KG_OK;
}

static enum kg_code no_file(const char *name, size_t len, char **all, size_t n, struct kg_err *err)
{
    char file[128];
    snprintf(file, sizeof file, "%.*s", (int)len, name);
    const char *near = kg_nearest(file, (const char *const *)all, n);
    kg_fail(err, KG_E_NOT_FOUND, "%s: no such problem file, here or in the suites%s%s%s", file,
            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    err->suggests = near != NULL;
    return err->code;
}

/* NAME, NAME.py, or NAME.jsonl#LINE. */
static enum kg_code by_name(const char *name, char **all, size_t n, char *path, size_t cap,
                            struct kg_err *err)
{
    const char *hit, *hash = strrchr(name, '#'), *suffix = hash ? "" : ".py";
    size_t len = hash ? (size_t)(hash - name) : strlen(name);
    len -= !hash && ends_in(name, len, ".py") ? 3 : 0;
    if (find_file(name, len, suffix, all, n, &hit, err) != KG_OK) {
        return err->code;
    }
    if (hit) {
        return (size_t)snprintf(path, cap, "%s%s", hit, hash ? hash : "") < cap
                   ? KG_OK
                   : kg_fail(err, KG_E_LIMIT, "%.200s...: path too long", hit);
    }
    for (size_t i = 0; i < n; i++) {
        to_name(all[i]);
    }
    size_t whole = strlen(name);
    if (hash || ends_in(name, whole, ".py") || ends_in(name, whole, ".jsonl")) {
        return no_file(name, hash ? len : whole, all, n, err);
    }
    const char *near = kg_nearest(name, (const char *const *)all, n);
    if (near) {
        kg_fail(err, KG_E_NOT_FOUND, "no problem '%.60s' in the suites (did you mean '%.100s'?)",
                name, near);
    } else {
        kg_fail(err, KG_E_NOT_FOUND,
                "no problem '%.60s' in the suites (`kgym problems list` lists them)", name);
    }
    err->suggests = near != NULL;
    return err->code;
}

/* The file of FILE or FILE#LINE. */
static void file_of(const char *problem, char *out, size_t cap)
{
    const char *hash = row_mark(problem);
    snprintf(out, cap, "%.*s", hash ? (int)(hash - problem) : (int)strlen(problem), problem);
}

enum kg_code kg_tsuite_find(const char *problem, const char *const *suites, size_t nsuites,
                            char *path, size_t cap, struct kg_err *err)
{
    char file[1024];
    char **all;
    size_t n;
    if (kg_tsuite_is_path(problem)) {
        file_of(problem, file, sizeof file);
        if (strlen(problem) < cap && kg_file_exists(file)) {
            snprintf(path, cap, "%s", problem);
            return KG_OK;
        }
        if (strchr(problem, '/')) {
            return kg_fail(err, KG_E_NOT_FOUND, "%.300s: no such problem file", file);
        }
    }
    const char *suffix = strchr(problem, '#') ? ".jsonl" : ".py";
    if (kg_suite_files(suites, nsuites, suffix, &all, &n, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = by_name(problem, all, n, path, cap, err);
    for (size_t i = 0; i < n; i++) {
        free(all[i]);
    }
    free(all);
    return code;
}

/* --- where it lies --- */

static int level_of_folder(const char *folder, size_t n)
{
    static const char *const before[] = {"level_", "level", "l", ""};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t m = strlen(before[i]);
        if (n > m && strncmp(folder, before[i], m) == 0 && folder[m] >= '1' && folder[m] <= '9' &&
            (n == m + 1 || !isdigit((unsigned char)folder[m + 1]))) {
            return folder[m] - '0';
        }
    }
    return 0;
}

/* suite and level from the folders above: a folder that is a level belongs to the suite above it.
 */
static enum kg_code place(struct kg_tproblem *p, const char *file, struct kg_err *err)
{
    const char *end = base_of(file), *suite = "";
    size_t n = 0;
    p->level = 1;
    for (int up = 0; up < 2 && end > file; up++) {
        const char *start = --end;
        while (start > file && start[-1] != '/') {
            start--;
        }
        suite = start;
        n = (size_t)(end - start);
        int level = level_of_folder(start, n);
        if (level == 0) {
            break;
        }
        p->level = level;
        end = start;
    }
    p->suite = kg_arena_dup(&p->arena, suite, n, err);
    return p->suite ? KG_OK : err->code;
}

static enum kg_code finish(struct kg_tproblem *p, const char *path, const char *reference,
                           const char *source, size_t len, struct kg_err *err)
{
    const char *const need[] = {reference, "get_inputs", "get_init_inputs"};
    if (strlen(source) != len) {
        return kg_fail(err, KG_E_INPUT, "%s: holds a NUL byte", path);
    }
    for (size_t i = 0; i < sizeof need / sizeof *need; i++) {
        if (!kg_module_defines(source, len, need[i])) {
            return kg_fail(err, KG_E_INPUT, "%s: does not define %s `%.80s`", path,
                           i == 0 ? "the class" : "the function", need[i]);
        }
    }
    p->path = kg_arena_dup(&p->arena, path, strlen(path), err);
    p->reference = kg_arena_dup(&p->arena, reference, strlen(reference), err);
    p->entry = kg_arena_printf(&p->arena, err, "%sNew", reference);
    p->source = kg_arena_dup(&p->arena, source, len, err);
    p->source_len = len;
    p->desc = kg_module_doc(source, len, &p->arena, err);
    return p->path && p->reference && p->entry && p->source && p->desc ? KG_OK : err->code;
}

static enum kg_code new_problem(struct kg_tproblem **out, struct kg_err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) {
        return kg_fail(err, KG_E_LIMIT, "no memory for a problem");
    }
    kg_arena_init(&(*out)->arena, "problem", 4 * KG_TPROBLEM_MAX_BYTES);
    return KG_OK;
}

enum kg_code kg_tproblem_parse(const char *text, size_t len, const char *path,
                               struct kg_tproblem **out, struct kg_err *err)
{
    struct kg_tproblem *p;
    if (len > KG_TPROBLEM_MAX_BYTES) {
        return kg_fail(err, KG_E_LIMIT, "%s: more than %u bytes", path, KG_TPROBLEM_MAX_BYTES);
    }
    if (new_problem(&p, err) != KG_OK) {
        return err->code;
    }
    const char *base = base_of(path);
    size_t n = strlen(base) - (ends_in(base, strlen(base), ".py") ? 3 : 0);
    p->name = kg_arena_dup(&p->arena, base, n, err);
    if (!p->name || place(p, path, err) != KG_OK ||
        finish(p, path, "Model", text, len, err) != KG_OK) {
        kg_tproblem_destroy(p);
        return err->code;
    }
    kg_sha256_hex(text, len, p->sha256);
    *out = p;
    return KG_OK;
}

/* --- rows --- */

/* Only ASCII names: they go into messages and into Python. */
static bool is_name(const char *s)
{
    bool good = s && *s && !isdigit((unsigned char)*s) && strlen(s) <= 100;
    for (; good && *s; s++) {
        good = isalnum((unsigned char)*s) || *s == '_';
    }
    return good;
}

static enum kg_code parse_row(const json_t *row, const char *path, struct kg_tproblem *p,
                              struct kg_err *err)
{
    const json_t *code = json_object_get(row, "python_code");
    const char *entry = json_string_value(json_object_get(row, "entry_point"));
    if (!json_is_string(code)) {
        return kg_fail(err, KG_E_INPUT, "%s: python_code: a string is needed", path);
    }
    if (!is_name(entry)) {
        return kg_fail(err, KG_E_INPUT, "%s: entry_point: the name of a class is needed", path);
    }
    if (json_string_length(code) > KG_TPROBLEM_MAX_BYTES) {
        return kg_fail(err, KG_E_LIMIT, "%s: python_code: more than %u bytes", path,
                       KG_TPROBLEM_MAX_BYTES);
    }
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    kg_sha256_part(&h, entry, strlen(entry));
    kg_sha256_part(&h, json_string_value(code), json_string_length(code));
    kg_sha256_end(&h, p->sha256);
    p->row = true;
    p->level = 1;
    p->name = kg_arena_printf(&p->arena, err, "%s", entry);
    const char *base = base_of(path);
    p->suite = kg_arena_dup(&p->arena, base, strcspn(base, "."), err);
    if (!p->name || !p->suite) {
        return err->code;
    }
    return finish(p, path, entry, json_string_value(code), json_string_length(code), err);
}

static enum kg_code load_row(const char *file, long line, const char *path,
                             struct kg_tproblem **out, struct kg_err *err)
{
    struct kg_buf text;
    json_t *row = NULL;
    kg_buf_init(&text, KG_TROW_MAX_BYTES);
    enum kg_code code = kg_trow_read(file, line, path, &text, err);
    if (code == KG_OK) {
        code = kg_json_parse_line(text.data, text.len, path, &row, err);
    }
    kg_buf_deinit(&text);
    if (code == KG_OK && !json_is_object(row)) {
        code = kg_fail(err, KG_E_INPUT, "%s: a row is one JSON object", path);
    }
    struct kg_tproblem *p = NULL;
    if (code == KG_OK) {
        code = new_problem(&p, err);
    }
    if (code == KG_OK) {
        code = parse_row(row, path, p, err);
    }
    json_decref(row);
    if (code != KG_OK) {
        kg_tproblem_destroy(p);
        return code;
    }
    *out = p;
    return KG_OK;
}

enum kg_code kg_tproblem_load(const char *path, struct kg_tproblem **out, struct kg_err *err)
{
    char file[1024];
    const char *hash = row_mark(path);
    file_of(path, file, sizeof file);
    if (ends_in(file, strlen(file), ".jsonl")) {
        char *end = NULL;
        long line = hash ? strtol(hash + 1, &end, 10) : 0;
        if (!hash || end == hash + 1 || *end || line < 1) {
            return kg_fail(err, KG_E_USAGE, "%.300s: a row is named FILE.jsonl#LINE, from 1", path);
        }
        return load_row(file, line, path, out, err);
    }
    struct kg_buf text;
    kg_buf_init(&text, KG_TPROBLEM_MAX_BYTES);
    enum kg_code code = kg_file_read(path, &text, err);
    if (code == KG_OK) {
        code = kg_tproblem_parse(text.data, text.len, path, out, err);
    }
    kg_buf_deinit(&text);
    return code;
}

void kg_tproblem_destroy(struct kg_tproblem *p)
{
    if (p) {
        kg_arena_deinit(&p->arena);
        free(p);
    }
}
