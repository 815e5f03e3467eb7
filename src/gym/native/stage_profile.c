/* Stage profile of C: how much of a right candidate's time is its own, and whether its answer needs
 * the library that it calls. */
#include <math.h>

#include "base/clock.h"
#include "gym/native/profile_rounds.h"
#include "gym/timing/lease.h"

static json_t *real_or_null(double x)
{
    return isnan(x) ? json_null() : json_real(x);
}

static void record(struct kg_evaluation *e, const struct kg_coverage_calls *c,
                   const struct kg_coverage *o)
{
    json_t *told =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:b}", "coverage", real_or_null(o->coverage),
                  "candidate_ns", real_or_null(o->candidate_ns), "reference_ns",
                  real_or_null(o->reference_ns), "counted_ns", real_or_null(o->counted_ns),
                  "dropped_ns", real_or_null(o->dropped_ns), "calls", (json_int_t)c->candidate.n,
                  "needs_library", c->wrong_without);
    if (o->why) {
        json_object_set_new(told, "why", json_string(o->why));
    }
    kg_record_evidence(e->r, "coverage", told);
    e->r->coverage = o->coverage;
}

static enum kg_stage_result conclude(struct kg_evaluation *e, const struct kg_coverage_calls *c,
                                     const struct kg_coverage *o)
{
    record(e, c, o);
    if (!o->decoy || !e->w->config.hack_checks) {
        return KG_STAGE_PASS;
    }
    kg_record_verdict(e->r, KG_V_HACK, "decoy",
                      "it calls operators of kgops, and its answer is right without them");
    return KG_STAGE_FAIL;
}

static enum kg_stage_result profile(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_coverage_calls calls;
    struct kg_coverage o;
    enum kg_stage_result s = kg_profile_rounds(e, &calls, err);
    if (s != KG_STAGE_PASS) {
        return s;
    }
    kg_coverage_of(&calls, &o);
    return conclude(e, &calls, &o);
}

enum kg_stage_result kg_native_stage_profile(struct kg_evaluation *e, struct kg_err *err)
{
    kg_native_candidate_stop(e);
    if (kg_native_run_of(e)->alone) {
        e->r->coverage = 1;
        kg_record_evidence(e->r, "coverage",
                           json_pack("{s:f, s:s}", "coverage", 1.0, "why",
                                     "its object imports no operator of the library"));
        return KG_STAGE_PASS;
    }
    struct kg_lease lease = KG_LEASE_NONE;
    int64_t waited = kg_clock_ns();
    if (e->w->config.timing_exclusive &&
        kg_lease_acquire(e->w->cpu, &lease, e->w->cancelled, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    kg_evaluation_excuse(e, waited);
    e->attached = true;
    enum kg_stage_result s = profile(e, err);
    kg_lease_release(&lease);
    return s;
}
