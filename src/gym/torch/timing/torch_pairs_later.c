/* A random few of the timed calls are asked of the oracle, which takes 2 ms of the reference in
 * double each: after the last call, when the device is others' again and the candidate's process
 * may be gone. Answers wait in the judge's memory; inputs are made once more. So are the calls
 * whose inputs were set aside, which are still there. A process that is timed cannot tell which
 * calls these are, and its part in them is over. */
#include "gym/torch/judging/cases.h"
#include "gym/torch/timing/torch_pairs_private.h"

#define MOST ((uint64_t)128 << 20) /* bytes of an answer that waits */

bool kg_tpairs_may_wait(const struct kg_tpairs *s, const struct kg_dj_report *rep)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < rep->nleaves; i++) {
        bytes += rep->leaf[i].bytes;
    }
    return !s->no_room && bytes <= MOST && (kg_tpairs_is_aside(s) || !kg_tpairs_draws(s));
}

/* Of all pairs so far each is among them with the same chance. */
static size_t choose(struct kg_tpairs *s)
{
    size_t n = s->out->n;
    return n < KG_TPAIRS_FEW ? n : (size_t)kg_rng_below(&s->rng, n + 1);
}

static enum kg_tflow keep(struct kg_tpairs *s, size_t slot, const struct kg_dj_report *rep,
                          struct kg_err *err)
{
    bool kept;
    if (kg_dj_kept(&kg_torch_of(s->w)->judge, s->at, (int)slot, &kept, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    s->no_room = !kept; /* then the next ones are asked about at once */
    s->later[slot] = (struct kg_tlater){.there = kept,
                                        .at = s->at,
                                        .number = s->number,
                                        .law = s->law,
                                        .place = s->set,
                                        .call = s->out->calls,
                                        .report = *rep};
    return KG_TFLOW_ON;
}

enum kg_tflow kg_tpairs_for_later(struct kg_tpairs *s, const struct kg_dj_report *rep,
                                  struct kg_err *err)
{
    size_t slot = choose(s);
    return slot < KG_TPAIRS_FEW ? keep(s, slot, rep, err) : KG_TFLOW_ON;
}

/* Each has a place of its own, so that none drives out another. */
enum kg_tflow kg_tpairs_aside_for_later(struct kg_tpairs *s, const struct kg_dj_report *rep,
                                        bool *waits, struct kg_err *err)
{
    size_t slot = KG_TPAIRS_FEW + (size_t)(s->at - KG_TORCH_ASIDE_ID);
    enum kg_tflow flow = keep(s, slot, rep, err);
    *waits = s->later[slot].there;
    return flow;
}

/* The inputs of that call, both answers of then, and what the oracle says. */
static enum kg_tflow bring_back(struct kg_tpairs *s, const struct kg_tlater *l, bool *known,
                                struct kg_err *err)
{
    bool same = false;
    enum kg_tflow flow = l->at != KG_TORCH_TIMING_ID
                             ? kg_tpairs_return(s, l->at, l->number, l->law, err)
                             : kg_tpairs_redraw(s, l->number, l->law, l->place, err);
    if (flow == KG_TFLOW_ON &&
        kg_dj_recall(&kg_torch_of(s->w)->judge, s->at, (int)(l - s->later), &same, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    if (flow == KG_TFLOW_ON && !same) {
        kg_fail(err, KG_E_GYM, "timing: inputs of call %lld came out otherwise the second time",
                (long long)l->call);
        return KG_TFLOW_ERROR;
    }
    return flow == KG_TFLOW_ON ? kg_tpairs_self(s, known, err) : flow;
}

enum kg_tflow kg_tpairs_ask_later(struct kg_tpairs *s, struct kg_tlater *l, struct kg_err *err)
{
    struct kg_dj_judgement j;
    bool known = false;
    enum kg_tflow flow = bring_back(s, l, &known, err);
    l->there = false;
    if (flow != KG_TFLOW_ON || !known) {
        return flow;
    }
    if (kg_dj_compare(&kg_torch_of(s->w)->judge, s->at, kg_tlaw_probes(s->law), &j, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    s->out->oracle_checked++;
    if (!j.compare.pass && kg_tpairs_seen(s, &j, err) != KG_TFLOW_ON) {
        return KG_TFLOW_ERROR;
    }
    if (kg_tcase_lets_off(&s->instance->cases[s->law], &j) && kg_tpairs_sound(&l->report, &j)) {
        return KG_TFLOW_ON;
    }
    return j.compare.pass && kg_tpairs_sound(&l->report, &j)
               ? KG_TFLOW_ON
               : kg_tpairs_fail(s, KG_TC_CALL, l->call, &l->report, &j);
}
