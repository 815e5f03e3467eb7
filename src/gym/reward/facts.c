/* Takes from a record what the formulas of rewards read, and says why speed counts less. */
#include "gym/reward/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Source: docs/rewards.md, T = 20 K on the CPU and 100 us on a GPU. Older records have no T, only
 * K.
 */
static double shortest_ns(const struct kg_record *r)
{
    if (r->timing.shortest_ns >= 0) {
        return (double)r->timing.shortest_ns;
    }
    if (r->problem.language != NULL && strcmp(r->problem.language, "c") != 0) {
        return 100e3;
    }
    return r->timing.overhead_ns > 0 ? 20.0 * (double)r->timing.overhead_ns : 0;
}

static bool below(int64_t ns, double shortest)
{
    return ns >= 0 && (double)ns < shortest;
}

enum kg_reward_short kg_reward_too_short(const struct kg_record *r, char *out, size_t cap)
{
    double t = shortest_ns(r);
    out[0] = '\0';
    if (r->timing.status != KG_T_MEASURED || !r->has_speedup) {
        return KG_SHORT_NONE;
    }
    if (below(r->timing.reference_ns, t)) {
        snprintf(out, cap,
                 "the reference takes %.1f us, less than T = %.1f us: no speed is rewarded",
                 (double)r->timing.reference_ns / 1e3, t / 1e3);
        return KG_SHORT_REFERENCE;
    }
    if (below(r->timing.candidate_ns, t)) {
        snprintf(out, cap, "its %.1f us count as T = %.1f us, the shortest time that is rewarded",
                 (double)r->timing.candidate_ns / 1e3, t / 1e3);
        return KG_SHORT_CANDIDATE;
    }
    return KG_SHORT_NONE;
}

/* Nothing was measured that could be rewarded; timing.why says why. */
static void explain_untimed(const struct kg_record *r, struct kg_facts *f)
{
    snprintf(f->why, sizeof f->why, "%s",
             r->timing.status == KG_T_NOT_TRUSTED ? "its time is not trusted"
             : r->timing.status == KG_T_OFF       ? "it was not timed"
                                                  : "its time was not measured");
}

static void take_speed(const struct kg_record *r, const struct kg_reward_params *p,
                       struct kg_facts *f)
{
    if (!f->c) {
        return;
    }
    if (r->timing.status != KG_T_MEASURED || !r->has_speedup) {
        explain_untimed(r, f);
        return;
    }
    KG_ASSERT(isfinite(r->speedup.ratio) && r->speedup.ratio > 0);
    double shortest = shortest_ns(r);
    kg_reward_too_short(r, f->why, sizeof f->why);
    if (below(r->timing.reference_ns, shortest)) {
        return;
    }
    /* An interval that is not known is as wide as can be: it holds 1, and nothing is shown. */
    bool known = isfinite(r->speedup.lo) && isfinite(r->speedup.hi);
    bool holds_one = !known || (r->speedup.lo <= 1 && 1 <= r->speedup.hi);
    f->timed = true;
    f->interval = known;
    bool is_one = p->s_deadzone && holds_one;
    f->s = is_one ? 1 : r->speedup.ratio;
    f->s_lo = known ? fmin(r->speedup.lo, r->speedup.ratio) : 0;
    if (is_one) {
        size_t n = strlen(f->why);
        snprintf(f->why + n, sizeof f->why - n, "%sit counts as 1, which its interval holds",
                 n > 0 ? "; " : "");
    }
    if (below(r->timing.candidate_ns, shortest)) {
        double slower = (double)r->timing.candidate_ns / shortest;
        f->s *= is_one ? 1 : slower;
        f->s_lo *= slower;
    }
}

static enum kg_stage failed_stage(const struct kg_record *r)
{
    for (int i = 0; i < KG_ST_COUNT; i++) {
        if (r->stages[i].status == KG_SS_FAIL) {
            return (enum kg_stage)i;
        }
    }
    return r->stage;
}

void kg_facts_of(const struct kg_record *r, const struct kg_reward_params *p, struct kg_facts *out)
{
    *out = (struct kg_facts){
        .c = r->verdict == KG_V_OK && r->league.eligible,
        .verdict = r->verdict,
        .failed = failed_stage(r),
    };
    take_speed(r, p, out);
    KG_ASSERT(!isinf(r->coverage));
    out->pr_lost = out->c && isnan(r->coverage) && r->stages[KG_ST_PROFILE].status == KG_SS_PASS;
    out->pr = out->c && r->coverage > 0 ? fmin(r->coverage, 1) : 0;
}
