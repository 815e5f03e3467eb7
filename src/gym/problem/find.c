/* Finds a problem by name or path in the suites, and suggests names for a wrong one. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/yaml.h"
#include "gym/problem/problem.h"

#define MAX_DEPTH    8
#define MAX_PROBLEMS 20000
#define MAX_PATH     4096

/* All problem files of the suites walked so far. */
struct found {
    const char *suffix;
    char **path; /* malloc'ed, and each */
    size_t n, cap;
    struct kg_err *err;
};

static void found_deinit(struct found *f)
{
    for (size_t k = 0; k < f->n; k++) {
        free(f->path[k]);
    }
    free(f->path);
}

static bool has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n > m && strcmp(s + n - m, suffix) == 0;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static enum kg_code add(struct found *f, const char *path)
{
    if (f->n == MAX_PROBLEMS) {
        return kg_fail(f->err, KG_E_LIMIT, "%s: the suites hold more than %d problems", path,
                       MAX_PROBLEMS);
    }
    if (f->n == f->cap) {
        size_t cap = f->cap > 0 ? 2 * f->cap : 64;
        char **grown = realloc(f->path, cap * sizeof *grown);
        if (grown == NULL) {
            return kg_fail(f->err, KG_E_HOST, "%s: this machine is out of memory", path);
        }
        f->path = grown;
        f->cap = cap;
    }
    f->path[f->n] = strdup(path);
    if (f->path[f->n] == NULL) {
        return kg_fail(f->err, KG_E_HOST, "%s: this machine is out of memory", path);
    }
    f->n++;
    return KG_OK;
}

static enum kg_code walk(struct found *f, const char *folder, int depth);

/* Links to files count as files; links to folders are not followed, so a walk always ends. */
static enum kg_code visit(struct found *f, const char *folder, const char *name, int depth)
{
    char path[MAX_PATH];
    struct stat st;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) {
        return kg_fail(f->err, KG_E_LIMIT, "%.200s: path too long", folder);
    }
    if (lstat(path, &st) != 0) {
        return KG_OK; /* removed since it was listed */
    }
    if (S_ISDIR(st.st_mode)) {
        return depth < MAX_DEPTH ? walk(f, path, depth + 1) : KG_OK;
    }
    bool file =
        S_ISREG(st.st_mode) || (S_ISLNK(st.st_mode) && stat(path, &st) == 0 && S_ISREG(st.st_mode));
    return file && has_suffix(name, f->suffix) ? add(f, path) : KG_OK;
}

static enum kg_code walk(struct found *f, const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return kg_fail(f->err, errno == ENOENT || errno == ENOTDIR ? KG_E_NOT_FOUND : KG_E_IO,
                       "%s: cannot read this folder of problems: %s", folder, strerror(errno));
    }
    enum kg_code code = KG_OK;
    for (struct dirent *e = readdir(dir); e != NULL && code == KG_OK; e = readdir(dir)) {
        if (e->d_name[0] != '.') {
            code = visit(f, folder, e->d_name, depth);
        }
    }
    closedir(dir);
    return code;
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    int order = strcmp(base_of(*x), base_of(*y));
    return order != 0 ? order : strcmp(*x, *y);
}

enum kg_code kg_suite_files(const char *const *suites, size_t nsuites, const char *suffix,
                            char ***out, size_t *n, struct kg_err *err)
{
    struct found f = {.suffix = suffix, .err = err};
    enum kg_code code = KG_OK;
    *out = NULL;
    *n = 0;
    for (size_t k = 0; k < nsuites && code == KG_OK; k++) {
        code = walk(&f, suites[k], 0);
    }
    if (code != KG_OK) {
        found_deinit(&f);
        return code;
    }
    if (f.n > 0) {
        qsort(f.path, f.n, sizeof *f.path, by_name);
    }
    *out = f.path;
    *n = f.n;
    return KG_OK;
}

enum kg_code kg_problem_list(const char *const *suites, size_t nsuites, char ***out, size_t *n,
                             struct kg_err *err)
{
    return kg_suite_files(suites, nsuites, ".c", out, n, err);
}

static enum kg_code give(const char *from, char *path, size_t cap, struct kg_err *err)
{
    if ((size_t)snprintf(path, cap, "%s", from) >= cap) {
        return kg_fail(err, KG_E_LIMIT, "%.200s...: path too long", from);
    }
    return KG_OK;
}

/* The one file of a suite whose base name is NAME.c; two of them are an error. */
static enum kg_code match(const struct found *f, const char *name, const char **hit)
{
    size_t len = strlen(name);
    for (size_t k = 0; k < f->n; k++) {
        const char *base = base_of(f->path[k]);
        if (strncmp(base, name, len) != 0 || strcmp(base + len, ".c") != 0) {
            continue;
        }
        if (*hit != NULL) {
            return kg_fail(f->err, KG_E_INPUT,
                           "problem '%s' is ambiguous: %.150s and %.150s (name one by its path)",
                           name, *hit, f->path[k]);
        }
        *hit = f->path[k];
    }
    return KG_OK;
}

static enum kg_code unknown(const char *name, const char *const *suites, size_t nsuites,
                            struct kg_err *err)
{
    char **all, shown[KG_EXPR_SHOW];
    size_t n;
    kg_expr_show(name, strlen(name), shown);
    enum kg_code code = kg_problem_list(suites, nsuites, &all, &n, err);
    if (code != KG_OK) {
        return code;
    }
    for (size_t k = 0; k < n; k++) {
        char *base = all[k] + (base_of(all[k]) - all[k]);
        size_t len = strlen(base) - 2;
        memmove(all[k], base, len);
        all[k][len] = '\0';
    }
    const char *near = kg_nearest(name, (const char *const *)all, n);
    code = near != NULL
               ? kg_fail(err, KG_E_NOT_FOUND, "no problem '%s' in the suites (did you mean '%s'?)",
                         shown, near)
               : kg_fail(err, KG_E_NOT_FOUND,
                         "no problem '%s' in the suites (they hold %zu; `kgym problems` lists "
                         "them)",
                         shown, n);
    err->suggests = near != NULL;
    for (size_t k = 0; k < n; k++) {
        free(all[k]);
    }
    free(all);
    return code;
}

static enum kg_code find_path(const char *given, char *path, size_t cap, struct kg_err *err)
{
    if (!kg_file_exists(given)) {
        return kg_fail(err, KG_E_NOT_FOUND, "%.300s: no such problem file", given);
    }
    return give(given, path, cap, err);
}

enum kg_code kg_problem_find(const char *name, const char *const *suites, size_t nsuites,
                             char *path, size_t cap, struct kg_err *err)
{
    if (strchr(name, '/') != NULL || has_suffix(name, ".c")) {
        return find_path(name, path, cap, err);
    }
    if (*name == '\0' || strlen(name) > 200) {
        return kg_fail(err, KG_E_USAGE, "problem '%.40s': not a name or a path", name);
    }
    enum kg_code code = KG_OK;
    bool done = false;
    for (size_t k = 0; k < nsuites && code == KG_OK && !done; k++) {
        struct found f = {.suffix = ".c", .err = err};
        const char *hit = NULL;
        code = walk(&f, suites[k], 0);
        if (code == KG_OK) {
            code = match(&f, name, &hit);
        }
        if (code == KG_OK && hit != NULL) {
            code = give(hit, path, cap, err);
            done = true;
        }
        found_deinit(&f);
    }
    return code != KG_OK || done ? code : unknown(name, suites, nsuites, err);
}
