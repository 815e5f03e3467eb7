/* The state that calls leave, in a process that is timed: compared after calls that are drawn, like
 * that of the cases (judging/left_by_calls.c). */
#include "gym/torch/judging/instance.h"
#include "gym/torch/timing/torch_pairs_private.h"

#define ONE_IN 4 /* calls */

static struct kg_dj_call snapshot(const struct kg_tpairs *s, int port, enum kg_dj_side keep)
{
    struct kg_dj_call c = kg_tpairs_call_of(s, port, KG_TC_SNAPSHOT);
    c.id = KG_TORCH_LEFT_ID;
    c.flags = KG_TF_NEEDED;
    c.keep = keep;
    return c;
}

enum kg_code kg_tpairs_left_begin(struct kg_tpairs *s, struct kg_err *err)
{
    const struct kg_task_desc *d = &s->instance->desc;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    size_t n = 0;
    for (size_t i = 0; i < d->nstate; i++) {
        if (d->state[i].need == KG_TN_NEEDED) {
            leaf[n++] = d->state[i].leaf;
        }
    }
    return d->updates_state && n > 0
               ? kg_dj_case_begin(&kg_torch_of(s->w)->judge, KG_TORCH_LEFT_ID, leaf, n, err)
               : KG_OK;
}

/* Of the usual inputs: of others nothing is known of the reference's error. */
bool kg_tpairs_left_asked(struct kg_tpairs *s)
{
    const struct kg_task_desc *d = &s->instance->desc;
    return d->updates_state && d->nneeded > 0 && s->law == KG_TL_OWN && !kg_torch_tf32(s->w) &&
           kg_rng_below(&s->rng, ONE_IN) == 0;
}

enum kg_tflow kg_tpairs_left_reference(struct kg_tpairs *s, struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_call c = snapshot(s, s->instance->ref.port, KG_DJ_FLOAT);
    return kg_tpairs_ask_reference(s, &c, "reading its state", &rep, err);
}

enum kg_tflow kg_tpairs_left_candidate(struct kg_tpairs *s, struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_judgement j;
    struct kg_dj_call c = snapshot(s, s->cand->port, KG_DJ_CANDIDATE);
    enum kg_tflow flow = kg_tpairs_ask_candidate(s, &c, &rep, err);
    if (flow != KG_TFLOW_ON) {
        return flow;
    }
    if (kg_dj_compare(&kg_torch_of(s->w)->judge, KG_TORCH_LEFT_ID, false, &j, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    bool like = !(j.arity || j.shape || j.dtype);
    return like && j.compare.pass ? KG_TFLOW_ON
                                  : kg_tpairs_fail(s, KG_TC_SNAPSHOT, s->out->calls, &rep, &j);
}
