/* A random few of the timed calls are asked of the oracle, which takes 2 ms of the reference in
 * double each: after the last call, when the device is others' again and the candidate's process
 * may be gone. Answers wait in the judge's memory; inputs are made once more. A process that is
 * timed cannot tell which calls these are, and its part in them is over. */
#include "gym/torch/judging/cases.h"
#include "gym/torch/timing/torch_pairs_private.h"

#define CASE KG_TORCH_TIMING_ID
#define MOST ((uint64_t)128 << 20) /* bytes of an answer that waits */

bool kg_tpairs_may_wait(const struct kg_tpairs *s, const struct kg_dj_report *rep)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < rep->nleaves; i++) {
        bytes += rep->leaf[i].bytes;
    }
    return !s->no_room && bytes <= MOST && !kg_tpairs_draws(s);
}

/* Of all pairs so far each is among them with the same chance. */
static size_t choose(struct kg_tpairs *s)
{
    size_t n = s->out->n;
    return n < KG_DJ_KEPT_SLOTS ? n : (size_t)kg_rng_below(&s->rng, n + 1);
}

enum kg_tflow kg_tpairs_for_later(struct kg_tpairs *s, const struct kg_dj_report *rep,
                                  struct kg_err *err)
{
    size_t slot = choose(s);
    bool kept;
    if (slot >= KG_DJ_KEPT_SLOTS) {
        return KG_TFLOW_ON;
    }
    if (kg_dj_kept(&kg_torch_of(s->w)->judge, CASE, (int)slot, &kept, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    s->no_room = !kept; /* then the next ones are asked about at once */
    s->later[slot] = (struct kg_tlater){.there = kept,
                                        .number = s->cases - 1,
                                        .law = s->law,
                                        .place = s->set,
                                        .call = s->out->calls,
                                        .report = *rep};
    return KG_TFLOW_ON;
}

/* The inputs of that call, both answers of then, and what the oracle says. */
static enum kg_tflow bring_back(struct kg_tpairs *s, const struct kg_tlater *l, bool *known,
                                struct kg_err *err)
{
    bool same = false;
    enum kg_tflow flow = kg_tpairs_redraw(s, l->number, l->law, l->place, err);
    if (flow == KG_TFLOW_ON &&
        kg_dj_recall(&kg_torch_of(s->w)->judge, CASE, (int)(l - s->later), &same, err) != KG_OK) {
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
    if (kg_dj_compare(&kg_torch_of(s->w)->judge, CASE, false, &j, err) != KG_OK) {
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
