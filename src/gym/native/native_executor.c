/* The table's row of the C executor. */
#include <stdlib.h>
#include <string.h>

#include "gym/native/native.h"
#include "gym/native/native_panel.h"
#include "gym/native/native_prompt.h"

static bool is_path(const char *word)
{
    size_t n = strlen(word);
    return n > 2 && strcmp(word + n - 2, ".c") == 0;
}

/* What there is no stage for, or what means something for tensors only. */
static enum kg_code supports(const struct kg_config *c, struct kg_err *err)
{
    if (c->library == KG_LIB_FORBIDDEN) {
        return kg_fail(
            err, KG_E_USAGE,
            "library: `forbidden` is decided by launch records of a GPU: PyTorch's only, "
            "and this problem is in C; its record says how much of the time is the "
            "library's (stage.profile)");
    }
    if (c->protocol == KG_PROTOCOL_KERNELBENCH) {
        return kg_fail(
            err, KG_E_USAGE,
            "preset kernelbench: it is KernelBench's own procedure, which judges PyTorch "
            "problems; this one is in C");
    }
    if (strcmp(c->precision, "fp32") != 0) {
        return kg_fail(err, KG_E_USAGE,
                       "precision: `%s` is what a GPU's products may be: PyTorch's only, and this "
                       "problem is in C",
                       c->precision);
    }
    return KG_OK;
}

static const char *copy(struct kg_arena *a, const char *s)
{
    struct kg_err ignored = KG_ERR_INIT;
    const char *c = kg_arena_dup(a, s, strlen(s), &ignored);
    return c ? c : "";
}

static enum kg_code facts(const char *path, struct kg_problem_facts *out, struct kg_err *err)
{
    struct kg_problem *p;
    *out = (struct kg_problem_facts){.name = ""};
    kg_arena_init(&out->arena, "facts of a problem", 1 << 20);
    if (kg_problem_load(path, &p, err) != KG_OK) {
        return err->code;
    }
    out->name = copy(&out->arena, p->name);
    out->suite = copy(&out->arena, p->suite);
    out->entry = copy(&out->arena, p->entry);
    out->sha256 = copy(&out->arena, p->sha256);
    out->desc = copy(&out->arena, p->desc ? p->desc : "");
    out->level = p->level;
    kg_problem_destroy(p);
    return KG_OK;
}

/* Its text, and the sizes of its arrays at the default shape. */
static enum kg_code show(const char *path, struct kg_buf *out, struct kg_err *err)
{
    struct kg_problem *p;
    struct kg_shape s;
    if (kg_problem_load(path, &p, err) != KG_OK) {
        return err->code;
    }
    kg_shape_default(p, &s);
    kg_buf_add(out, p->source, p->source_len);
    kg_buf_addf(out, "\n/* %s\n", path);
    for (int a = 0; a < p->nargs; a++) {
        if (p->args[a].rank) {
            int64_t n = kg_arg_count(p, a, &s);
            kg_buf_addf(out, "   %-10s %9lld elements, %.1f KB\n", p->args[a].name, (long long)n,
                        (double)n * (double)kg_dtype_bytes(p->args[a].dtype) / 1024);
        }
    }
    kg_buf_addf(out, "   K = %lld, sha256 %s */\n", (long long)kg_problem_reduce(p, &s), p->sha256);
    kg_problem_destroy(p);
    return KG_OK;
}

static const char *device(const struct kg_config *c)
{
    (void)c;
    return "cpu";
}

static void describe(struct kg_worker *w, struct kg_record *r)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_err ignored = KG_ERR_INIT;
    const struct kg_problem *p = n->problem;
    r->problem.name = kg_arena_dup(&r->arena, p->name, strlen(p->name), &ignored);
    r->problem.suite = kg_arena_dup(&r->arena, p->suite, strlen(p->suite), &ignored);
    r->problem.entry = kg_arena_dup(&r->arena, p->entry, strlen(p->entry), &ignored);
    r->problem.sha256 = kg_arena_dup(&r->arena, p->sha256, strlen(p->sha256), &ignored);
    r->problem.language = "c";
    r->problem.level = p->level;
}

static const char *entry(const struct kg_worker *w)
{
    struct kg_native *n = kg_native_of(w);
    return n->problem->entry;
}

static const char *source(const struct kg_worker *w, size_t *len)
{
    struct kg_native *n = kg_native_of(w);
    *len = n->problem->source_len;
    return n->problem->source;
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
    struct kg_native *n = kg_native_of(w);
    kg_probe_reference(n->problem, out);
}

static enum kg_code begin(struct kg_evaluation *e, struct kg_err *err)
{
    e->run = calloc(1, sizeof(struct kg_native_run));
    return e->run ? KG_OK : kg_fail(err, KG_E_LIMIT, "no memory for a candidate");
}

static void stop(struct kg_evaluation *e)
{
    const struct kg_native *n = kg_native_of(e->w);
    e->judge_lost = e->attached && n->judge_open && n->judge.pid <= 0;
    if (e->run) {
        kg_native_candidate_stop(e);
        free(e->run);
        e->run = NULL;
    }
}

static const char *const endings[] = {".c", NULL};

const struct kg_executor kg_executor_native = {
    .language = "c",
    .title = "C",
    .kind = "C",
    .suffix = ".c",
    .lang = KG_LANG_C,
    .is_path = is_path,
    .endings = endings,
    .find = kg_problem_find,
    .supports = supports,
    .facts = facts,
    .show = show,
    .device = device,
    .problem = kg_native_problem,
    .describe = describe,
    .entry = entry,
    .source = source,
    .read = read_source,
    .deadline_s = deadline_s,
    .canary = canary,
    .stage = {[KG_ST_STATIC] = kg_native_stage_static,
              [KG_ST_COMPILE] = kg_native_stage_compile,
              [KG_ST_TINY] = kg_native_stage_tiny,
              [KG_ST_FULL] = kg_native_stage_full,
              [KG_ST_TIMING] = kg_native_stage_timing,
              [KG_ST_PROFILE] = kg_native_stage_profile},
    .begin = begin,
    .stop = stop,
    .forget = kg_native_forget,
    .close = kg_native_close,
    .onboard = kg_native_onboard,
    .prompt = kg_native_prompt,
};
