/* The problems that the words of a command name: single ones, folders, suites and rows. */
#include "cli/gym/problems_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "gym/problem/problem.h"

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum kg_code add(struct kg_cli_set *s, const struct kg_executor *x, const char *word,
                        size_t len, const char *path, long rows, struct kg_err *err)
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
                               .executor = x};
    s->total += rows >= 0 ? rows : 1;
    return e->word && (!path || e->path) ? KG_OK
                                         : kg_fail(err, KG_E_LIMIT, "no memory for problems");
}

static enum kg_code rows_of(const struct kg_executor *x, const char *path, long *out,
                            struct kg_err *err)
{
    *out = -1;
    return x->rows ? x->rows(path, out, err) : KG_OK;
}

/* by_path: the folder is no suite, so that names lead nowhere. */
static enum kg_code add_file(struct kg_cli_set *s, const struct kg_executor *x, const char *path,
                             const char *ending, bool by_path, struct kg_err *err)
{
    const char *word = by_path ? path : base_of(path);
    long rows;
    if (x->holds && !x->holds(path)) {
        return KG_OK;
    }
    enum kg_code code = rows_of(x, path, &rows, err);
    if (code != KG_OK || rows == 0) {
        return code;
    }
    size_t cut = by_path || rows > 0 ? 0 : strlen(ending); /* rows are FILE#LINE, by name, too */
    return add(s, x, word, strlen(word) - cut, path, rows, err);
}

static enum kg_code add_folder(struct kg_cli_set *s, const struct kg_executor *x,
                               const char *folder, const char *ending, bool by_path,
                               struct kg_err *err)
{
    char **path = NULL;
    size_t n = 0;
    enum kg_code code = kg_suite_files(&folder, 1, ending, &path, &n, err);
    for (size_t i = 0; i < n; i++) {
        code = code == KG_OK ? add_file(s, x, path[i], ending, by_path, err) : code;
        free(path[i]);
    }
    free(path);
    return code;
}

static enum kg_code add_kind(struct kg_cli_set *s, const struct kg_executor *x,
                             const char *const *folder, size_t n, bool by_path, bool *any,
                             struct kg_err *err)
{
    for (const char *const *ending = x->endings; *ending; ending++) {
        for (size_t i = 0; i < n; i++) {
            size_t before = s->n;
            if (add_folder(s, x, folder[i], *ending, by_path, err) != KG_OK) {
                return err->code;
            }
            any[i] = any[i] || s->n > before;
        }
    }
    return KG_OK;
}

static enum kg_code add_folders(struct kg_cli_set *s, const char *const *folder, size_t n,
                                bool by_path, struct kg_err *err)
{
    bool any[KG_MAX_SUITES] = {false};
    for (const struct kg_executor *const *x = kg_executors; *x; x++) {
        if (add_kind(s, *x, folder, n, by_path, any, err) != KG_OK) {
            return err->code;
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
    const struct kg_executor *x = kg_executor_of_path(word);
    long rows = -1;
    if (is_folder(paths, word)) {
        return add_folders(s, &word, 1, true, err);
    }
    if (x && kg_file_exists(word) && rows_of(x, word, &rows, err) != KG_OK) {
        return err->code;
    }
    if (rows == 0) {
        return kg_fail(err, KG_E_NOT_FOUND, "no problem below %.300s", word);
    }
    return add(s, x, word, strlen(word), rows > 0 ? word : NULL, rows, err);
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

bool kg_cli_set_next(struct kg_cli_set *s, struct kg_cli_item *out)
{
    while (s->at < s->n) {
        const struct kg_cli_entry *e = &s->entry[s->at];
        out->executor = e->executor;
        if (e->rows < 0) {
            s->at++;
            snprintf(out->word, sizeof out->word, "%s", e->word);
            snprintf(out->path, sizeof out->path, "%s", e->path ? e->path : "");
            return true;
        }
        if (s->row == e->rows) {
            s->at++;
            s->row = 0;
        } else if (e->executor->has_row(e->path, ++s->row)) {
            snprintf(out->word, sizeof out->word, "%s#%ld", e->word, s->row);
            snprintf(out->path, sizeof out->path, "%s#%ld", e->path, s->row);
            return true;
        }
    }
    return false;
}
