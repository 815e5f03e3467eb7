/* The timing protocol: runs process pairs until there are enough, and decides how the result is
 * called. */
#include "gym/timing/pairs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/timing/session.h"

uint64_t kg_session_bits(void *session)
{
    struct kg_session *s = session;
    return kg_rng_u64(&s->rng);
}

static enum kg_code check(const struct kg_pairs_options *o, struct kg_err *err)
{
    if (o->processes < 1 || o->processes > KG_PAIRS_MAX_PROCESSES || o->min_processes < 1 ||
        o->min_processes > o->processes) {
        return kg_fail(err, KG_E_USAGE, "timing: %d processes (at least %d) is not in 1..%d",
                       o->processes, o->min_processes, KG_PAIRS_MAX_PROCESSES);
    }
    if (o->pairs < KG_PAIRS_LEAST || o->pairs > KG_PAIRS_MAX_PAIRS || o->trials < KG_PAIRS_LEAST ||
        o->trials > KG_PAIRS_MAX_PAIRS) {
        return kg_fail(err, KG_E_USAGE, "timing: %d pairs or %d trials are not in %d..%d", o->pairs,
                       o->trials, KG_PAIRS_LEAST, KG_PAIRS_MAX_PAIRS);
    }
    if (o->warmups < KG_PAIRS_LEAST_WARMUPS || o->warmups > 100000 ||
        !(o->trim >= 0 && o->trim < 0.5) || !(o->half_width >= 0) || !(o->null_half_width >= 0)) {
        return kg_fail(err, KG_E_USAGE,
                       "timing: %d warm-ups (at least %d), trim %g (0 to 0.5) or half-width %g is "
                       "out of range",
                       o->warmups, KG_PAIRS_LEAST_WARMUPS, o->trim, o->half_width);
    }
    if (o->null_calls < 3 || o->null_calls > KG_PAIRS_MAX_NULLS) {
        return kg_fail(err, KG_E_USAGE, "timing: %d null calls is not in 3..%d", o->null_calls,
                       KG_PAIRS_MAX_NULLS);
    }
    if (o->least_calls < 1 || o->least_life_ns < 0) {
        return kg_fail(
            err, KG_E_USAGE,
            "timing: a timed process needs at least 1 verified call, and a least life of "
            "0 or more");
    }
    if (o->budget_ns <= 0 || o->call_deadline_ns <= 0 || o->quiet_ns < 0) {
        return kg_fail(err, KG_E_USAGE,
                       "timing: budget and deadline of a call must be positive, the least K not "
                       "negative");
    }
    return KG_OK;
}

/* Runs process after process until the plan, the wanted half-width or the budget is reached. */
static enum kg_flow all_processes(struct kg_session *s, struct kg_err *err)
{
    const struct kg_pairs_options *o = s->opt;
    bool paired = o->method == KG_PAIRS_PAIRED;
    int most = paired ? o->processes : 1;
    size_t n = paired ? (size_t)o->pairs : o->method == KG_PAIRS_SINGLE ? 1 : (size_t)o->trials;
    int more = paired && most > 1 && o->widest > 0 ? most * KG_PAIRS_MORE : most;
    more = more < KG_PAIRS_MAX_PROCESSES ? more : KG_PAIRS_MAX_PROCESSES;
    for (int i = 0; i < more; i++) {
        if (i > 0 && kg_session_over_budget(s)) {
            break;
        }
        struct kg_ratio r;
        bool known = i > 0 && kg_summary_ratio(s, &r);
        if (i >= o->min_processes && known && r.half_width <= o->half_width) {
            break;
        }
        if (i >= most && !(known && kg_ratio_is_wide(r.lo, r.hi, o->widest))) {
            break;
        }
        enum kg_flow flow = kg_process_run(s, n, err);
        if (flow != KG_FLOW_ON || s->too_short) {
            return flow;
        }
    }
    return KG_FLOW_ON;
}

static void conclude(struct kg_session *s)
{
    struct kg_pairs_result *r = s->out;
    int64_t pairs = 0;
    if (s->too_short) {
        r->status = KG_PAIRS_NOT_MEASURED;
        r->reference_short = true;
        snprintf(r->why, sizeof r->why,
                 "too short to time: the reference takes %.1f us, less than %d times the cost of a "
                 "call (%.1f us); larger dims mend that",
                 (double)r->reference_ns / 1e3, KG_PAIRS_TOO_SHORT, (double)r->quiet_ns / 1e3);
        return;
    }
    for (int i = 0; i < r->nprocess; i++) {
        pairs += (int64_t)r->process[i].n;
    }
    if (pairs < KG_PAIRS_LEAST && s->opt->method != KG_PAIRS_SINGLE) {
        r->status = KG_PAIRS_NOT_MEASURED;
        snprintf(r->why, sizeof r->why, "the time ran out after %lld pairs (at least %d)",
                 (long long)pairs, KG_PAIRS_LEAST);
        return;
    }
    kg_summary_make(s);
    r->status = KG_PAIRS_MEASURED;
    if (s->cut_short && r->ratio.ratio > 1) {
        r->status = KG_PAIRS_NOT_TRUSTED;
        snprintf(r->why, sizeof r->why,
                 "the time ran out before %d verified calls in each timed process",
                 s->opt->least_calls);
    }
}

static enum kg_code floor_of(struct kg_session *s, struct kg_err *err)
{
    struct kg_case c;
    kg_session_draw(s, &c);
    return kg_judge_floor(s->in->judge, &c, &s->out->floor_ns, err);
}

static void result_init(struct kg_pairs_result *r)
{
    memset(r, 0, sizeof *r);
    r->status = KG_PAIRS_NOT_MEASURED;
    r->candidate_ns = r->reference_ns = r->overhead_ns = r->shortest_ns = -1;
    r->candidate_trimmed_ns = r->reference_trimmed_ns = r->candidate_most_ns = -1;
    r->cv = NAN;
    r->candidate.sandbox.pid = -1;
    r->candidate.sandbox.pidfd = -1;
    r->candidate.ctrl_fd = r->candidate.stat_fd = -1;
    r->candidate.wire = &r->candidate.last;
}

enum kg_code kg_pairs_run(const struct kg_pairs_input *in, const struct kg_pairs_options *opt,
                          struct kg_pairs_result *out, struct kg_err *err)
{
    result_init(out);
    if (check(opt, err) != KG_OK) {
        return err->code;
    }
    struct kg_session *s = calloc(1, sizeof *s);
    if (!s) {
        return kg_fail(err, KG_E_LIMIT, "timing: no memory");
    }
    s->in = in;
    s->opt = opt;
    s->out = out;
    out->quiet_ns = opt->quiet_ns;
    enum kg_code code = kg_session_open(s, err);
    if (code == KG_OK) {
        code = floor_of(s, err);
        enum kg_flow flow = code == KG_OK ? all_processes(s, err) : KG_FLOW_ERROR;
        kg_session_close(s);
        code = flow == KG_FLOW_ERROR ? err->code : KG_OK;
        if (flow == KG_FLOW_FAILED) {
            out->status = KG_PAIRS_FAILED;
        } else if (flow == KG_FLOW_ON) {
            conclude(s);
        }
    }
    free(s);
    return code;
}

enum kg_code kg_pairs_null(const struct kg_pairs_input *in, const struct kg_pairs_options *opt,
                           struct kg_pairs_result *out, struct kg_err *err)
{
    struct kg_pairs_input self = *in;
    self.candidate = in->reference;
    self.oracle = NULL;
    self.running = NULL;
    enum kg_code code = kg_pairs_run(&self, opt, out, err);
    if (code == KG_OK && out->status == KG_PAIRS_FAILED) {
        return kg_fail(err, KG_E_PROBLEM,
                       "timing: the reference of %s fails against itself (call %lld)",
                       in->problem->name, (long long)out->failure.call);
    }
    return code;
}

void kg_pairs_result_deinit(struct kg_pairs_result *r)
{
    for (int i = 0; i < KG_PAIRS_MAX_PROCESSES; i++) {
        free(r->process[i].pair);
        r->process[i].pair = NULL;
    }
}
