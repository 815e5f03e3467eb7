/* The PyTorch executor's table, and its current problem. */
#include "gym/eval/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/torch/timing/gpu.h"
#include "gym/torch/timing/torch_pairs.h"
#include "gym/torch/torch.h"

/* What a file lacks, or has too much of, is the problem's defect; that it is not there is none. */
static enum kg_code load(const char *path, struct kg_tproblem **out, struct kg_err *err)
{
    enum kg_code code = kg_tproblem_load(path, out, err);
    if (code == KG_E_INPUT || code == KG_E_LIMIT) {
        err->code = code = KG_E_PROBLEM;
        err->blame = KG_BLAME_PROBLEM;
    }
    return code;
}

/* A problem that is current already (same bytes, same name) costs a read and a hash. */
static enum kg_code problem(struct kg_worker *w, const char *path, struct kg_err *err)
{
    struct kg_tproblem *p;
    if (load(path, &p, err) != KG_OK) {
        return err->code;
    }
    const struct kg_tproblem *old = w->torch ? w->torch->problem : NULL;
    if (old && strcmp(old->sha256, p->sha256) == 0 && strcmp(old->name, p->name) == 0) {
        kg_tproblem_destroy(p);
        return KG_OK;
    }
    enum kg_code code = kg_torch_open(w, err);
    if (code == KG_OK) {
        kg_torch_leave(w);
        code =
            p->level == KG_TLEVEL_WEIGHTS
                ? kg_fail(err, KG_E_PROBLEM,
                          "%s: problems of level 4 need weights from elsewhere; they are listed, "
                          "not judged",
                          path)
                : kg_file_write_atomic(w->torch->problem_file, p->source, p->source_len, err);
    }
    if (code != KG_OK) {
        kg_tproblem_destroy(p);
        return code;
    }
    w->torch->problem = p;
    if (kg_torch_start(w, err) == KG_OK) {
        return KG_OK;
    }
    struct kg_err cause = *err;
    kg_torch_forget(w, cause.code == KG_E_GYM ? KG_FORGET_ALL : KG_FORGET_PROBLEM);
    *err = cause;
    return err->code;
}

static const char *copy(struct kg_record *r, const char *s)
{
    struct kg_err ignored = KG_ERR_INIT;
    return kg_arena_dup(&r->arena, s, strlen(s), &ignored);
}

static void describe(struct kg_worker *w, struct kg_record *r)
{
    const struct kg_torch *t = w->torch;
    const struct kg_tproblem *p = t->problem;
    const char *key;
    json_t *v;
    r->problem.name = copy(r, p->name);
    r->problem.suite = copy(r, p->suite);
    r->problem.entry = copy(r, p->entry);
    r->problem.sha256 = copy(r, p->sha256);
    r->problem.language = "python";
    r->problem.level = p->level;
    r->league.name = w->config.precision;
    static const char *const shown[] = {"python", "torch", "triton", "cuda_built"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        key = shown[i];
        v = json_object_get(t->zygote[0].facts, key);
        json_object_set(r->environment, key, v ? v : json_null());
    }
    json_object_set_new(r->environment, "device", json_string(t->device));
    json_object_set_new(r->environment, "device_name", json_string(t->judge.facts.name));
    json_object_set_new(r->environment, "exchange", json_string(t->judge.facts.exchange));
    json_object_set_new(r->environment, "gpu", kg_tgpu_steady(w));
}

static const char *entry(const struct kg_worker *w)
{
    return w->torch->problem->entry;
}

static const char *source(const struct kg_worker *w, size_t *len)
{
    *len = w->torch->problem->source_len;
    return w->torch->problem->source;
}

static enum kg_code read_source(const char *path, struct kg_buf *out, struct kg_err *err)
{
    struct kg_tproblem *p;
    if (load(path, &p, err) != KG_OK) {
        return err->code;
    }
    kg_buf_add(out, p->source, p->source_len);
    kg_tproblem_destroy(p);
    return KG_OK;
}

static double deadline_s(const struct kg_config *c)
{
    return c->torch_deadline_eval;
}

/* The problem's own text, and its class under the name of a candidate's. */
static void canary(const struct kg_worker *w, struct kg_buf *out)
{
    const struct kg_tproblem *p = w->torch->problem;
    kg_buf_add(out, p->source, p->source_len);
    kg_buf_addf(out, "\n\n%s = %s\n", p->entry, p->reference);
}

/* Jobs of this host that judge on one GPU are there together, unless one of them has to be alone.
 */
static enum kg_code begin(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_torch *t = e->w->torch;
    char name[48];
    t->beside = t->shared = false;
    if (!t->judge.facts.clock && !kg_tpairs_hook.shared) {
        return KG_OK;
    }
    e->on_device = true;
    snprintf(name, sizeof name, "%s.jobs", t->device);
    t->shared = e->shared = !e->alone;
    return e->alone ? kg_lease_alone(name, false, &e->device, e->w->cancelled, err)
                    : kg_lease_share(name, &e->device, e->w->cancelled, err);
}

enum kg_code kg_tdevice_alone(struct kg_evaluation *e, struct kg_err *err)
{
    int64_t since = kg_clock_ns();
    kg_lease_release(&e->device); /* or two that want it alone would wait for each other */
    e->alone = true;
    enum kg_code code = begin(e, err);
    kg_tevaluation_excuse(e, since);
    return code;
}

static void stop(struct kg_evaluation *e)
{
    const struct kg_torch *t = e->w->torch;
    e->judge_lost = e->attached && t && t->judge_up && t->judge.pid <= 0;
    kg_tcandidate_stop(e);
    if (e->torch && e->torch->peak > 0 && t && !kg_torch_on_cpu(e->w)) {
        kg_record_evidence(e->r, "device_memory",
                           json_pack("{s:I}", "peak_bytes", (json_int_t)e->torch->peak));
    }
    if (e->torch) {
        json_decref(e->torch->clocks);
    }
    free(e->torch);
    e->torch = NULL;
    kg_lease_release(&e->device);
}

const struct kg_executor kg_executor_torch = {
    .language = "python",
    .lang = KG_LANG_PYTHON,
    .problem = problem,
    .describe = describe,
    .entry = entry,
    .source = source,
    .read = read_source,
    .deadline_s = deadline_s,
    .canary = canary,
    .stage = {[KG_ST_STATIC] = kg_tstage_static,
              [KG_ST_COMPILE] = kg_tstage_compile,
              [KG_ST_TINY] = kg_tstage_tiny,
              [KG_ST_FULL] = kg_tstage_full,
              [KG_ST_TIMING] = kg_tstage_timing,
              [KG_ST_PROFILE] = kg_tstage_profile},
    .begin = begin,
    .stop = stop,
    .forget = kg_torch_forget,
    .onboard = kg_tonboard,
};
