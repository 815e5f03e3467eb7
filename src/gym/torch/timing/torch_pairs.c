/* The command of a measurement: warm-ups, blocks of pairs, the least number of verified calls. What
 * is known before the candidate: pairs_open.c. */
#include "gym/torch/timing/torch_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/trace.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/timing/torch_pairs_private.h"

#define WARM_ALONE 1   /* warm-up once the device is its alone; the others keep nobody waiting */
#define NULLS      6   /* null windows of a lease, at least; one in two calls has one */
#define WARM_LEAST 5   /* besides right answers given before: all places and streams, and one */
#define TRIES      4   /* of a pair: contexts made beside it disturb up to one in fifteen */
#define LOUD_PAIRS 8   /* loud pairs, and one in four more: beyond it the device is loud */
#define OWED_MORE  9   /* verified calls: below so many, drawn, beyond the least number */
#define OWED_MS    250 /* for calls that are owed, before pairs tell whether any are */
#define CANARIES   16  /* pairs without the candidate: one that is loud, and nobody is accused */

/* --- pairs --- */

static uint64_t bits(void *session)
{
    return kg_rng_u64(&((struct kg_tpairs *)session)->rng);
}

static bool past_deadline(const struct kg_tpairs *s)
{
    return kg_clock_ns() >= *s->deadline_ns;
}

static bool over_budget(const struct kg_tpairs *s)
{
    return kg_clock_ns() - s->started_ns >= s->opt.budget_ns || past_deadline(s);
}

/* Nothing was wrong, and nothing is known. */
static bool in_vain(enum kg_tflow flow)
{
    return flow == KG_TFLOW_LOUD || flow == KG_TFLOW_DOUBT;
}

/* A verified call that nobody times. Where the device is others' meanwhile, waiting is not the
 * candidate's time. */
static enum kg_tflow untimed(struct kg_tpairs *s, struct kg_err *err)
{
    bool cand_first = kg_rng_below(&s->rng, 2) == 1;
    const struct kg_dj *judge = &kg_torch_of(s->w)->judge;
    int64_t waited_ns = judge->waited_ns;
    bool alone = judge->held;
    enum kg_tflow flow = kg_tpairs_verified(s, cand_first, NULL, err);
    *s->deadline_ns += alone ? 0 : judge->waited_ns - waited_ns;
    kg_tpairs_watch(s, false);
    return in_vain(flow) ? KG_TFLOW_ON : flow;
}

/* One pair that counts. Those of other laws are asked in between like it, and so are further own or
 * touched ones where somebody else disturbs. */
static enum kg_tflow quiet_pair(struct kg_tpairs *s, bool cand_first, struct kg_err *err)
{
    struct kg_tpairs_result *r = s->out;
    enum kg_tflow flow;
    bool counts, again;
    int vain = 0;
    do {
        flow = kg_tpairs_verified(s, cand_first, &r->pair[r->n], err);
        counts = flow == KG_TFLOW_ON && kg_tpairs_counts(s->law);
        kg_tpairs_watch(s, true);
        bool other =
            !counts && (flow == KG_TFLOW_ON || (flow == KG_TFLOW_DOUBT && s->law != KG_TL_OWN));
        vain += in_vain(flow) && !other;
        again = other || (in_vain(flow) && vain < TRIES);
        r->others += other;
        r->repeated += again && !other;
        s->loud += flow == KG_TFLOW_LOUD;
    } while (again && !past_deadline(s));
    if (again) {
        return KG_TFLOW_ON; /* no time is left for it */
    }
    if (flow == KG_TFLOW_DOUBT) {
        return kg_tpairs_disagree(s, err);
    }
    r->n += counts;
    return flow == KG_TFLOW_ON && s->loud > LOUD_PAIRS + r->n / 4 ? KG_TFLOW_LOUD : flow;
}

static enum kg_tflow one_pair(struct kg_tpairs *s, bool cand_first, struct kg_err *err)
{
    enum kg_tflow flow = KG_TFLOW_ON;
    if (kg_rng_below(&s->rng, 16) == 0) { /* numbers of calls mean nothing */
        flow = untimed(s, err);
    }
    return flow == KG_TFLOW_ON ? quiet_pair(s, cand_first, err) : flow;
}

static enum kg_tflow one_block(struct kg_tpairs *s, size_t n, bool *more, struct kg_err *err)
{
    bool first[KG_TPAIRS_MOST];
    kg_balanced_order(bits, s, first, n);
    enum kg_tflow flow = KG_TFLOW_ON;
    for (size_t i = 0; i < n && flow == KG_TFLOW_ON; i++) {
        bool enough = s->out->n >= KG_TPAIRS_LEAST;
        if ((enough && over_budget(s)) || past_deadline(s)) {
            *more = false;
            break;
        }
        flow = one_pair(s, first[i], err);
    }
    return flow;
}

/* More than planned, where the interval is too wide after those. */
static int most_planned(const struct kg_tpairs_options *o)
{
    int more = o->widest > 0 ? o->blocks * KG_PAIRS_MORE : o->blocks;
    return more < KG_TPAIRS_BLOCKS ? more : KG_TPAIRS_BLOCKS;
}

/* The least number of verified calls of the process plus a random number more, and the least life.
 * Binding where the ratio would exceed 1: not for one that is slower by more than its interval. */
static bool owes(const struct kg_tpairs *s)
{
    struct kg_ratio ratio;
    bool slow = kg_tpairs_ratio(s, &ratio) && ratio.hi < 1;
    return !slow && (s->cand->verified + s->out->verified < s->least ||
                     kg_clock_ns() - s->born_ns < KG_TPAIRS_ALIVE_NS);
}

/* Whatever a process owes it makes up for in pairs, as long as there may be more: calls that nobody
 * times would all come late. */
static int most_blocks(const struct kg_tpairs_options *o)
{
    return o->calibrated ? 1 : KG_TPAIRS_BLOCKS;
}

static enum kg_tflow all_blocks(struct kg_tpairs *s, struct kg_err *err)
{
    const struct kg_tpairs_options *o = &s->opt;
    enum kg_tflow flow = KG_TFLOW_ON;
    bool more = true;
    for (int b = 0; b < most_blocks(o) && more && flow == KG_TFLOW_ON; b++) {
        if (!o->calibrated && b >= o->min_blocks) {
            struct kg_ratio r;
            flow = kg_tpairs_nulls(s, NULLS, err);
            if (flow != KG_TFLOW_ON) {
                break;
            }
            kg_tpairs_sum_up(s);
            bool known = kg_tpairs_ratio(s, &r);
            bool wide = known && kg_ratio_is_wide(r.lo, r.hi, o->widest);
            bool planned = b < o->blocks || (wide && b < most_planned(o));
            if ((!planned || (known && r.half_width <= o->half_width)) && !owes(s)) {
                break;
            }
        }
        flow = one_block(s, s->out->block, &more, err);
    }
    return flow == KG_TFLOW_ON ? kg_tpairs_nulls(s, NULLS, err) : flow;
}

/* Fresh out of its start: the first call compiles and tunes, which needs no lease. */
static enum kg_tflow prime(struct kg_tpairs *s, struct kg_err *err)
{
    return past_deadline(s) ? KG_TFLOW_ON : untimed(s, err);
}

static enum kg_tflow warm_up(struct kg_tpairs *s, int64_t n, struct kg_err *err)
{
    enum kg_tflow flow = KG_TFLOW_ON;
    while (s->out->calls < n && flow == KG_TFLOW_ON && !past_deadline(s)) {
        flow = untimed(s, err);
    }
    s->out->warmups = s->cand->verified + s->out->calls;
    return flow;
}

/* Calls that the process owes and the least number of pairs will leave, beside others' use of the
 * device. Who is slow owes none, so where calls take long, pairs come first. */
static enum kg_tflow owed_before(struct kg_tpairs *s, struct kg_err *err)
{
    const struct kg_tpairs_options *o = &s->opt;
    int64_t pairs = o->calibrated ? o->trials : (int64_t)o->min_blocks * o->pairs;
    int64_t n = s->least - s->cand->verified - pairs - WARM_ALONE;
    const struct kg_dj *judge = &kg_torch_of(s->w)->judge;
    int64_t until_ns = kg_clock_ns() + OWED_MS * 1000000ll - judge->waited_ns;
    enum kg_tflow flow = KG_TFLOW_ON;
    while (s->out->calls < n && flow == KG_TFLOW_ON &&
           kg_clock_ns() < until_ns + judge->waited_ns) {
        flow = warm_up(s, s->out->calls + 1, err);
    }
    return flow;
}

/* What the process still owes where no pair is left, or no time for pairs: one that seems to be
 * slow is let off once its budget is gone. */
static enum kg_tflow minimum(struct kg_tpairs *s, struct kg_err *err)
{
    struct kg_ratio ratio;
    bool fast = kg_tpairs_ratio(s, &ratio) && ratio.ratio > 1;
    enum kg_tflow flow = KG_TFLOW_ON;
    while (flow == KG_TFLOW_ON && owes(s)) {
        if (past_deadline(s) || (over_budget(s) && !fast)) {
            s->cut_short = past_deadline(s);
            break;
        }
        flow = untimed(s, err);
    }
    return flow;
}

/* --- one run --- */

/* One that does not count: page tables, clocks. */
static enum kg_tflow first_null(struct kg_tpairs *s, struct kg_err *err)
{
    bool loud;
    enum kg_tflow flow = kg_tpairs_null_call(s, &loud, err);
    s->nnull = 0;
    return flow;
}

static enum kg_tflow course(struct kg_tpairs *s, struct kg_err *err)
{
    int64_t warm = s->opt.warmups - s->cand->verified;
    warm = (warm > WARM_LEAST ? warm : WARM_LEAST) + (int64_t)kg_rng_below(&s->rng, 6);
    enum kg_tflow flow = prime(s, err);
    kg_tpairs_one_core(s);
    flow = flow == KG_TFLOW_ON ? warm_up(s, warm - WARM_ALONE, err) : flow;
    flow = flow == KG_TFLOW_ON ? owed_before(s, err) : flow;
    if (flow == KG_TFLOW_ON && kg_tpairs_take_lease(s, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    kg_pyrunner_rest_anew(&s->cand->runner); /* what it had to build is built */
    int64_t since = s->started_ns = kg_clock_ns();
    flow = flow == KG_TFLOW_ON ? warm_up(s, s->out->calls + WARM_ALONE, err) : flow;
    flow = flow == KG_TFLOW_ON ? first_null(s, err) : flow;
    kg_trace_span(since, "alone", "warm-ups");
    since = kg_clock_ns();
    flow = flow == KG_TFLOW_ON ? all_blocks(s, err) : flow;
    kg_trace_span(since, "alone", "pairs");
    kg_tpairs_give_lease(s); /* what follows is not timed */
    return flow == KG_TFLOW_ON ? minimum(s, err) : flow;
}

static void result_init(struct kg_tpairs_result *r)
{
    memset(r, 0, sizeof *r);
    r->status = KG_TPAIRS_NOT_MEASURED;
    r->candidate_ns = r->reference_ns = r->overhead_ns = -1;
    r->candidate_trimmed_ns = r->reference_trimmed_ns = -1;
    r->cv = NAN;
}

enum kg_code kg_tpairs_run(struct kg_tpairs *s, struct kg_trunner *candidate,
                           struct kg_tpairs_result *out, struct kg_err *err)
{
    const struct kg_tpairs_options *o = &s->opt;
    result_init(out);
    out->block = (size_t)(o->calibrated ? o->trials : o->pairs);
    out->pair = calloc(out->block * (size_t)most_blocks(o), sizeof *out->pair);
    if (!out->pair) {
        return kg_fail(err, KG_E_LIMIT, "timing: no memory for pairs");
    }
    s->out = out;
    s->cand = candidate;
    s->cut_short = false;
    s->least = KG_TPAIRS_VERIFIED + (int64_t)kg_rng_below(&s->rng, OWED_MORE);
    s->seen = 0;
    s->loud = 0;
    s->no_room = false;
    for (size_t i = 0; i < KG_DJ_KEPT_SLOTS; i++) {
        s->later[i].there = false;
    }
    s->born_ns = kg_clock_ns();
    enum kg_tflow flow = course(s, err);
    out->alive_ns = kg_clock_ns() - s->born_ns;
    out->worked_between_ns = candidate->runner.rest.worked_ns;
    out->stops = candidate->runner.rest.stops;
    kg_tpairs_give_lease(s);
    if (flow == KG_TFLOW_ON) {
        kg_tpairs_conclude(s);
    } else if (flow == KG_TFLOW_LOST) {
        out->status = KG_TPAIRS_LOST;
        snprintf(out->why, sizeof out->why, "inputs that the reference refuses end a process");
    } else if (flow != KG_TFLOW_ERROR) {
        out->status = flow == KG_TFLOW_LOUD ? KG_TPAIRS_LOUD : KG_TPAIRS_FAILED;
    }
    s->out = NULL;
    s->cand = NULL;
    return flow == KG_TFLOW_ERROR ? err->code : KG_OK;
}

enum kg_code kg_tpairs_oracle(struct kg_tpairs *s, struct kg_tpairs_result *out, struct kg_err *err)
{
    const struct kg_dj *judge = &kg_torch_of(s->w)->judge;
    int64_t waited_ns = judge->waited_ns;
    enum kg_tflow flow = KG_TFLOW_ON;
    s->out = out;
    for (size_t i = 0; i < KG_DJ_KEPT_SLOTS && flow == KG_TFLOW_ON; i++) {
        struct kg_tlater *l = &s->later[i];
        kg_tspare_look(s->w);
        flow = l->there ? kg_tpairs_ask_later(s, l, err) : flow;
    }
    s->out = NULL;
    *s->deadline_ns += judge->waited_ns - waited_ns;
    out->status = flow == KG_TFLOW_FAILED ? KG_TPAIRS_FAILED : out->status;
    return flow == KG_TFLOW_ERROR ? err->code : KG_OK;
}

void kg_tpairs_result_deinit(struct kg_tpairs_result *r)
{
    free(r->pair);
    r->pair = NULL;
}

enum kg_code kg_tpairs_canary(struct kg_tpairs *s, bool *loud, struct kg_err *err)
{
    *loud = false;
    enum kg_tflow flow = kg_tpairs_take_lease(s, err) == KG_OK ? KG_TFLOW_ON : KG_TFLOW_ERROR;
    for (int i = 0; i < CANARIES && flow == KG_TFLOW_ON; i++) {
        struct kg_dj_report rep;
        bool null = false;
        flow = kg_tpairs_own(s, &rep, err);
        flow = flow == KG_TFLOW_ON ? kg_tpairs_null_call(s, &null, err) : flow;
        *loud = *loud || null || (flow == KG_TFLOW_ON && rep.loud);
    }
    kg_tpairs_give_lease(s);
    return flow == KG_TFLOW_ON ? KG_OK : err->code;
}
