#include "gym/reward/facts.h"

#include <math.h>
#include <string.h>

/* Below this a time is mostly hand-off. Source: docs/rewards.md, T = 20 K on the CPU and 100 us on
 * a GPU. 0 where K is not known. */
static double shortest_ns(const struct kg_record *r)
{
    if (r->problem.language != NULL && strcmp(r->problem.language, "c") != 0) {
        return 100e3;
    }
    return r->timing.overhead_ns > 0 ? 20.0 * (double)r->timing.overhead_ns : 0;
}

static void take_speed(const struct kg_record *r, const struct kg_reward_params *p,
                       struct kg_facts *f)
{
    if (!f->c || r->timing.status != KG_T_MEASURED || !r->has_speedup) {
        return;
    }
    KG_ASSERT(isfinite(r->speedup.ratio) && r->speedup.ratio > 0);
    double shortest = shortest_ns(r);
    if (r->timing.reference_ns >= 0 && (double)r->timing.reference_ns < shortest) {
        return;
    }
    /* An interval that is not known is as wide as can be: it holds 1, and nothing is shown. */
    bool known = isfinite(r->speedup.lo) && isfinite(r->speedup.hi);
    bool holds_one = !known || (r->speedup.lo <= 1 && 1 <= r->speedup.hi);
    f->timed = true;
    f->s = p->s_deadzone && holds_one ? 1 : r->speedup.ratio;
    f->s_lo = known ? fmin(r->speedup.lo, r->speedup.ratio) : 0;
    if (r->timing.candidate_ns >= 0 && (double)r->timing.candidate_ns < shortest) {
        double slower = (double)r->timing.candidate_ns / shortest;
        f->s *= slower;
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
    out->pr = out->c && r->coverage > 0 ? fmin(r->coverage, 1) : 0;
}
