/* One fresh process pair, from start to stop. */
#include <stdlib.h>

#include "base/clock.h"
#include "gym/timing/session.h"

/* One pair: the same timed inputs for both sides, on the same buffers. Each side makes a primer
 * call on other inputs, then a refill, then the timed call. Set and law of either are drawn as for
 * any call. Both primers have the same inputs, so one answer of the reference verifies the
 * candidate's.
 *
 * The judge holds one answer of the reference at a time. So with the reference first, its answer to
 * the timed inputs is computed once more after the candidate's timed call. With the candidate
 * first, its answer to the primer's inputs is computed before. Both orders make the same number of
 * calls, and the same steps come directly before a timed call: that side's primer, take, fill. The
 * primer is compared after the timed call, because a comparison walks through the caches. Done
 * before the candidate's timed call only, it cost that side 1 to 3 us. */
struct pair_plan {
    struct kg_case primer, timed;
    bool cand_first, oracle;
};

static enum kg_flow ask_and_take(struct kg_session *s, const struct kg_case *c, enum kg_side side,
                                 int64_t *ns, struct kg_err *err)
{
    enum kg_flow flow = kg_session_ask(s, c, side, ns, err);
    return flow == KG_FLOW_ON ? kg_session_take(s, c, side, err) : flow;
}

static enum kg_flow side_of_reference(struct kg_session *s, const struct pair_plan *p, int64_t *ns,
                                      struct kg_err *err)
{
    int64_t untimed;
    enum kg_flow flow = ask_and_take(s, &p->primer, KG_SIDE_FLOAT, &untimed, err);
    if (flow != KG_FLOW_ON) {
        return flow;
    }
    flow = kg_session_ask(s, &p->timed, KG_SIDE_FLOAT, ns, err);
    if (flow == KG_FLOW_ON && p->cand_first) {
        flow = kg_session_take(s, &p->timed, KG_SIDE_FLOAT, err);
    }
    return flow;
}

static enum kg_flow side_of_candidate(struct kg_session *s, const struct pair_plan *p, int64_t *ns,
                                      struct kg_err *err)
{
    int64_t untimed;
    enum kg_flow flow = ask_and_take(s, &p->primer, KG_SIDE_CANDIDATE, &untimed, err);
    flow = flow == KG_FLOW_ON ? kg_session_ask(s, &p->timed, KG_SIDE_CANDIDATE, ns, err) : flow;
    flow = flow == KG_FLOW_ON ? kg_session_compare(s, &p->primer, false, err) : flow;
    return flow == KG_FLOW_ON ? kg_session_take(s, &p->timed, KG_SIDE_CANDIDATE, err) : flow;
}

/* Calls both sides, and asks the reference for the answers that the comparisons need; see above. */
static enum kg_flow pair_sides(struct kg_session *s, const struct pair_plan *p,
                               struct kg_pair *pair, struct kg_err *err)
{
    int64_t untimed;
    enum kg_flow flow = KG_FLOW_ON;
    if (p->cand_first) {
        flow = ask_and_take(s, &p->primer, KG_SIDE_FLOAT, &untimed, err);
        flow = flow == KG_FLOW_ON ? side_of_candidate(s, p, &pair->cand_ns, err) : flow;
        return flow == KG_FLOW_ON ? side_of_reference(s, p, &pair->ref_ns, err) : flow;
    }
    /* The reference's primer answer stays in the private copy; the candidate's is compared with
     * it. */
    flow = side_of_reference(s, p, &pair->ref_ns, err);
    flow = flow == KG_FLOW_ON ? side_of_candidate(s, p, &pair->cand_ns, err) : flow;
    return flow == KG_FLOW_ON ? ask_and_take(s, &p->timed, KG_SIDE_FLOAT, &untimed, err) : flow;
}

/* Without primers: each side makes its timed call, and its answer is taken at once. */
static enum kg_flow bare_sides(struct kg_session *s, const struct pair_plan *p,
                               struct kg_pair *pair, struct kg_err *err)
{
    enum kg_flow flow = KG_FLOW_ON;
    for (int i = 0; i < 2 && flow == KG_FLOW_ON; i++) {
        bool candidate = (i == 0) == p->cand_first;
        flow = ask_and_take(s, &p->timed, candidate ? KG_SIDE_CANDIDATE : KG_SIDE_FLOAT,
                            candidate ? &pair->cand_ns : &pair->ref_ns, err);
    }
    return flow;
}

static enum kg_flow pair_once(struct kg_session *s, bool cand_first, struct kg_pair *pair,
                              struct kg_err *err)
{
    struct pair_plan p = {.cand_first = cand_first,
                          .oracle = kg_rng_below(&s->rng, 4) == 0 && s->opt->asides};
    if (s->opt->primers &&
        kg_rng_below(&s->rng, 4) ==
            0) { /* sometimes a second primer, so that the number of a call tells nothing */
        enum kg_flow extra = kg_session_verified(s, false, err);
        if (extra != KG_FLOW_ON) {
            return extra;
        }
    }
    if (s->opt->primers) {
        kg_session_draw_call(s, &p.primer);
    }
    kg_session_draw_call(s, &p.timed);
    pair->cand_first = cand_first;
    s->timed = p.timed;
    enum kg_flow flow =
        s->opt->primers ? pair_sides(s, &p, pair, err) : bare_sides(s, &p, pair, err);
    flow = flow == KG_FLOW_ON ? kg_session_quiet(s) : flow;
    return flow == KG_FLOW_ON ? kg_session_compare(s, &p.timed, p.oracle, err) : flow;
}

/* A pair is repeated, a few times at most, where a side had to wait for the core: that time is the
 * host's. */
static enum kg_flow calm_pair(struct kg_session *s, bool cand_first, struct kg_pair *pair,
                              struct kg_err *err)
{
    enum kg_flow flow = KG_FLOW_ON;
    int left = s->opt->waits;
    do {
        s->waited = false;
        flow = pair_once(s, cand_first, pair, err);
    } while (flow == KG_FLOW_ON && s->waited && left-- > 0 && !kg_session_past_deadline(s));
    return flow;
}

static enum kg_flow one_pair(struct kg_session *s, bool cand_first, struct kg_pair *pair,
                             struct kg_err *err)
{
    enum kg_flow flow = calm_pair(s, cand_first, pair, err);
    struct kg_voids voids = {0};
    while (kg_session_repeat(s, flow, &voids)) {
        flow = calm_pair(s, cand_first, pair, err);
    }
    return flow == KG_FLOW_VOID ? kg_session_async(s, err) : flow;
}

/* Keeps a pair beyond the n that are wanted in place of a random one of its order, or drops it, so
 * that each pair of the process is as likely to count. */
static void keep_by_chance(struct kg_session *s, const struct kg_pair *pair)
{
    struct kg_pairs_process *p = s->process;
    uint64_t seen = ++p->seen[pair->cand_first];
    uint64_t place = kg_rng_below(&s->rng, seen);
    for (size_t i = 0; i < p->n; i++) {
        if (p->pair[i].cand_first == pair->cand_first && place-- == 0) {
            p->pair[i] = *pair;
            return;
        }
    }
}

/* Of a process for which n are planned. */
static size_t most_pairs(const struct kg_pairs_options *o, size_t n)
{
    return o->widest > 0 && o->processes == 1 ? n * KG_PAIRS_MORE : n;
}

static int64_t pairs_so_far(const struct kg_session *s)
{
    int64_t n = 0;
    for (int i = 0; i <= s->out->nprocess; i++) {
        n += (int64_t)s->out->process[i].n;
    }
    return n;
}

/* n more that count. */
static enum kg_flow some_pairs(struct kg_session *s, size_t n, struct kg_err *err)
{
    bool *first = malloc(n * sizeof *first);
    if (!first) {
        kg_fail(err, KG_E_LIMIT, "timing: no memory for %zu pairs", n);
        return KG_FLOW_ERROR;
    }
    kg_balanced_order(kg_session_bits, s, first, n);
    struct kg_pairs_process *p = s->process;
    const size_t had = p->n;
    enum kg_flow flow = KG_FLOW_ON;
    while (p->n < had + n && flow == KG_FLOW_ON) {
        bool enough = pairs_so_far(s) >= KG_PAIRS_LEAST;
        if ((enough && kg_session_over_budget(s)) || kg_session_past_deadline(s)) {
            break;
        }
        struct kg_pair *pair = &p->pair[p->n];
        flow = one_pair(s, first[p->n - had], pair, err);
        bool counts = flow == KG_FLOW_ON && kg_session_counts(s->timed.law);
        p->n += counts;
        p->seen[pair->cand_first] += counts;
        p->others += flow == KG_FLOW_ON && !counts;
    }
    free(first);
    return flow;
}

static void process_ratio(struct kg_session *s)
{
    s->process->log_ratio = kg_pairs_log_ratio(s->process->pair, s->process->n, s->process->k_ns);
}

/* Only where the plan is one process: else more processes say more. */
static bool wants_more(struct kg_session *s, size_t n)
{
    const struct kg_pairs_options *o = s->opt;
    struct kg_pairs_process *p = s->process;
    if (o->method != KG_PAIRS_PAIRED || o->processes > 1 || p->n < n || p->n >= most_pairs(o, n) ||
        kg_session_over_budget(s) || kg_session_past_deadline(s)) {
        return false;
    }
    struct kg_ratio r;
    process_ratio(s);
    return kg_summary_process(s, p, &r) && kg_ratio_is_wide(r.lo, r.hi, o->widest);
}

static enum kg_flow all_pairs(struct kg_session *s, size_t n, struct kg_err *err)
{
    enum kg_flow flow = some_pairs(s, n, err);
    while (flow == KG_FLOW_ON && wants_more(s, n)) {
        flow = some_pairs(s, n, err);
    }
    return flow;
}

static enum kg_flow further_pair(struct kg_session *s, struct kg_err *err)
{
    struct kg_pair pair;
    enum kg_flow flow = one_pair(s, kg_rng_below(&s->rng, 2) == 1, &pair, err);
    if (flow == KG_FLOW_ON && kg_session_counts(s->timed.law)) {
        keep_by_chance(s, &pair);
    } else {
        s->process->others += flow == KG_FLOW_ON;
    }
    return flow;
}

/* Makes further pairs until the process has its least number of verified calls, a random number
 * more, and its least life. They are pairs, because calls that are surely not timed could be told
 * by their number. This is required where the ratio would exceed 1. A slow candidate without budget
 * is excused. */
static enum kg_flow minimum(struct kg_session *s, struct kg_err *err)
{
    struct kg_ratio ratio;
    int64_t least = s->opt->least_calls + (int64_t)kg_rng_below(&s->rng, 9);
    enum kg_flow flow = KG_FLOW_ON;
    process_ratio(s);
    while (flow == KG_FLOW_ON &&
           (s->process->verified < least || kg_clock_ns() - s->born_ns < s->opt->least_life_ns)) {
        if (kg_session_over_budget(s) && !(s->process->log_ratio > 0) &&
            !(kg_summary_ratio(s, &ratio) && ratio.ratio > 1)) {
            break;
        }
        if (kg_session_past_deadline(s)) {
            s->cut_short = true;
            break;
        }
        flow = further_pair(s, err);
    }
    process_ratio(s);
    return flow;
}

static enum kg_flow warm_up(struct kg_session *s, struct kg_err *err)
{
    int64_t n = s->opt->warmups + (int64_t)kg_rng_below(&s->rng, 6);
    enum kg_flow flow = KG_FLOW_ON;
    for (int64_t i = 0; i < n && flow == KG_FLOW_ON && !kg_session_past_deadline(s); i++) {
        flow = kg_session_verified(s, i == 0 && !s->in->taught, err); /* teaches the judge */
    }
    s->out->warmups += s->process->verified;
    return flow;
}

/* Is the reference too short to time? Its least window of the warm-ups counts, less the least K.
 * Below two K the spread of K would be timed. */
static bool too_short(struct kg_session *s)
{
    struct kg_pairs_result *r = s->out;
    int64_t ns = s->reference_ns - r->quiet_ns;
    if (!s->opt->skip_short || r->nprocess > 0 || s->reference_ns == 0 ||
        ns >= KG_PAIRS_TOO_SHORT * r->quiet_ns) {
        return false;
    }
    r->reference_ns = ns > 1 ? ns : 1;
    r->overhead_ns = s->process->k_ns;
    return true;
}

/* Measures K again if the candidate worked meanwhile. K is subtracted from both sides, so such work
 * would raise it to the candidate's advantage. */
static enum kg_flow quiet_overhead(struct kg_session *s, struct kg_err *err)
{
    struct kg_voids voids = {0};
    enum kg_flow flow;
    do {
        flow = kg_session_overhead(s, err);
        flow = flow == KG_FLOW_ON ? kg_session_quiet(s) : flow;
    } while (kg_session_repeat(s, flow, &voids));
    return flow == KG_FLOW_VOID ? kg_session_async(s, err) : flow;
}

enum kg_flow kg_process_run(struct kg_session *s, size_t n, struct kg_err *err)
{
    s->process = &s->out->process[s->out->nprocess];
    s->process->pair = calloc(most_pairs(s->opt, n), sizeof *s->process->pair);
    if (!s->process->pair) {
        kg_fail(err, KG_E_LIMIT, "timing: no memory for %zu pairs", n);
        return KG_FLOW_ERROR;
    }
    enum kg_flow flow = kg_session_start(s, err);
    flow = flow == KG_FLOW_ON ? quiet_overhead(s, err) : flow;
    flow = flow == KG_FLOW_ON ? warm_up(s, err) : flow;
    s->too_short = flow == KG_FLOW_ON && too_short(s);
    if (s->too_short) {
        kg_session_stop(s);
        s->out->nprocess++;
        return flow;
    }
    if (s->opt->method == KG_PAIRS_SINGLE || s->opt->method == KG_PAIRS_MEAN) {
        flow = flow == KG_FLOW_ON ? kg_naive_blocks(s, n, err) : flow;
    } else {
        flow = flow == KG_FLOW_ON ? all_pairs(s, n, err) : flow;
        flow = flow == KG_FLOW_ON ? minimum(s, err) : flow;
    }
    s->process->alive_ns = kg_clock_ns() - s->born_ns;
    kg_session_stop(s);
    s->out->nprocess++;
    return flow;
}
