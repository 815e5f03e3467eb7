/* The problems that the words of a command name: single ones, folders, suites and rows. */
#include "cli/problems_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "gym/eval/executor.h"
#include "gym/problem/problem.h"
#include "gym/torch/problem/module.h"
#include "gym/torch/problem/rows.h"
#include "gym/torch/problem/suite.h"

static bool ends_in(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n > m && strcmp(s + n - m, suffix) == 0;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum kg_code add(struct kg_cli_set *s, const char *word, size_t len, const char *path,
                        long rows, struct kg_err *err)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        struct kg_cli_entry *grown = realloc(s->entry, cap * sizeof *grown);
        if (!grown) {
            return kg_fail(err, KG_E_LIMIT, "no memory for %zu problems", cap);
        }
        s->entry = grown;
        s->cap = cap;
    }
    struct kg_cli_entry *e = &s->entry[s->n++];
    *e = (struct kg_cli_entry){.word = strndup(word, len),
                               .path = path ? strdup(path) : NULL,
                               .rows = rows,
                               .python = kg_tsuite_is_path(path ? path : word)};
    s->total += rows > 0 ? rows : 1;
    return e->word && (!path || e->path) ? KG_OK
                                         : kg_fail(err, KG_E_LIMIT, "no memory for problems");
}

/* "12_Name.py", as that project names its problems. */
static bool is_named_as_problem(const char *base)
{
    size_t n = strspn(base, "0123456789");
    return n > 0 && base[n] == '_';
}

/* A package's __init__.py, say, is none of ours. */
static bool is_module(const char *path)
{
    struct kg_buf b;
    struct kg_err ignored = KG_ERR_INIT;
    kg_buf_init(&b, KG_TPROBLEM_MAX_BYTES);
    bool unread = kg_file_read(path, &b, &ignored) != KG_OK;
    bool is = unread || kg_module_is_problem(b.data, b.len);
    kg_buf_deinit(&b);
    return is || is_named_as_problem(base_of(path));
}

/* A suite may hold other JSONL files: replies, records. */
static bool is_rows(const char *path)
{
    struct kg_buf b;
    struct kg_err ignored = KG_ERR_INIT;
    json_t *row = NULL;
    kg_buf_init(&b, KG_TROW_MAX_BYTES);
    bool is = kg_trow_read(path, 1, path, &b, &ignored) == KG_OK &&
              kg_json_parse(b.data, b.len, path, &row, &ignored) == KG_OK &&
              json_object_get(row, "python_code") != NULL;
    json_decref(row);
    kg_buf_deinit(&b);
    return is;
}

static enum kg_code add_rows(struct kg_cli_set *s, const char *word, const char *path,
                             struct kg_err *err)
{
    long rows;
    enum kg_code code = kg_trows_count(path, &rows, err);
    return code != KG_OK || rows == 0 ? code : add(s, word, strlen(word), path, rows, err);
}

/* by_path: the folder is no suite, so that names lead nowhere. */
static enum kg_code add_file(struct kg_cli_set *s, const char *path, bool by_path,
                             struct kg_err *err)
{
    const char *base = base_of(path);
    if (ends_in(path, ".jsonl")) {
        return is_rows(path) ? add_rows(s, by_path ? path : base, path, err) : KG_OK;
    }
    if (ends_in(path, ".py") && !is_module(path)) {
        return KG_OK;
    }
    size_t suffix = ends_in(path, ".py") ? 3 : 2;
    return by_path ? add(s, path, strlen(path), path, 0, err)
                   : add(s, base, strlen(base) - suffix, path, 0, err);
}

static enum kg_code add_folder(struct kg_cli_set *s, const char *folder, const char *suffix,
                               bool by_path, struct kg_err *err)
{
    char **path = NULL;
    size_t n = 0;
    enum kg_code code = kg_suite_files(&folder, 1, suffix, &path, &n, err);
    for (size_t i = 0; i < n; i++) {
        code = code == KG_OK ? add_file(s, path[i], by_path, err) : code;
        free(path[i]);
    }
    free(path);
    return code;
}

static enum kg_code add_folders(struct kg_cli_set *s, const char *const *folder, size_t n,
                                bool by_path, struct kg_err *err)
{
    static const char *const suffix[] = {".c", ".py", ".jsonl"};
    bool any[KG_MAX_SUITES] = {false};
    for (size_t k = 0; k < sizeof suffix / sizeof *suffix; k++) {
        for (size_t i = 0; i < n; i++) {
            size_t before = s->n;
            if (add_folder(s, folder[i], suffix[k], by_path, err) != KG_OK) {
                return err->code;
            }
            any[i] = any[i] || s->n > before;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!any[i]) {
            return kg_fail(err, KG_E_NOT_FOUND, "no problem below %.300s", folder[i]);
        }
    }
    return KG_OK;
}

/* A name of the suites is that, whatever folders there are. */
static bool is_folder(const struct kg_paths *paths, const char *word)
{
    struct kg_err ignored = KG_ERR_INIT;
    const struct kg_executor *x;
    struct stat st;
    char path[1024];
    return stat(word, &st) == 0 && S_ISDIR(st.st_mode) &&
           (strchr(word, '/') ||
            kg_executor_find(paths, word, &x, path, sizeof path, &ignored) != KG_OK);
}

static enum kg_code add_word(struct kg_cli_set *s, const struct kg_paths *paths, const char *word,
                             struct kg_err *err)
{
    bool there = kg_file_exists(word);
    if (is_folder(paths, word)) {
        return add_folders(s, &word, 1, true, err);
    }
    if (there && !strchr(word, '#') && ends_in(word, ".jsonl")) {
        size_t before = s->n;
        enum kg_code code = add_rows(s, word, word, err);
        return code != KG_OK || s->n > before
                   ? code
                   : kg_fail(err, KG_E_NOT_FOUND, "no problem below %.300s", word);
    }
    return add(s, word, strlen(word), NULL, 0, err);
}

enum kg_code kg_cli_set_open(const struct kg_paths *paths, const char *const *word, size_t nwords,
                             struct kg_cli_set *out, struct kg_err *err)
{
    *out = (struct kg_cli_set){.n = 0};
    enum kg_code code =
        nwords > 0 ? KG_OK : add_folders(out, paths->suites, paths->nsuites, false, err);
    for (size_t i = 0; i < nwords && code == KG_OK; i++) {
        code = add_word(out, paths, word[i], err);
    }
    if (code != KG_OK) {
        kg_cli_set_close(out);
    }
    return code;
}

void kg_cli_set_close(struct kg_cli_set *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->entry[i].word);
        free(s->entry[i].path);
    }
    free(s->entry);
    *s = (struct kg_cli_set){.n = 0};
}

static bool is_blank(const char *file, long line)
{
    struct kg_buf b;
    struct kg_err ignored = KG_ERR_INIT;
    kg_buf_init(&b, KG_TROW_MAX_BYTES);
    bool blank =
        kg_trow_read(file, line, file, &b, &ignored) == KG_OK && strspn(b.data, " \t\r") == b.len;
    kg_buf_deinit(&b);
    return blank;
}

bool kg_cli_set_next(struct kg_cli_set *s, struct kg_cli_item *out)
{
    while (s->at < s->n) {
        const struct kg_cli_entry *e = &s->entry[s->at];
        out->python = e->python;
        if (e->rows == 0) {
            s->at++;
            snprintf(out->word, sizeof out->word, "%s", e->word);
            snprintf(out->path, sizeof out->path, "%s", e->path ? e->path : "");
            return true;
        }
        if (s->row == e->rows) {
            s->at++;
            s->row = 0;
        } else if (!is_blank(e->path, ++s->row)) {
            snprintf(out->word, sizeof out->word, "%s#%ld", e->word, s->row);
            snprintf(out->path, sizeof out->path, "%s#%ld", e->path, s->row);
            return true;
        }
    }
    return false;
}
