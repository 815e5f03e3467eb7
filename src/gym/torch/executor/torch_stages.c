/* The stages of a PyTorch candidate, from its text to its answers. */
#include "gym/torch/executor/torch_stages.h"

#include <string.h>

#include "base/clock.h"
#include "gym/eval/again.h"
#include "gym/reply/check.h"
#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/grade.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/interpreted.h"
#include "gym/torch/judging/memory.h"
#include "gym/torch/judging/outcome.h"
#include "gym/torch/judging/shapes.h"
#include "gym/torch/judging/torch_candidate.h"
#include "gym/torch/judging/torch_replay.h"
#include "gym/torch/problem/module.h"
#include "gym/torch/runner/build_cache.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/timing/torch_timing.h"

/* A problem without a tiny variant is interpreted as it is, up to so many times the tiny size. */
#define UNSHRUNK 32

/* Labels that explain; the behaviour decides. */
enum kg_stage_result kg_tstage_static(struct kg_evaluation *e, struct kg_err *err)
{
    (void)err;
    struct kg_finding f[32];
    const char *entry = kg_torch_of(e->w)->problem->entry;
    size_t n = kg_check_python(e->code, e->code_len, entry, f, sizeof f / sizeof *f);
    for (size_t i = 0; i < n; i++) {
        kg_record_evidence(e->r, "static",
                           json_pack("{s:s, s:s, s:i, s:o}", "rule", f[i].rule, "severity",
                                     kg_severity_name(f[i].severity), "line", f[i].line, "message",
                                     kg_json_text(f[i].message, strlen(f[i].message))));
    }
    /* Nothing that defines it can lack its name: no process is needed to see that. */
    if (memmem(e->code, e->code_len, entry, strlen(entry)) == NULL) {
        kg_toutcome_no_entry(e);
        return KG_STAGE_FAIL;
    }
    return KG_STAGE_PASS;
}

/* Where the candidate runs: at the published shape, or, where Triton must be interpreted, tiny. */
static enum kg_code choose_scene(struct kg_evaluation *e, struct kg_tinstance **out,
                                 struct kg_err *err)
{
    struct kg_worker *w = e->w;
    struct kg_torch *t = kg_torch_of(w);
    struct kg_tinstance *tiny = &t->instance[KG_INSTANCE_TINY];
    *out = &t->instance[KG_INSTANCE_PUBLISHED];
    bool compat = kg_torch_protocol(w)->as_there;
    kg_torch_run_of(e)->interpret =
        kg_torch_on_cpu(w) && (kg_module_kernels(e->code, e->code_len) & KG_KERNELS_TRITON) != 0;
    if (kg_tinstance_open(w, *out, err) != KG_OK) {
        return err->code;
    }
    uint64_t size = kg_tshapes_size(&(*out)->desc), most = (uint64_t)w->config.torch_tiny_elements;
    if (!kg_torch_run_of(e)->interpret || size <= most) {
        return KG_OK;
    }
    if (!compat && !t->no_tiny && !tiny->consts &&
        kg_tshapes_tiny(w, tiny, (int64_t)most, err) != KG_OK) {
        if (err->code != KG_E_PROBLEM) {
            return err->code;
        }
        t->no_tiny = true;
    }
    if (!compat && !t->no_tiny) {
        *out = tiny;
        return KG_OK;
    }
    if (size > UNSHRUNK * most) {
        kg_toutcome_needs_gpu(err, "the problem has no tiny variant for Triton's interpreter");
        return err->code;
    }
    return KG_OK;
}

/* The reference's answers to its own inputs, before code of the candidate is there: what it lacks
 * then (double, memory) is its own fault. Of the same instance the next evaluations have them. */
static enum kg_code first_case(struct kg_evaluation *e, struct kg_tinstance *s, struct kg_err *err)
{
    struct kg_tcase *c;
    int64_t since = kg_clock_ns();
    if (kg_torch_protocol(e->w)->full || e->task->replay || e->task->stop_after < KG_ST_TINY) {
        return KG_OK;
    }
    enum kg_code code = kg_tcase_ready(e->w, s, KG_TL_OWN, &c, err);
    kg_evaluation_excuse(e, since);
    return code;
}

static void note_memory(const struct kg_evaluation *e)
{
    json_t *memory = kg_tmemory_json(e->w);
    if (memory) {
        json_object_set_new(e->r->environment, "memory", memory);
    }
}

/* Inputs that do not come contiguous: a kernel may have overlooked that. */
static void tell_layout(const struct kg_task_desc *d, struct kg_record *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->ninputs; i++) {
        const struct kg_tleaf *leaf = &d->input[i].leaf;
        if (leaf->laid) {
            char text[200];
            kg_task_leaf_text(leaf, text, sizeof text);
            json_array_append_new(list, json_pack("{s:I, s:s, s:o}", "input", (json_int_t)i, "is",
                                                  text, "stride", kg_task_strides(leaf)));
        }
    }
    if (json_array_size(list) > 0) {
        kg_record_evidence(r, "layout", json_pack("{s:O}", "inputs", list));
    }
    json_decref(list);
}

/* No candidate is judged by it, where there is no cache, either. */
static enum kg_code admit(const struct kg_evaluation *e, struct kg_err *err)
{
    const struct kg_torch *t = kg_torch_of(e->w);
    bool refused =
        *t->defect && !e->task->any_problem && e->w->config.quarantine != KG_QUARANTINE_IGNORE;
    return refused ? kg_fail(err, KG_E_PROBLEM, "%s: put aside at its first evaluation: %s",
                             t->problem->path, t->defect)
                   : KG_OK;
}

enum kg_stage_result kg_tstage_compile(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_tinstance *s;
    int64_t since = kg_clock_ns();
    if (admit(e, err) != KG_OK || choose_scene(e, &s, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    kg_evaluation_excuse(e, since);
    kg_tbuilds_open(e);
    kg_torch_run_of(e)->instance = s;
    json_object_set_new(e->r->environment, "scene", json_string(kg_instance_name(s->kind)));
    json_object_set_new(e->r->environment, "triton_interpret",
                        json_boolean(kg_torch_run_of(e)->interpret));
    tell_layout(&s->desc, e->r);
    const json_t *keys = json_object_get(e->task->replay, "parameters");
    if (keys && kg_treplay_take_parameters(e->w, s, keys, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    if (!kg_torch_protocol(e->w)->seed) { /* else it is everybody's */
        json_object_set_new(e->r->secret, "parameters", kg_treplay_parameters(s));
    }
    if (first_case(e, s, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    note_memory(e);
    kg_tstage_timing_ahead(e, s);
    enum kg_stage_result step = kg_tcandidate_start(e, s, KG_ST_COMPILE, err);
    e->r->compiled = e->built = step == KG_STAGE_PASS;
    return step == KG_STAGE_FAIL ? kg_tinterpreted_failed(e, err) : step;
}

struct again {
    struct kg_evaluation *e;
    struct kg_tinstance *s;
    enum kg_tlaw law;
    enum kg_stage stage;
};

/* The same law, alone in a fresh process. */
static enum kg_stage_result again(void *ctx, struct kg_err *err)
{
    const struct again *a = ctx;
    kg_tcandidate_stop(a->e);
    return kg_tcandidate_case(a->e, a->s, a->law, a->stage, err);
}

static enum kg_stage_result run_law(struct kg_evaluation *e, struct kg_tinstance *s,
                                    enum kg_tlaw law, enum kg_stage stage, struct kg_err *err)
{
    if (*e->w->cancelled) {
        kg_fail(err, KG_E_CANCELLED, "interrupted");
        return KG_STAGE_ERROR;
    }
    enum kg_stage_result step = kg_tcandidate_case(e, s, law, stage, err);
    struct again a = {e, s, law, stage};
    step = step == KG_STAGE_FAIL ? kg_again_ask(e, again, &a, err) : step;
    return step == KG_STAGE_FAIL ? kg_tinterpreted_failed(e, err) : step;
}

/* The laws in order, or those of the record that is replayed. */
static enum kg_stage_result run_laws(struct kg_evaluation *e, enum kg_stage stage,
                                     const enum kg_tlaw *laws, size_t n, struct kg_err *err)
{
    struct kg_tinstance *s = kg_torch_run_of(e)->instance;
    const json_t *replay =
        e->task->replay ? json_object_get(e->task->replay, kg_stage_name(stage)) : NULL;
    enum kg_stage_result worst = KG_STAGE_PASS, step = KG_STAGE_PASS;
    kg_torch_run_of(e)->asked = json_array();
    json_object_set_new(e->r->secret, kg_stage_name(stage), kg_torch_run_of(e)->asked);
    n = replay ? json_array_size(replay) : n;
    for (size_t i = 0;
         i < n && step != KG_STAGE_ERROR && (worst == KG_STAGE_PASS || !e->w->config.staged); i++) {
        enum kg_tlaw law = replay ? KG_TL_OWN : laws[i];
        if (replay && kg_treplay_take_case(s, json_array_get(replay, i), &law, err) != KG_OK) {
            return KG_STAGE_ERROR;
        }
        step = run_law(e, s, law, stage, err);
        worst = step == KG_STAGE_PASS ? worst : step;
    }
    return worst;
}

enum kg_stage_result kg_tstage_tiny(struct kg_evaluation *e, struct kg_err *err)
{
    static const enum kg_tlaw own = KG_TL_OWN;
    return run_laws(e, KG_ST_TINY, &own, 1, err);
}

/* What an earlier evaluation left could be a table of answers: inputs that it has not seen are
 * among those that are asked. */
static size_t ask_anew(const struct kg_evaluation *e, enum kg_tlaw *laws, size_t n)
{
    bool there = false;
    if (!kg_torch_run_of(e)->builds_earlier) {
        return n;
    }
    kg_tcase_spend(kg_torch_run_of(e)->instance, KG_TL_NEW);
    for (size_t i = 0; i < n; i++) {
        there = there || laws[i] == KG_TL_NEW;
    }
    if (!there) {
        laws[n++] = KG_TL_NEW;
    }
    return n;
}

enum kg_stage_result kg_tstage_full(struct kg_evaluation *e, struct kg_err *err)
{
    const struct kg_config *c = &e->w->config;
    enum kg_tlaw laws[KG_TL_COUNT];
    uint64_t rank[KG_TL_COUNT];
    e->compared = 0;
    if (kg_torch_protocol(e->w)->full) {
        enum kg_stage_result step = kg_torch_protocol(e->w)->full(e, err);
        return step == KG_STAGE_PASS ? kg_tinterpreted_passed(e, err) : step;
    }
    int64_t since = kg_clock_ns();
    struct kg_tinstance *s = kg_torch_run_of(e)->instance;
    kg_tcases_rank(e->w, s, rank);
    kg_evaluation_excuse(e, since);
    bool all = c->laws > 0 && kg_tcases_fit(e->w, s);
    size_t n = kg_tplan_full(&s->desc, c->multi_input, all ? KG_TL_COUNT : c->laws, false, rank,
                             &e->rng, laws);
    n = ask_anew(e, laws, n);
    enum kg_stage_result worst = run_laws(e, KG_ST_FULL, laws, n, err);
    if (worst == KG_STAGE_PASS && e->compared == 0) {
        kg_fail(err, KG_E_PROBLEM, "%s: no input of this problem meets the error bound",
                kg_torch_of(e->w)->problem->path);
        return KG_STAGE_ERROR;
    }
    if (worst == KG_STAGE_PASS && e->r->verdict == KG_V_NONE) {
        worst = kg_tinterpreted_passed(e, err);
    }
    return worst == KG_STAGE_PASS && c->torch_shapes > 0 ? kg_tshapes_grade(e, err) : worst;
}
