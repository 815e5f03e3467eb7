/* Candidates with kernels where there is no GPU: launches, and the published shape. */
#include "gym/torch/judging/interpreted.h"

#include <string.h>

#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/outcome.h"
#include "gym/torch/judging/shapes.h"
#include "gym/torch/judging/torch_candidate.h"
#include "gym/torch/judging/torch_replay.h"
#include "gym/torch/problem/module.h"
#include "gym/torch/runner/torch_device.h"

/* A literal below it says nothing of a size. */
#define LEAST_LITERAL 8

static struct kg_tinstance *published_of(const struct kg_evaluation *e)
{
    return &kg_torch_of(e->w)->instance[KG_INSTANCE_PUBLISHED];
}

static bool is_small(const struct kg_evaluation *e)
{
    uint64_t most = KG_INTERPRETED_MOST * (uint64_t)e->w->config.torch_tiny_elements;
    return kg_tshapes_size(&published_of(e)->desc) <= most;
}

/* Kernels that its process says it has run. It is a claim: it may only worsen what is said. */
static bool launched(struct kg_evaluation *e)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    struct kg_pyanswer a = {.status = KG_PY_DIED};
    json_t *request = json_pack("{s:b}", "interpreted", true);
    bool some = false;
    if (run->cand.up) {
        kg_pyrunner_command(&run->cand.runner, KG_TC_PROFILE, request, 1,
                            kg_evaluation_deadline(e, e->w->config.deadline_run), &a);
        some = a.status == KG_PY_ANSWERED && a.said == KG_TA_OK &&
               json_integer_value(json_object_get(a.reply, "launches")) > 0;
        kg_pyanswer_deinit(&a);
    }
    json_decref(request);
    return some;
}

/* Keys of the published shape's case, from a record that is replayed. */
static enum kg_code take_replay(struct kg_evaluation *e, struct kg_tinstance *s, enum kg_tlaw *law,
                                struct kg_err *err)
{
    const json_t *replay = json_object_get(e->task->replay, "published");
    const json_t *entry = json_array_get(json_object_get(replay, "cases"), 0);
    if (!entry) {
        return KG_OK;
    }
    return kg_treplay_take_parameters(e->w, s, json_object_get(replay, "parameters"), err) == KG_OK
               ? kg_treplay_take_case(s, entry, law, err)
               : err->code;
}

/* The problem's own inputs at the published shape, once, in a process of its own. */
static enum kg_stage_result ask(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    struct kg_tinstance *s = published_of(e), *before = run->instance;
    json_t *asked = run->asked;
    enum kg_tlaw law = KG_TL_OWN;
    kg_tcandidate_stop(e);
    if (kg_tinstance_open(e->w, s, err) != KG_OK || take_replay(e, s, &law, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    if (run->builds_earlier) {
        kg_tcase_spend(s, law);
    }
    run->asked = json_array();
    json_object_set_new(
        e->r->secret, "published",
        json_pack("{s:o, s:o}", "parameters", kg_treplay_parameters(s), "cases", run->asked));
    enum kg_stage_result step = kg_tcandidate_case(e, s, law, KG_ST_FULL, err);
    bool some = step == KG_STAGE_PASS && launched(e);
    kg_tcandidate_stop(e);
    run->asked = asked;
    run->instance = before;
    if (step == KG_STAGE_PASS && !some) {
        return kg_toutcome_needs_gpu(err, "at the published shape none of its kernels ran");
    }
    return step;
}

enum kg_stage_result kg_tinterpreted_passed(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    unsigned kernels = kg_module_kernels(e->code, e->code_len);
    if (!kg_torch_on_cpu(e->w) || kg_torch_of(e->w)->test.profiles_anywhere || kernels == 0) {
        return KG_STAGE_PASS;
    }
    if (kernels & KG_KERNELS_CUDA) {
        return kg_toutcome_needs_gpu(err, "kernels in CUDA do not run without one");
    }
    if (!launched(e)) {
        return kg_toutcome_needs_gpu(err, "none of its kernels ran");
    }
    if (run->instance->kind != KG_INSTANCE_TINY) {
        return KG_STAGE_PASS;
    }
    if (!is_small(e)) {
        return kg_toutcome_needs_gpu(err, "the published shape is too large for Triton's "
                                          "interpreter, and only a smaller one was asked");
    }
    json_object_set_new(e->r->environment, "scene",
                        json_string(kg_instance_name(KG_INSTANCE_PUBLISHED)));
    return ask(e, err);
}

/* Written for the published sizes: one of those that were made smaller is in its text, or no access
 * to memory has a mask. */
static bool is_special(const struct kg_evaluation *e)
{
    const struct kg_task_desc *d = &published_of(e)->desc;
    const json_t *tiny = kg_torch_run_of(e)->instance->consts;
    for (size_t i = 0; i < d->nconstants; i++) {
        int64_t was = d->constant[i].value;
        const json_t *now = json_object_get(tiny, d->constant[i].name);
        if (now && json_integer_value(now) != was && was >= LEAST_LITERAL &&
            kg_module_has_number(e->code, e->code_len, was)) {
            return true;
        }
    }
    return kg_module_unmasked(e->code, e->code_len);
}

/* A verdict that the smaller shape may have brought about: before a right answer there. */
static bool is_of_shape(const struct kg_evaluation *e)
{
    const struct kg_torch_run *run = kg_torch_run_of(e);
    const struct kg_record *r = e->r;
    bool loads = r->verdict == KG_V_COMPILE_ERROR && r->reason && strcmp(r->reason, "load") == 0;
    return run->interpret && run->instance && run->instance->kind == KG_INSTANCE_TINY &&
           run->right == 0 && !run->elsewhere &&
           (loads || r->verdict == KG_V_WRONG || r->verdict == KG_V_CRASH ||
            r->verdict == KG_V_OUT_OF_MEMORY);
}

/* As it would have been asked first; what that leaves in the record is taken back. */
static enum kg_stage_result ask_aside(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_record *r = e->r;
    enum kg_verdict verdict = r->verdict;
    const char *reason = r->reason, *message = r->message;
    size_t seen = json_array_size(r->evidence);
    bool lost = e->lost, memory = e->memory;
    enum kg_stage_result step = ask(e, err);
    while (json_array_size(r->evidence) > seen) {
        json_array_remove(r->evidence, seen);
    }
    r->verdict = verdict;
    r->reason = reason;
    r->message = message;
    e->lost = lost;
    e->memory = memory;
    return step;
}

enum kg_stage_result kg_tinterpreted_failed(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_record *r = e->r;
    const char *why = "it is written for the published shape, which is too large for Triton's "
                      "interpreter";
    if (!is_of_shape(e)) {
        return KG_STAGE_FAIL;
    }
    kg_torch_run_of(e)->elsewhere = true;
    bool small = is_small(e);
    enum kg_stage_result step = small ? ask_aside(e, err) : KG_STAGE_ERROR;
    if (small && step == KG_STAGE_ERROR) {
        if (err->code == KG_E_CANCELLED) {
            return step;
        }
        e->spoiled = e->spoiled || err->blame != KG_BLAME_CANDIDATE;
    }
    if (step == KG_STAGE_FAIL || (step == KG_STAGE_ERROR && !is_special(e))) {
        return KG_STAGE_FAIL;
    }
    if (step == KG_STAGE_PASS) {
        why = "it is right at the published shape, and fails at a smaller one, where Triton's "
              "interpreter can be asked more";
    }
    r->verdict = KG_V_NONE;
    r->reason = r->message = NULL;
    return kg_toutcome_needs_gpu(err, why);
}
