/* Which executor a problem needs, and each executor's part of a worker. */
#include "gym/eval/executor.h"

#include <string.h>
#include <sys/stat.h>

size_t kg_executor_row(const struct kg_executor *x)
{
    size_t i = 0;
    while (kg_executors[i] != x) {
        KG_ASSERT(kg_executors[i] != NULL);
        i++;
    }
    return i;
}

void *kg_worker_part(const struct kg_worker *w, const struct kg_executor *x)
{
    return w->part[kg_executor_row(x)];
}

void kg_worker_set_part(struct kg_worker *w, const struct kg_executor *x, void *part)
{
    w->part[kg_executor_row(x)] = part;
}

void kg_problem_facts_deinit(struct kg_problem_facts *f)
{
    kg_arena_deinit(&f->arena);
}

const struct kg_executor *kg_executor_of_path(const char *word)
{
    for (const struct kg_executor *const *x = kg_executors; *x; x++) {
        if ((*x)->is_path(word)) {
            return *x;
        }
    }
    return NULL;
}

const struct kg_executor *kg_executor_of_candidate(const char *file)
{
    const char *dot = strrchr(file, '.');
    for (const struct kg_executor *const *x = kg_executors; dot && *x; x++) {
        if (strcmp(dot, (*x)->suffix) == 0) {
            return *x;
        }
    }
    return NULL;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* By the first that knows the name. Of the errors that one is told which is no "not found", else
 * the first that suggests a name, else the last. */
static enum kg_code find_name(const struct kg_paths *paths, const char *name,
                              const struct kg_executor **out, char *path, size_t cap,
                              struct kg_err *err)
{
    bool suggested = false;
    for (const struct kg_executor *const *x = kg_executors; *x; x++) {
        struct kg_err own = KG_ERR_INIT;
        *out = *x;
        enum kg_code code = (*x)->find(name, paths->suites, paths->nsuites, path, cap, &own);
        if (code == KG_OK) {
            return KG_OK;
        }
        if (code != KG_E_NOT_FOUND || !suggested) {
            *err = own;
            suggested = own.suggests;
        }
        if (code != KG_E_NOT_FOUND) {
            return code;
        }
    }
    return err->code;
}

enum kg_code kg_executor_find(const struct kg_paths *paths, const char *problem,
                              const struct kg_executor **out, char *path, size_t cap,
                              struct kg_err *err)
{
    *out = kg_executor_of_path(problem);
    if (strchr(problem, '/') && is_folder(problem)) {
        return kg_fail(err, KG_E_INPUT,
                       "%.300s: a folder, not a problem (`kgym problems list` lists what is in it)",
                       problem);
    }
    if (!*out && !strchr(problem, '/')) {
        return find_name(paths, problem, out, path, cap, err);
    }
    *out = *out ? *out : kg_executors[0]; /* no ending that anybody knows: refused there */
    KG_ASSERT(*out);
    return (*out)->find(problem, paths->suites, paths->nsuites, path, cap, err);
}

enum kg_code kg_executor_problem(struct kg_worker *w, const char *problem, struct kg_err *err)
{
    const struct kg_executor *x;
    char path[1024];
    if (kg_executor_find(&w->paths, problem, &x, path, sizeof path, err) != KG_OK) {
        return err->code;
    }
    if (w->executor != x) {
        w->executor->forget(w, KG_FORGET_PROBLEM);
        w->executor = x;
    }
    return x->problem(w, path, err);
}
