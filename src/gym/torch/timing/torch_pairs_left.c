/* The state that calls leave, in a process that is timed: compared after calls that are drawn, like
 * that of the cases (judging/left_by_calls.c). */
#include "gym/torch/judging/case_choices.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/state_choices.h"
#include "gym/torch/judging/state_parts.h"
#include "gym/torch/timing/torch_pairs_private.h"

#define ONE_IN 4 /* calls */

static size_t parts(const struct kg_tpairs *s)
{
    return kg_tstate_parts(s->instance->desc.nleft);
}

static struct kg_dj_call snapshot(const struct kg_tpairs *s, int port, enum kg_dj_side keep,
                                  size_t part)
{
    struct kg_dj_call c = kg_tpairs_call_of(s, port, KG_TC_SNAPSHOT);
    c.flags = KG_TF_LEFT;
    c.keep = keep;
    kg_tstate_part(&c, KG_TORCH_LEFT_ID, s->instance->desc.nleft, part);
    return c;
}

enum kg_code kg_tpairs_left_begin(struct kg_tpairs *s, struct kg_err *err)
{
    const struct kg_task_desc *d = &s->instance->desc;
    return d->nleft > 0 ? kg_tstate_begin(s->w, d, KG_TORCH_LEFT_ID, true, err) : KG_OK;
}

/* Of the usual inputs: of others nothing is known of the reference's error. */
bool kg_tpairs_left_asked(struct kg_tpairs *s)
{
    const struct kg_task_desc *d = &s->instance->desc;
    return d->nleft > 0 && s->law == KG_TL_OWN && !kg_torch_tf32(s->w) &&
           kg_rng_below(&s->rng, ONE_IN) == 0;
}

enum kg_tflow kg_tpairs_left_reference(struct kg_tpairs *s, struct kg_err *err)
{
    struct kg_dj_report rep;
    enum kg_tflow flow = KG_TFLOW_ON;
    for (size_t part = 0; flow == KG_TFLOW_ON && part < parts(s); part++) {
        struct kg_dj_call c = snapshot(s, s->instance->ref.port, KG_DJ_FLOAT, part);
        flow = kg_tpairs_ask_reference(s, &c, "reading its state", &rep, err);
    }
    return flow;
}

/* As ask_roundings of left_by_calls.c. */
static enum kg_tflow ask_roundings(struct kg_tpairs *s, size_t part, struct kg_toff *off,
                                   struct kg_err *err)
{
    bool may = kg_toff_may(off);
    for (int n = 1; may && off->n > 0 && n <= KG_TCHOICES_FIRST; n++) {
        struct kg_dj_report rep = {.said = KG_TA_OK};
        if (kg_tpairs_rounded(s, n, KG_DJ_NONE, &rep, err) != KG_TFLOW_ON) {
            return kg_tchoices_unanswered(s->instance, &rep, err) == KG_OK ? KG_TFLOW_ON
                                                                           : KG_TFLOW_ERROR;
        }
        may = kg_tchoices_chose(s->instance);
        struct kg_dj_call left = snapshot(s, s->instance->ref.port, KG_DJ_CANDIDATE, part);
        if (may &&
            (kg_tpairs_ask_reference(s, &left, "reading its state", &rep, err) != KG_TFLOW_ON ||
             kg_toff_drop(s->w, off, err) != KG_OK)) {
            return KG_TFLOW_ERROR;
        }
    }
    return KG_TFLOW_ON;
}

/* As excuse of left_by_calls.c. */
static enum kg_tflow excuse(struct kg_tpairs *s, size_t part, struct kg_dj_judgement *j,
                            struct kg_err *err)
{
    struct kg_toff off;
    if (!kg_tchoices_state_may(j)) {
        return KG_TFLOW_ON;
    }
    if (kg_toff_find(s->w, s->instance, NULL, KG_TORCH_LEFT_ID, part, 0, &off, err) != KG_OK ||
        ask_roundings(s, part, &off, err) != KG_TFLOW_ON) {
        return KG_TFLOW_ERROR;
    }
    kg_toff_judge(&off, j);
    return KG_TFLOW_ON;
}

static enum kg_tflow part_is(struct kg_tpairs *s, size_t part, struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_judgement j;
    struct kg_dj_call c = snapshot(s, s->cand->port, KG_DJ_CANDIDATE, part);
    enum kg_tflow flow = kg_tpairs_ask_candidate(s, &c, &rep, err);
    if (flow != KG_TFLOW_ON) {
        return flow;
    }
    if (kg_dj_compare(&kg_torch_of(s->w)->judge, c.id, false, &j, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    if (excuse(s, part, &j, err) != KG_TFLOW_ON) {
        return KG_TFLOW_ERROR;
    }
    bool like = !(j.arity || j.shape || j.dtype);
    return like && j.compare.pass ? KG_TFLOW_ON
                                  : kg_tpairs_fail(s, KG_TC_SNAPSHOT, s->out->calls, &rep, &j);
}

enum kg_tflow kg_tpairs_left_candidate(struct kg_tpairs *s, struct kg_err *err)
{
    enum kg_tflow flow = KG_TFLOW_ON;
    for (size_t part = 0; flow == KG_TFLOW_ON && part < parts(s); part++) {
        flow = part_is(s, part, err);
    }
    return flow;
}
