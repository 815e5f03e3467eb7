/* The PyTorch executor's table, and its current problem. */
#include "gym/eval/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/torch/executor/torch_prompt.h"
#include "gym/torch/executor/torch_stages.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/judging/memory.h"
#include "gym/torch/judging/torch_candidate.h"
#include "gym/torch/onboard/torch_onboard.h"
#include "gym/torch/problem/files.h"
#include "gym/torch/profile/stage_profile.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_zygotes.h"
#include "gym/torch/timing/gpu.h"
#include "gym/torch/timing/torch_pairs.h"
#include "gym/torch/timing/torch_timing.h"

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

static const char *kept(struct kg_arena *a, const char *s)
{
    struct kg_err ignored = KG_ERR_INIT;
    const char *c = kg_arena_dup(a, s, strlen(s), &ignored);
    return c ? c : "";
}

static enum kg_code facts(const char *path, struct kg_problem_facts *out, struct kg_err *err)
{
    struct kg_tproblem *p;
    *out = (struct kg_problem_facts){.name = ""};
    kg_arena_init(&out->arena, "facts of a problem", 1 << 20);
    if (kg_tproblem_load(path, &p, err) != KG_OK) {
        return err->code;
    }
    out->name = kept(&out->arena, p->name);
    out->suite = kept(&out->arena, p->suite);
    out->entry = kept(&out->arena, p->entry);
    out->sha256 = kept(&out->arena, p->sha256);
    out->desc = kept(&out->arena, p->desc);
    out->note = p->level == KG_TLEVEL_WEIGHTS ? "needs weights from elsewhere: not judged" : NULL;
    out->level = p->level;
    out->row = p->row;
    kg_tproblem_destroy(p);
    return KG_OK;
}

static enum kg_code show(const char *path, struct kg_buf *out, struct kg_err *err)
{
    struct kg_tproblem *p;
    if (kg_tproblem_load(path, &p, err) != KG_OK) {
        return err->code;
    }
    kg_buf_add(out, p->source, p->source_len);
    kg_buf_addf(out, "\n# %s\n#   a candidate defines class %s; sha256 %s\n", path, p->entry,
                p->sha256);
    kg_tproblem_destroy(p);
    return KG_OK;
}

/* Others on the device may be why there is no judge. It is tried again with a place there. */
static bool is_for_begin(const struct kg_worker *w, const struct kg_err *err)
{
    const struct kg_torch *t = kg_torch_of(w);
    return err->code == KG_E_HOST && t->zygote_up[0] && !t->judge_up && kg_tdevice_is_shared(w);
}

/* A problem that is current already (same bytes, same name) costs a read and a hash. */
static enum kg_code problem(struct kg_worker *w, const char *path, struct kg_err *err)
{
    struct kg_tproblem *p;
    if (load(path, &p, err) != KG_OK) {
        return err->code;
    }
    const struct kg_tproblem *old = kg_torch_of(w) ? kg_torch_of(w)->problem : NULL;
    if (old && strcmp(old->sha256, p->sha256) == 0 && strcmp(old->name, p->name) == 0) {
        kg_tproblem_destroy(p);
        return KG_OK;
    }
    enum kg_code code = kg_torch_open(w, err);
    if (code == KG_OK) {
        kg_torch_leave(w);
        kg_tmemory_left(w);
        code =
            p->level == KG_TLEVEL_WEIGHTS
                ? kg_fail(err, KG_E_PROBLEM,
                          "%s: problems of level 4 need weights from elsewhere; they are listed, "
                          "not judged",
                          path)
                : kg_file_write_atomic(kg_torch_of(w)->problem_file, p->source, p->source_len, err);
    }
    if (code != KG_OK) {
        kg_tproblem_destroy(p);
        return code;
    }
    kg_torch_of(w)->problem = p;
    if (kg_torch_start(w, err) == KG_OK || is_for_begin(w, err)) {
        return KG_OK;
    }
    struct kg_err cause = *err;
    kg_torch_forget(w, cause.code == KG_E_GYM ? KG_FORGET_ALL : KG_FORGET_PROBLEM);
    *err = cause;
    return err->code;
}

static void describe(struct kg_worker *w, struct kg_record *r)
{
    const struct kg_torch *t = kg_torch_of(w);
    const struct kg_tproblem *p = t->problem;
    const char *key;
    json_t *v;
    r->problem.name = kept(&r->arena, p->name);
    r->problem.suite = kept(&r->arena, p->suite);
    r->problem.entry = kept(&r->arena, p->entry);
    r->problem.sha256 = kept(&r->arena, p->sha256);
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
    return kg_torch_of(w)->problem->entry;
}

static const char *source(const struct kg_worker *w, size_t *len)
{
    *len = kg_torch_of(w)->problem->source_len;
    return kg_torch_of(w)->problem->source;
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
    const struct kg_tproblem *p = kg_torch_of(w)->problem;
    kg_buf_add(out, p->source, p->source_len);
    kg_buf_addf(out, "\n\n%s = %s\n", p->entry, p->reference);
}

/* Evaluations that have to end before this one gets its place may wait for memory that this worker
 * holds. So it waits for its place with nothing on the device. */
static enum kg_code take_place(struct kg_evaluation *e, struct kg_err *err)
{
    bool holds = kg_torch_of(e->w)->memory.ledger.held > 0;
    if (holds && kg_tdevice_place_now(e)) {
        return KG_OK;
    }
    if (holds) {
        kg_tmemory_drop(e->w);
    }
    return kg_tdevice_place(e, err);
}

static enum kg_code begin(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_torch_run *run = calloc(1, sizeof *run);
    if (!run) {
        return kg_fail(err, KG_E_LIMIT, "no memory for a candidate");
    }
    run->cand.port = -1;
    run->device = KG_LEASE_NONE;
    e->run = run;
    if (take_place(e, err) != KG_OK) {
        return err->code;
    }
    bool late = !kg_torch_of(e->w)->judge_up;
    if (kg_torch_judge(e->w, err) != KG_OK) {
        return err->code;
    }
    if (late) {
        describe(e->w, e->r);
    }
    return KG_OK;
}

static void stop(struct kg_evaluation *e)
{
    const struct kg_torch *t = kg_torch_of(e->w);
    struct kg_torch_run *run = kg_torch_run_of(e);
    e->judge_lost = e->attached && t && t->judge_up && t->judge.pid <= 0;
    if (!run) {
        return;
    }
    kg_tcandidate_stop(e);
    e->tight = t && kg_tmemory_is_tight(e->w);
    if (run->peak > 0 && t && !kg_torch_on_cpu(e->w)) {
        kg_record_evidence(e->r, "device_memory",
                           json_pack("{s:I}", "peak_bytes", (json_int_t)run->peak));
    }
    json_decref(run->clocks);
    json_decref(run->own_state);
    kg_lease_release(&run->device);
    kg_tmemory_used(e->w);
    free(run);
    e->run = NULL;
}

/* Is there a Python with torch, and a device? */
static enum kg_code usable(struct kg_worker *w, struct kg_err *err)
{
    return kg_torch_open(w, err) == KG_OK ? kg_torch_start(w, err) : err->code;
}

const struct kg_executor kg_executor_torch = {
    .language = "python",
    .title = "Python",
    .kind = "PyTorch",
    .suffix = ".py",
    .lang = KG_LANG_PYTHON,
    .is_path = kg_tsuite_is_path,
    .endings = kg_tfiles_endings,
    .holds = kg_tfiles_holds,
    .rows = kg_tfiles_rows,
    .has_row = kg_tfiles_has_row,
    .find = kg_tsuite_find,
    .facts = facts,
    .show = show,
    .device = kg_torch_device,
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
    .idle = kg_tmemory_yield,
    .close = kg_torch_close,
    .usable = usable,
    .onboard = kg_tonboard,
    .doubted = kg_tdoubted,
    .settle = kg_tsettle,
    .prompt = kg_torch_prompt,
};
