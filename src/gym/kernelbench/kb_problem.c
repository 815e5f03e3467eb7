/* Reads KernelBench's problems from their folders: level, id, name and hash. */
#include "gym/kernelbench/kb_problem.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "gym/kernelbench/numbers.h"

#define MAX_BYTES (4u << 20) /* of a problem file; level 3 of that project has 20 KB at most */

bool kg_kb_level_parse(const char *folder, int *level)
{
    const char *end = strncmp(folder, "level", 5) == 0 ? kg_kb_number(folder + 5, level) : NULL;
    return end && *end == '\0' && *level >= 1 && folder[5] != '0';
}

bool kg_kb_id_parse(const char *name, int *id)
{
    size_t n = strlen(name);
    const char *end = kg_kb_number(name, id);
    return end && *end == '_' && *id >= 1 && n < KG_KB_NAME_MAX && n >= 5 &&
           strcmp(name + n - 3, ".py") == 0;
}

static int by_id(const void *a, const void *b)
{
    const struct kg_kb_problem *x = a, *y = b;
    return x->id != y->id ? x->id - y->id : strcmp(x->name, y->name);
}

static enum kg_code read_hash(struct kg_kb_problem *p, struct kg_err *err)
{
    struct kg_buf code;
    kg_buf_init(&code, MAX_BYTES);
    enum kg_code status = kg_file_read(p->path, &code, err);
    if (status == KG_OK) {
        status = kg_kb_hash(code.data, code.len, p->hash, err);
    }
    kg_buf_deinit(&code);
    return status;
}

static enum kg_code add(struct kg_kb_problems *list, size_t *cap, const char *folder,
                        const char *name, int level, int id, struct kg_err *err)
{
    if (list->n == *cap) {
        *cap = *cap ? *cap * 2 : 128;
        struct kg_kb_problem *grown = realloc(list->problem, *cap * sizeof *grown);
        if (!grown) {
            return kg_fail(err, KG_E_LIMIT, "%s: no memory for %zu problems", folder, *cap);
        }
        list->problem = grown;
    }
    struct kg_kb_problem *p = &list->problem[list->n];
    *p = (struct kg_kb_problem){.level = level, .id = id};
    snprintf(p->name, sizeof p->name, "%s", name);
    if ((size_t)snprintf(p->path, sizeof p->path, "%s/%s", folder, name) >= sizeof p->path) {
        return kg_fail(err, KG_E_INPUT, "%.200s...: the path is too long", folder);
    }
    list->n++;
    return read_hash(p, err);
}

static enum kg_code check_unique(const struct kg_kb_problems *list, const char *folder,
                                 struct kg_err *err)
{
    for (size_t i = 1; i < list->n; i++) {
        const struct kg_kb_problem *p = &list->problem[i - 1];
        if (p->id == p[1].id) {
            return kg_fail(err, KG_E_INPUT, "%s: `%.100s` and `%.100s` have the same id %d", folder,
                           p->name, p[1].name, p->id);
        }
    }
    return KG_OK;
}

static enum kg_code read_folder(const char *folder, int level, struct kg_kb_problems *out,
                                struct kg_err *err)
{
    DIR *dir = opendir(folder);
    size_t cap = 0;
    int id;
    if (!dir) {
        return kg_fail(err, errno == ENOENT ? KG_E_NOT_FOUND : KG_E_IO, "%s: cannot open: %s",
                       folder, strerror(errno));
    }
    enum kg_code code = KG_OK;
    for (struct dirent *e; code == KG_OK && (e = readdir(dir));) {
        if (kg_kb_id_parse(e->d_name, &id)) {
            code = add(out, &cap, folder, e->d_name, level, id, err);
        }
    }
    closedir(dir);
    if (code == KG_OK && out->n == 0) {
        code = kg_fail(err, KG_E_NOT_FOUND, "%s: no problem there (a file <id>_<Name>.py)", folder);
    }
    if (code == KG_OK) {
        qsort(out->problem, out->n, sizeof *out->problem, by_id);
        code = check_unique(out, folder, err);
    }
    return code;
}

enum kg_code kg_kb_problems_load(const char *folder, int level, struct kg_kb_problems *out,
                                 struct kg_err *err)
{
    char root[PATH_MAX], below[PATH_MAX + 32];
    int own = 0;
    *out = (struct kg_kb_problems){0};
    if (!realpath(folder, root)) {
        return kg_fail(err, errno == ENOENT ? KG_E_NOT_FOUND : KG_E_IO, "%s: cannot open: %s",
                       folder, strerror(errno));
    }
    snprintf(below, sizeof below, "%s/level%d", root, level);
    bool itself = kg_kb_level_parse(strrchr(root, '/') + 1, &own);
    if (itself && own == level && !kg_file_exists(below)) {
        snprintf(below, sizeof below, "%s", root);
    }
    if (read_folder(below, level, out, err) != KG_OK) {
        kg_kb_problems_deinit(out);
        return err->code;
    }
    return KG_OK;
}

void kg_kb_problems_deinit(struct kg_kb_problems *list)
{
    free(list->problem);
    *list = (struct kg_kb_problems){0};
}

const struct kg_kb_problem *kg_kb_problem_find(const struct kg_kb_problems *list, int id)
{
    size_t lo = 0, hi = list->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (list->problem[mid].id < id) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < list->n && list->problem[lo].id == id ? &list->problem[lo] : NULL;
}
