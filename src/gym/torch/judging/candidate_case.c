/* One case through candidate and judge. */
#include "gym/torch/judging/torch_candidate.h"

#include <string.h>

#include "base/clock.h"
#include "gym/torch/judging/case_choices.h"
#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/left_by_calls.h"
#include "gym/torch/judging/outcome.h"
#include "gym/torch/judging/precision.h"
#include "gym/torch/judging/state_parts.h"
#include "gym/torch/judging/torch_replay.h"
#include "gym/torch/runner/torch_device.h"

/* The weakest that its answers were compared with. */
static void note_oracle(struct kg_evaluation *e, const struct kg_tinstance *s,
                        const struct kg_tcase *c)
{
    enum kg_toracle oracle = kg_tcase_oracle(s, c);
    if (oracle <= kg_torch_run_of(e)->oracle) {
        return;
    }
    kg_torch_run_of(e)->oracle = oracle;
    json_object_set_new(e->r->environment, "oracle", json_string(kg_toracle_name(oracle)));
    if (oracle != KG_TO_FP64) {
        json_t *seen = json_pack("{s:s}", "kind", kg_toracle_name(oracle));
        if (s->single) {
            json_object_set_new(seen, "why", kg_json_text(s->why, strlen(s->why)));
        }
        kg_record_evidence(e->r, "oracle", seen);
    }
}

/* A call on the inputs of a case, which the candidate takes anew. */
static struct kg_dj_call call_of(struct kg_evaluation *e, const struct kg_tcase *c, uint32_t flags)
{
    return (struct kg_dj_call){.port = kg_torch_run_of(e)->cand.port,
                               .id = c->id,
                               .command = KG_TC_CALL,
                               .seed = kg_tcase_call_seed(c),
                               .flags = KG_TF_ANEW | flags,
                               .keep = KG_DJ_CANDIDATE,
                               .deadline_ns = kg_tcandidate_deadline(e)};
}

/* Is the candidate asked for an answer that is ready on its caller's stream? Twice in each process
 * that has been called, once in both ways, and now and then later. */
static bool asks_order(struct kg_evaluation *e, enum kg_stage stage, uint32_t *flags)
{
    struct kg_torch *t = kg_torch_of(e->w);
    struct kg_torch_run *run = kg_torch_run_of(e);
    uint64_t draw = kg_rng_below(&e->rng, 6);
    bool streams = t->judge.facts.clock || t->test.orders_anywhere;
    if (!streams || stage != KG_ST_FULL || !run->called || kg_torch_protocol(e->w)->as_there ||
        (run->ordered >= 2 && draw > 1)) {
        return false;
    }
    run->late = run->ordered == 1 ? !run->late : draw % 2 == 1;
    run->ordered++;
    *flags = KG_TF_ORDER | (run->late ? KG_TF_LATE : 0);
    return true;
}

/* The answer that it gave to a case. Where it hangs on rounding, the reference is asked again. */
static enum kg_code compare(struct kg_evaluation *e, struct kg_tinstance *s, struct kg_tcase *c,
                            struct kg_dj_judgement *j, struct kg_err *err)
{
    int64_t since = kg_clock_ns();
    enum kg_code code =
        kg_dj_compare(&kg_torch_of(e->w)->judge, c->id, kg_tlaw_probes(c->law), j, err);
    if (code == KG_OK && !j->compare.pass && !kg_tcase_lets_off(c, j)) {
        code = kg_tchoices_seen(e->w, s, c, j, err);
        kg_evaluation_excuse(e, since);
    }
    return code;
}

/* A call on inputs that the candidate has not had: its memory holds no answer to them. *right: its
 * answer was ready. State is as before afterwards. */
static enum kg_stage_result in_order(struct kg_evaluation *e, struct kg_tinstance *s,
                                     struct kg_tcase *c, enum kg_stage stage, uint32_t flags,
                                     bool *right, struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_judgement j;
    struct kg_dj_call call = call_of(e, c, flags);
    enum kg_stage_result step = kg_tcandidate_ask(e, &call, stage, &rep, err);
    if (step != KG_STAGE_PASS) {
        return step;
    }
    if (compare(e, s, c, &j, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    *right = (j.compare.pass || kg_tcase_lets_off(c, &j)) && kg_tprecision_holds(e->w, c, &j);
    return s->desc.updates_state ? kg_tcandidate_state(e, s, c->law, stage, err) : step;
}

enum kg_code kg_tcandidate_inputs(struct kg_evaluation *e, struct kg_tinstance *s, enum kg_tlaw law,
                                  struct kg_tcase **c, struct kg_err *err)
{
    int64_t since = kg_clock_ns();
    enum kg_code code = kg_tcase_ready(e->w, s, law, c, err);
    bool late = code == KG_E_PROBLEM && err->accident;
    bool starved = code == KG_E_HOST && err->strained && kg_torch_of(e->w)->beside;
    if (late || starved) {
        kg_tcandidate_stop(e);
        *err = (struct kg_err)KG_ERR_INIT;
        code = kg_tcase_ready(e->w, s, law, c, err);
    }
    kg_evaluation_excuse(e, since);
    return code;
}

enum kg_stage_result kg_tcandidate_case(struct kg_evaluation *e, struct kg_tinstance *s,
                                        enum kg_tlaw law, enum kg_stage stage, struct kg_err *err)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    struct kg_tcase *c;
    struct kg_dj_report rep;
    struct kg_dj_judgement j;
    uint32_t flags = 0;
    bool ready = true; /* the answer, on its caller's stream */
    if (kg_tcandidate_inputs(e, s, law, &c, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    json_array_append_new(kg_torch_run_of(e)->asked, kg_treplay_case(s, c));
    if (!c->applies) {
        return KG_STAGE_PASS;
    }
    c->asked++;
    c->ever++;
    note_oracle(e, s, c);
    enum kg_stage_result step = kg_tcandidate_start(e, s, stage, err);
    if (step == KG_STAGE_PASS) {
        step = kg_tcandidate_state(e, s, law, stage, err);
    }
    if (step == KG_STAGE_PASS && asks_order(e, stage, &flags)) {
        step = in_order(e, s, c, stage, flags, &ready, err);
    }
    struct kg_dj_call call = call_of(e, c, 0);
    call.building = run->called ? NULL : &run->cand.runner.wire->building;
    if (step == KG_STAGE_PASS) {
        step = kg_tcandidate_ask(e, &call, stage, &rep, err);
    }
    if (step != KG_STAGE_PASS) {
        return step;
    }
    run->called = true;
    if (compare(e, s, c, &j, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    e->compared += j.compare.n;
    j.compare.pass = j.compare.pass || kg_tcase_lets_off(c, &j);
    j.compare.pass = j.compare.pass && kg_tprecision_holds(e->w, c, &j);
    step = kg_toutcome_case(e, s, c, &rep, &j);
    run->right |= step == KG_STAGE_PASS ? 1u << s->kind : 0;
    run->cand.verified += step == KG_STAGE_PASS && s->kind == KG_INSTANCE_PUBLISHED;
    step = step == KG_STAGE_PASS ? kg_tleft_inputs(e, c, stage, err) : step;
    step = step == KG_STAGE_PASS ? kg_tleft_state(e, s, c, stage, err) : step;
    return step == KG_STAGE_PASS && !ready ? kg_toutcome_unordered(e, s, c) : step;
}
