/* What calls leave besides their answer: state that they change, and inputs that they write to. The
 * reference's is kept with a case, the candidate's is compared with it. */
#include "gym/torch/judging/left_by_calls.h"

#include "base/clock.h"
#include "gym/torch/judging/case_choices.h"
#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/cases_private.h"
#include "gym/torch/judging/outcome.h"
#include "gym/torch/judging/reference.h"
#include "gym/torch/judging/state_choices.h"
#include "gym/torch/judging/state_parts.h"
#include "gym/torch/judging/torch_candidate.h"

/* --- the reference's --- */

static enum kg_code keep_part(struct kg_worker *w, struct kg_tinstance *s, const struct kg_tcase *c,
                              enum kg_dj_side side, size_t part, struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_call call = kg_tcase_call(w, s, c, side, KG_TF_LEFT);
    call.command = KG_TC_SNAPSHOT;
    kg_tstate_part(&call, c->after_id, s->desc.nleft, part);
    return kg_treference_ask(w, s, call, "reading its state", &rep, err);
}

enum kg_code kg_tcase_keep_state(struct kg_worker *w, struct kg_tinstance *s,
                                 const struct kg_tcase *c, enum kg_dj_side side, bool first,
                                 struct kg_err *err)
{
    const struct kg_task_desc *d = &s->desc;
    enum kg_code code = first ? kg_tstate_begin(w, d, c->after_id, true, err) : KG_OK;
    for (size_t part = 0; code == KG_OK && part < kg_tstate_parts(d->nleft); part++) {
        code = keep_part(w, s, c, side, part, err);
    }
    return code;
}

enum kg_code kg_tcase_bound_state(struct kg_worker *w, const struct kg_tinstance *s,
                                  struct kg_tcase *c, int64_t k, struct kg_err *err)
{
    bool all = true, applies;
    for (size_t part = 0; part < kg_tstate_parts(s->desc.nleft); part++) {
        if (kg_dj_self(&kg_torch_of(w)->judge, kg_tstate_id(c->after_id, part),
                       &(struct kg_dj_ask){.k = k, .how = kg_treference_how(s)}, &applies,
                       err) != KG_OK) {
            return err->code;
        }
        all = all && applies;
    }
    c->after = all;
    return KG_OK;
}

enum kg_code kg_tcase_near_state(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                 struct kg_err *err)
{
    struct kg_dj_report rep;
    if (c->after_id < 0) {
        return KG_OK;
    }
    if (kg_tcase_afresh(w, s, c, err) != KG_OK ||
        kg_treference_ask(w, s, kg_tcase_call(w, s, c, KG_DJ_NONE, 0), "a call", &rep, err) !=
            KG_OK ||
        kg_tcase_keep_state(w, s, c, KG_DJ_ORACLE, false, err) != KG_OK) {
        return err->code;
    }
    return kg_tcase_bound_state(w, s, c, kg_tplan_k(&s->desc, c->law), err);
}

/* The inputs that the reference writes to: as its call has left them, or as they came. */
enum kg_code kg_tcase_keep_inputs(struct kg_worker *w, struct kg_tinstance *s,
                                  const struct kg_tcase *c, bool written, struct kg_err *err)
{
    int id = written ? c->written_id : c->unwritten_id;
    struct kg_tleaf leaf[KG_TASK_INPUTS];
    struct kg_dj_report rep;
    struct kg_dj_call call =
        kg_tcase_call(w, s, c, KG_DJ_FLOAT, written ? KG_TF_INPUTS | KG_TF_LEFT : KG_TF_INPUTS);
    size_t n = 0;
    for (size_t i = 0; i < s->desc.ninputs; i++) {
        if (s->desc.input[i].written) {
            leaf[n++] = s->desc.input[i].leaf;
        }
    }
    call.id = id;
    call.command = KG_TC_SNAPSHOT;
    return kg_dj_case_begin(&kg_torch_of(w)->judge, id, leaf, n, err) == KG_OK
               ? kg_treference_ask(w, s, call, "reading its inputs", &rep, err)
               : err->code;
}

/* --- the candidate's --- */

/* Tensors that hang on a discrete choice, as a count of the largest does: right after all if one of
 * the first roundings of the reference leaves them about as far off. */
static enum kg_code ask_roundings(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                  size_t part, struct kg_toff *off, struct kg_err *err)
{
    bool may = !c->chooses_not && kg_toff_may(off);
    for (int n = 1; may && off->n > 0 && n <= KG_TCHOICES_FIRST; n++) {
        struct kg_dj_report rep = {.said = KG_TA_OK};
        if (kg_tcase_afresh(w, s, c, err) != KG_OK) {
            return err->code;
        }
        struct kg_dj_call call = kg_tcase_call(w, s, c, KG_DJ_NONE, KG_TF_ROUND_BY(n));
        if (kg_treference_ask(w, s, call, "a call, rounded otherwise", &rep, err) != KG_OK) {
            return kg_tchoices_unanswered(s, &rep, err);
        }
        may = kg_tchoices_chose(s);
        if (may && (keep_part(w, s, c, KG_DJ_CANDIDATE, part, err) != KG_OK ||
                    kg_toff_drop(w, off, err) != KG_OK)) {
            return err->code;
        }
    }
    return KG_OK;
}

/* A part that is not right: what the case lets off, and what hangs on a choice, is. */
static enum kg_code excuse(struct kg_evaluation *e, struct kg_tinstance *s, struct kg_tcase *c,
                           size_t part, struct kg_dj_judgement *j, struct kg_err *err)
{
    struct kg_toff off;
    int64_t since = kg_clock_ns();
    if (!kg_tchoices_state_may(j)) {
        return KG_OK;
    }
    enum kg_code code =
        kg_toff_find(e->w, s, c, c->after_id, part, c->law == KG_TL_RELOAD, &off, err);
    code = code == KG_OK ? ask_roundings(e->w, s, c, part, &off, err) : code;
    kg_evaluation_excuse(e, since);
    if (code == KG_OK) {
        kg_toff_judge(&off, j);
    }
    return code;
}

static enum kg_stage_result part_is(struct kg_evaluation *e, struct kg_tinstance *s,
                                    struct kg_tcase *c, size_t part, enum kg_stage stage,
                                    struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_judgement j;
    struct kg_dj_call call = {.port = kg_torch_run_of(e)->cand.port,
                              .command = KG_TC_SNAPSHOT,
                              .seed = kg_tcase_call_seed(c),
                              .flags = KG_TF_LEFT,
                              .keep = KG_DJ_CANDIDATE,
                              .deadline_ns = kg_tcandidate_deadline(e)};
    kg_tstate_part(&call, c->after_id, s->desc.nleft, part);
    enum kg_stage_result step = kg_tcandidate_ask(e, &call, stage, &rep, err);
    if (step != KG_STAGE_PASS) {
        return step;
    }
    if (kg_dj_compare(&kg_torch_of(e->w)->judge, call.id, false, &j, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    if (excuse(e, s, c, part, &j, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    return kg_toutcome_state(e, s, c, &rep, &j);
}

/* The state that a call has left, where the reference's calls change theirs. */
enum kg_stage_result kg_tleft_state(struct kg_evaluation *e, struct kg_tinstance *s,
                                    struct kg_tcase *c, enum kg_stage stage, struct kg_err *err)
{
    enum kg_stage_result step = KG_STAGE_PASS;
    size_t parts = c->after ? kg_tstate_parts(s->desc.nleft) : 0;
    for (size_t part = 0; step == KG_STAGE_PASS && part < parts; part++) {
        step = part_is(e, s, c, part, stage, err);
    }
    return step;
}

/* The copies of inputs that the reference writes to, against one of the judge's cases of them. */
static enum kg_stage_result inputs_are(struct kg_evaluation *e, const struct kg_tcase *c, int id,
                                       enum kg_stage stage, bool *same, struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_judgement j;
    struct kg_dj_call call = {.port = kg_torch_run_of(e)->cand.port,
                              .id = id,
                              .command = KG_TC_SNAPSHOT,
                              .seed = kg_tcase_call_seed(c),
                              .flags = KG_TF_INPUTS | KG_TF_LEFT,
                              .keep = KG_DJ_CANDIDATE,
                              .deadline_ns = kg_tcandidate_deadline(e)};
    enum kg_stage_result step = kg_tcandidate_ask(e, &call, stage, &rep, err);
    if (step == KG_STAGE_PASS &&
        kg_dj_compare(&kg_torch_of(e->w)->judge, id, false, &j, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    *same = step == KG_STAGE_PASS && !(j.arity || j.shape || j.dtype) && j.compare.pass;
    return step;
}

/* A candidate may write to them as the reference does, or leave them as they were. */
enum kg_stage_result kg_tleft_inputs(struct kg_evaluation *e, const struct kg_tcase *c,
                                     enum kg_stage stage, struct kg_err *err)
{
    bool same = c->written_id < 0;
    enum kg_stage_result step = KG_STAGE_PASS;
    for (int k = 0; k < 2 && !same && step == KG_STAGE_PASS; k++) {
        step = inputs_are(e, c, k == 0 ? c->written_id : c->unwritten_id, stage, &same, err);
    }
    return step == KG_STAGE_PASS && !same ? kg_toutcome_written(e, c) : step;
}
