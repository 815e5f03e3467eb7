/* Inputs that are drawn before the device is held, for calls that come while it is. The reference
 * draws those of the probe inside the own range, and the oracle says whether an answer to them is
 * within the probe's bound. Both take 5 to 7 ms, for which nobody else has to wait: such calls are
 * in one measurement out of two or three, once or twice. */
#include "base/clock.h"
#include "gym/torch/timing/torch_pairs_private.h"

bool kg_tpairs_is_aside(const struct kg_tpairs *s)
{
    return s->at != KG_TORCH_TIMING_ID;
}

int *kg_tpairs_place(struct kg_tpairs *s)
{
    return kg_tpairs_is_aside(s) ? &s->aside[s->at - KG_TORCH_ASIDE_ID].place : &s->place;
}

bool kg_tpairs_take_aside(struct kg_tpairs *s)
{
    s->at = KG_TORCH_TIMING_ID;
    for (int i = 0; i < KG_TORCH_ASIDE && s->law == KG_TL_INSIDE; i++) {
        if (s->aside[i].there) {
            s->aside[i].there = false;
            s->at = KG_TORCH_ASIDE_ID + i;
            s->number = s->aside[i].number;
            return true;
        }
    }
    return false;
}

/* A case of the judge's, which stays for the next measurements of this instance. *there false:
 * there is no room for it. */
static enum kg_tflow begin(struct kg_tpairs *s, int i, bool *there, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(s->w);
    *there = true;
    if (t->asides <= i) {
        *there = kg_tpairs_begin_case(s, s->at, err) == KG_OK;
        if (!*there && err->code == KG_E_LIMIT) {
            *err = (struct kg_err)KG_ERR_INIT;
            return KG_TFLOW_ON;
        }
        t->asides = *there ? i + 1 : i;
    }
    return *there && kg_dj_case_learnt(&t->judge, s->at, KG_TORCH_TIMING_ID, err) == KG_OK
               ? KG_TFLOW_ON
               : KG_TFLOW_ERROR;
}

/* *more false: there are no more, for want of room, or because the reference refuses. */
static enum kg_tflow lay_one(struct kg_tpairs *s, int i, bool *more, struct kg_err *err)
{
    struct kg_taside *a = &s->aside[i];
    s->at = KG_TORCH_ASIDE_ID + i;
    enum kg_tflow flow = begin(s, i, more, err);
    if (flow != KG_TFLOW_ON || !*more) {
        return flow;
    }
    flow = kg_tpairs_fill(s, s->cases++, err);
    if (kg_tpairs_refuses(s, flow, err)) {
        *err = (struct kg_err)KG_ERR_INIT;
        s->out->refused++;
        s->refused[s->law]++;
        *more = false;
        return KG_TFLOW_ON;
    }
    *a = (struct kg_taside){.there = flow == KG_TFLOW_ON, .number = s->number, .place = -1};
    return flow;
}

/* Where the judge makes such inputs itself, they cost nothing. */
static bool pays(struct kg_tpairs *s)
{
    s->at = KG_TORCH_ASIDE_ID;
    return kg_torch_of(s->w)->memory.rung == KG_TM_RESIDENT && kg_tpairs_asks_inside(s) &&
           kg_tpairs_draws(s);
}

enum kg_tflow kg_tpairs_lay_aside(struct kg_tpairs *s, struct kg_err *err)
{
    const uint64_t number = s->number, seed = s->seed;
    const enum kg_tlaw law = s->law;
    const int at = s->at;
    enum kg_tflow flow = KG_TFLOW_ON;
    int64_t took_ns = kg_clock_ns();
    s->law = KG_TL_INSIDE;
    bool more = took_ns < *s->deadline_ns && pays(s);
    for (int i = 0; i < KG_TORCH_ASIDE && more && flow == KG_TFLOW_ON; i++) {
        flow = lay_one(s, i, &more, err);
    }
    s->number = number;
    s->seed = seed;
    s->law = law;
    s->at = at;
    took_ns = kg_clock_ns() - took_ns;
    *s->deadline_ns += took_ns;
    s->born_ns += took_ns;
    return flow;
}
