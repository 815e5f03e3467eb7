/* KernelBench's own procedure: parameters, trials and closeness as that project has them. */
#include "gym/torch/kernelbench/kernelbench_protocol.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "gym/kernelbench/tolerance.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/outcome.h"
#include "gym/torch/judging/reference.h"
#include "gym/torch/judging/torch_candidate.h"

/* --- which one --- */

const struct kg_torch_protocol *kg_torch_protocol(const struct kg_worker *w)
{
    static const struct kg_torch_protocol own = {.as_there = false};
    static const struct kg_torch_protocol theirs = {
        .as_there = true, .seed = KG_TKB_SEED, .full = kg_tkb_full, .timing = kg_tkb_timing};
    return w->config.protocol == KG_PROTOCOL_KERNELBENCH ? &theirs : &own;
}

/* --- one set of inputs --- */

struct kg_dj_call kg_tkb_call(const struct kg_evaluation *e, const struct kg_tinstance *s, int port,
                              enum kg_tcommand command, uint64_t seed)
{
    const struct kg_config *c = &e->w->config;
    double limit = c->deadline_run + c->torch_first_call;
    return (struct kg_dj_call){.port = port,
                               .id = s->cases[KG_TL_OWN].id,
                               .command = command,
                               .seed = seed,
                               .deadline_ns = kg_clock_ns() + (int64_t)(limit * 1e9)};
}

enum kg_code kg_tkb_draw(struct kg_evaluation *e, struct kg_tinstance *s, uint64_t seed,
                         struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(e->w)->judge;
    const struct kg_task_desc *d = &s->desc;
    struct kg_dj_call call = kg_tkb_call(e, s, s->ref.port, KG_TC_DRAW, seed);
    struct kg_tleaf leaf[KG_TASK_INPUTS];
    struct kg_dj_report rep;
    int id = call.id;
    call.id = -1;
    if (kg_treference_ask(e->w, s, call, "drawing inputs", &rep, err) != KG_OK) {
        return err->code;
    }
    if (rep.nleaves != d->ninputs) {
        return kg_fail(err, KG_E_PROBLEM, "%s: get_inputs gave %zu tensors, and now %u",
                       kg_torch_of(e->w)->problem->path, d->ninputs, rep.nleaves);
    }
    for (size_t i = 0; i < d->ninputs; i++) {
        leaf[i] = d->input[i].leaf;
    }
    enum kg_code code = kg_dj_case_begin(judge, id, leaf, d->ninputs, err);
    for (size_t i = 0; i < d->ninputs && code == KG_OK; i++) {
        code = kg_dj_case_adopt(judge, id, (int)i, s->ref.port, (int)i, err);
    }
    return code;
}

enum kg_code kg_tkb_expect(struct kg_evaluation *e, struct kg_tinstance *s, uint64_t seed,
                           enum kg_dj_side keep, struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_call call = kg_tkb_call(e, s, s->ref.port, KG_TC_BIND, seed);
    if (kg_treference_ask(e->w, s, call, "taking its inputs", &rep, err) != KG_OK) {
        return err->code;
    }
    call.command = KG_TC_CALL;
    call.keep = keep;
    return kg_treference_ask(e->w, s, call, "a call", &rep, err);
}

/* --- trials --- */

/* One after the other, as there; the second draws other numbers than the first, where they draw. */
static enum kg_stage_result both_answer(struct kg_evaluation *e, struct kg_tinstance *s,
                                        uint64_t seed, struct kg_dj_report *rep, struct kg_err *err)
{
    int64_t since = kg_clock_ns();
    if (kg_tkb_draw(e, s, seed, err) != KG_OK ||
        kg_tkb_expect(e, s, seed, KG_DJ_FLOAT, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    kg_evaluation_excuse(e, since);
    struct kg_dj_call call = kg_tkb_call(e, s, kg_torch_run_of(e)->cand.port, KG_TC_BIND, seed + 1);
    call.deadline_ns = kg_tcandidate_deadline(e);
    enum kg_stage_result step = kg_tcandidate_ask(e, &call, KG_ST_FULL, rep, err);
    if (step == KG_STAGE_PASS) {
        call.command = KG_TC_CALL;
        call.keep = KG_DJ_CANDIDATE;
        call.deadline_ns = kg_tcandidate_deadline(e);
        step = kg_tcandidate_ask(e, &call, KG_ST_FULL, rep, err);
    }
    kg_torch_run_of(e)->called = true;
    return step;
}

double kg_tkb_tolerance(const struct kg_evaluation *e)
{
    const struct kg_config *c = &e->w->config;
    return c->kernelbench_tolerance > 0 ? c->kernelbench_tolerance : kg_kb_tolerance(c->precision);
}

struct trials {
    json_t *close, *max, *mean; /* lists, of those that were compared */
    int64_t passed;
    double tolerance;
};

bool kg_tkb_of_one_form(const struct kg_dj_judgement *j)
{
    return !(j->arity || j->structure || j->shape || j->dtype || j->device);
}

/* Numbers decide, and form; what a call did to memory is not looked at there. The first failure is
 * the verdict. */
static enum kg_stage_result one_trial(struct kg_evaluation *e, struct kg_tinstance *s,
                                      uint64_t seed, struct trials *t, struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_judgement j;
    struct kg_tcase c = {.law = KG_TL_OWN};
    enum kg_stage_result step = both_answer(e, s, seed, &rep, err);
    if (step != KG_STAGE_PASS) {
        return step;
    }
    if (kg_dj_compare_close(&kg_torch_of(e->w)->judge, s->cases[KG_TL_OWN].id, t->tolerance, &j,
                            err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    e->compared += j.compare.n;
    j.alias = false;
    rep.late_write = rep.input_modified = rep.guard_hit = rep.stale = false;
    if (kg_tkb_of_one_form(&j)) {
        json_array_append_new(t->close, json_boolean(j.compare.pass));
        json_array_append_new(t->max, kg_json_real(j.compare.max_difference));
        json_array_append_new(t->mean, kg_json_real(j.compare.mean_difference));
        t->passed += j.compare.pass;
    }
    if (e->r->verdict == KG_V_NONE || !kg_tkb_of_one_form(&j)) {
        return kg_toutcome_case(e, s, &c, &rep, &j);
    }
    return j.compare.pass ? KG_STAGE_PASS : KG_STAGE_FAIL;
}

/* A wrong number does not end the trials; anything else does. */
static enum kg_stage_result all_trials(struct kg_evaluation *e, struct kg_tinstance *s,
                                       const json_t *seeds, struct trials *t, struct kg_err *err)
{
    enum kg_stage_result worst = KG_STAGE_PASS;
    for (size_t i = 0; i < json_array_size(seeds); i++) {
        size_t compared = json_array_size(t->close);
        if (*e->w->cancelled) {
            kg_fail(err, KG_E_CANCELLED, "interrupted");
            return KG_STAGE_ERROR;
        }
        uint64_t seed = (uint64_t)json_integer_value(json_array_get(seeds, i));
        enum kg_stage_result step = one_trial(e, s, seed, t, err);
        worst = step == KG_STAGE_PASS ? worst : step;
        if (step == KG_STAGE_ERROR || json_array_size(t->close) == compared) {
            break;
        }
    }
    return worst;
}

/* Afresh for each candidate: what its calls leave in a reference is nobody else's. */
static enum kg_code begin(struct kg_evaluation *e, struct kg_tinstance *s, json_t **reply,
                          struct kg_err *err)
{
    int64_t n = e->w->config.kernelbench_trials, since = kg_clock_ns();
    *reply = NULL;
    if (kg_tinstance_open(e->w, s, err) != KG_OK ||
        kg_tinstance_rebuild(e->w, s, n, reply, err) != KG_OK) {
        return err->code;
    }
    const json_t *seeds = json_object_get(*reply, "seeds");
    bool good = json_array_size(seeds) == (size_t)n;
    for (size_t i = 0; good && i < (size_t)n; i++) {
        const json_t *seed = json_array_get(seeds, i);
        good = json_is_integer(seed) && json_integer_value(seed) >= 0;
    }
    kg_evaluation_excuse(e, since);
    return good ? KG_OK
                : kg_fail(err, KG_E_PROBLEM, "%s: the reference gives no seeds of trials",
                          kg_torch_of(e->w)->problem->path);
}

static void tell(struct kg_evaluation *e, const struct trials *t)
{
    struct kg_record *r = e->r;
    kg_record_evidence(r, "trials",
                       json_pack("{s:I, s:I, s:f, s:O, s:O, s:O}", "planned",
                                 (json_int_t)e->w->config.kernelbench_trials, "passed",
                                 (json_int_t)t->passed, "tolerance", t->tolerance, "close",
                                 t->close, "max_difference", t->max, "mean_difference", t->mean));
    if (r->verdict == KG_V_WRONG && strcmp(r->reason, "precision") == 0) {
        r->reason = "value"; /* that word is about another bound */
    }
}

enum kg_stage_result kg_tkb_full(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_tinstance *s = kg_torch_run_of(e)->instance;
    json_t *reply;
    struct trials t = {.tolerance = kg_tkb_tolerance(e)};
    enum kg_stage_result step = kg_tcandidate_start(e, s, KG_ST_FULL, err);
    if (step != KG_STAGE_PASS) {
        return step;
    }
    t.close = json_array();
    t.max = json_array();
    t.mean = json_array();
    step = begin(e, s, &reply, err) == KG_OK
               ? all_trials(e, s, json_object_get(reply, "seeds"), &t, err)
               : KG_STAGE_ERROR;
    if (step != KG_STAGE_ERROR) {
        tell(e, &t);
    }
    json_decref(reply);
    json_decref(t.close);
    json_decref(t.max);
    json_decref(t.mean);
    return step;
}
