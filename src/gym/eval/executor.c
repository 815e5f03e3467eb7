/* Which executor a problem needs, and the table of the C executor. */
#include "gym/eval/executor.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "gym/eval/context.h"
#include "gym/native/native_panel.h"
#include "gym/torch/problem/suite.h"

static void describe(struct kg_worker *w, struct kg_record *r)
{
    struct kg_err ignored = KG_ERR_INIT;
    const struct kg_problem *p = w->problem;
    r->problem.name = kg_arena_dup(&r->arena, p->name, strlen(p->name), &ignored);
    r->problem.suite = kg_arena_dup(&r->arena, p->suite, strlen(p->suite), &ignored);
    r->problem.entry = kg_arena_dup(&r->arena, p->entry, strlen(p->entry), &ignored);
    r->problem.sha256 = kg_arena_dup(&r->arena, p->sha256, strlen(p->sha256), &ignored);
    r->problem.language = "c";
    r->problem.level = p->level;
}

static const char *entry(const struct kg_worker *w)
{
    return w->problem->entry;
}

static const char *source(const struct kg_worker *w, size_t *len)
{
    *len = w->problem->source_len;
    return w->problem->source;
}

static enum kg_code read_source(const char *path, struct kg_buf *out, struct kg_err *err)
{
    struct kg_problem *p;
    if (kg_problem_load(path, &p, err) != KG_OK) {
        return err->code;
    }
    kg_buf_add(out, p->source, p->source_len);
    kg_problem_destroy(p);
    return KG_OK;
}

static double deadline_s(const struct kg_config *c)
{
    return c->deadline_eval;
}

static void canary(const struct kg_worker *w, struct kg_buf *out)
{
    kg_probe_reference(w->problem, out);
}

static void stop(struct kg_evaluation *e)
{
    e->judge_lost = e->attached && e->w->judge_open && e->w->judge.pid <= 0;
    kg_candidate_stop(e);
}

const struct kg_executor kg_executor_c = {
    .language = "c",
    .lang = KG_LANG_C,
    .problem = kg_worker_problem,
    .describe = describe,
    .entry = entry,
    .source = source,
    .read = read_source,
    .deadline_s = deadline_s,
    .canary = canary,
    .stage = {[KG_ST_STATIC] = kg_stage_static,
              [KG_ST_COMPILE] = kg_stage_compile,
              [KG_ST_TINY] = kg_stage_tiny,
              [KG_ST_FULL] = kg_stage_full,
              [KG_ST_TIMING] = kg_stage_timing},
    .stop = stop,
    .forget = kg_worker_forget,
    .onboard = kg_onboard_c,
};

static bool ends_in(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n > m && strcmp(s + n - m, suffix) == 0;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

enum kg_code kg_executor_find(const struct kg_paths *paths, const char *problem,
                              const struct kg_executor **out, char *path, size_t cap,
                              struct kg_err *err)
{
    if (kg_tsuite_is_path(problem)) {
        *out = &kg_executor_torch;
        return kg_tsuite_find(problem, paths->suites, paths->nsuites, path, cap, err);
    }
    *out = &kg_executor_c;
    if (strchr(problem, '/') && is_folder(problem)) {
        return kg_fail(err, KG_E_INPUT,
                       "%.300s: a folder, not a problem (`kgym problems list` lists what is in it)",
                       problem);
    }
    enum kg_code code = kg_problem_find(problem, paths->suites, paths->nsuites, path, cap, err);
    if (code != KG_E_NOT_FOUND || strchr(problem, '/') || ends_in(problem, ".c")) {
        return code;
    }
    struct kg_err other = KG_ERR_INIT;
    code = kg_tsuite_find(problem, paths->suites, paths->nsuites, path, cap, &other);
    if (code == KG_OK) {
        *out = &kg_executor_torch;
    } else if (code != KG_E_NOT_FOUND || !strstr(err->message, "did you mean")) {
        *err = other;
    }
    return code == KG_OK ? KG_OK : err->code;
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
