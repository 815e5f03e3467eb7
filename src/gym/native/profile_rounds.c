/* The measurement of the stage profile of C: rounds of calls.
 *
 * Reference and candidate are called on the same fresh inputs, and the candidate in three
 * processes: as it is, with the kgops that counts its own time, and with the kgops that computes
 * nothing. Where timing came just before, its windows serve for the reference and for the candidate
 * as it is, and two processes are enough. Windows that differ too much are replaced by new ones.
 * Each answer of the candidate as it is is compared, and a wrong one has a verdict, as in
 * timing. Without the library one wrong answer is enough: it shows that the library is used. What
 * the counting process answers is not compared, because all that it says is a claim. */
#include "gym/native/profile_rounds.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "gym/native/profile_calls.h"

#define MOST_ROUNDS 56 /* a call that waited, or worked outside its window, does not count */
#define FEW_CALLS   6  /* calls of each kind beside the windows of timing */
#define PATIENCE    14 /* rounds after which windows of timing are given up */

static void keep(struct kg_coverage_times *t, double ns)
{
    if (t->n < KG_COVERAGE_CALLS) {
        t->ns[t->n++] = ns;
    }
}

/* The claim of one call: ticks, as ns of the broker's clock, and not more than its window. */
static enum kg_profile_step ask_counted(struct kg_profiling *s, const struct kg_case *c,
                                        double *library_ns, struct kg_err *err)
{
    const struct kg_wire *wire = s->runner[KG_PROFILE_COUNTED].wire;
    uint64_t ticks = wire->library_ticks, calls = wire->library_calls;
    double window_ns;
    enum kg_profile_step step =
        kg_profile_ask(s, c, KG_PROFILE_COUNTED, KG_COMPARE_FLOAT, &window_ns, err);
    if (step == KG_PROFILE_ERROR || step == KG_PROFILE_FAILED) {
        return step;
    }
    double per_ns = (double)(kg_wire_ticks() - s->ticks0) / (double)(kg_clock_ns() - s->ns0);
    double claimed =
        (double)(wire->library_ticks - ticks) / per_ns; /* set back: beyond any window */
    *library_ns = fmin(claimed, window_ns);
    s->calls->operators += wire->library_calls != calls;
    return step;
}

static bool enough(const struct kg_profiling *s, const struct kg_coverage_times *t)
{
    return t->n >= (s->timed ? FEW_CALLS : KG_COVERAGE_USUAL);
}

/* One call of each process; the reference answers for all. */
static enum kg_profile_step one_round(struct kg_profiling *s, struct kg_err *err)
{
    struct kg_coverage_calls *out = s->calls;
    struct kg_coverage_times *to[] = {&out->candidate, &out->library, &out->without};
    const struct kg_case c = {.shape = s->shape,
                              .law = KG_LAW_OWN,
                              .key = kg_key_derive(s->e->key, "coverage", (uint64_t)s->rounds)};
    bool first = s->rounds == 0 && !s->timed; /* the judge learns the reference's own error */
    enum kg_compare_mode mode = first ? KG_COMPARE_ORACLE : KG_COMPARE_FLOAT;
    double ns = 0;
    enum kg_profile_step step = KG_PROFILE_ON;
    if (!s->timed || !out->wrong_without) { /* nothing else is compared */
        step = kg_profile_ask_reference(s, &c, KG_SIDE_FLOAT, &ns, err);
    }
    if (step == KG_PROFILE_ON && !first && !s->timed) {
        keep(&out->reference, ns);
    }
    if (first && step != KG_PROFILE_ERROR) {
        step = kg_profile_ask_reference(s, &c, KG_SIDE_ORACLE, &ns, err);
    }
    /* None is always the first. */
    for (int i = 0; i < KG_PROFILE_SIDES && step != KG_PROFILE_ERROR && step != KG_PROFILE_FAILED;
         i++) {
        enum kg_profile_side side = (enum kg_profile_side)((i + s->rounds) % KG_PROFILE_SIDES);
        if (!s->up[side]) {
            continue;
        }
        step = side == KG_PROFILE_COUNTED ? ask_counted(s, &c, &ns, err)
                                          : kg_profile_ask(s, &c, side, mode, &ns, err);
        if (step == KG_PROFILE_ON && !first) {
            keep(to[side], ns);
        }
    }
    return step;
}

static enum kg_profile_step start_warm(struct kg_profiling *s, enum kg_profile_side side,
                                       struct kg_err *err)
{
    enum kg_profile_step step = kg_profile_start(s, side, err);
    return step == KG_PROFILE_ON ? kg_profile_warm_side(s, side, err) : step;
}

/* The host is busy, so the windows of timing and those of now differ too much: all are taken anew,
 * side by side. */
static enum kg_profile_step give_up_timed(struct kg_profiling *s, struct kg_err *err)
{
    s->timed = false;
    s->calls->candidate.n = s->calls->reference.n = 0;
    return start_warm(s, KG_PROFILE_PLAIN, err);
}

/* Are there enough calls, and do they agree? On a busy host more are made. */
static bool settled(const struct kg_profiling *s)
{
    const struct kg_coverage_calls *c = s->calls;
    struct kg_coverage o;
    if (!enough(s, &c->reference) || !enough(s, &c->candidate) || !enough(s, &c->without) ||
        !enough(s, &c->library)) {
        return false;
    }
    kg_coverage_of(c, &o);
    return !o.disturbed;
}

static enum kg_profile_step rounds(struct kg_profiling *s, struct kg_err *err)
{
    enum kg_profile_step step = KG_PROFILE_ON;
    while (step != KG_PROFILE_ERROR && step != KG_PROFILE_FAILED && s->rounds < MOST_ROUNDS &&
           !settled(s)) {
        if (s->timed && s->rounds >= PATIENCE) {
            step = give_up_timed(s, err);
        }
        step = step == KG_PROFILE_ON || step == KG_PROFILE_VOID ? one_round(s, err) : step;
        s->rounds++;
    }
    return step == KG_PROFILE_VOID ? KG_PROFILE_ON : step;
}

/* The windows of timing, if it has just measured this candidate on warm buffers. */
static void take_timed(struct kg_profiling *s)
{
    const struct kg_native_run *run = kg_native_run_of(s->e);
    s->timed = run->timed.candidate.n >= KG_COVERAGE_LEAST && !s->e->w->config.timing_cold;
    if (s->timed) {
        s->calls->reference = run->timed.reference;
        s->calls->candidate = run->timed.candidate;
        for (size_t i = 0; i < s->calls->candidate.n; i++) {
            int64_t ns = (int64_t)s->calls->candidate.ns[i];
            s->longest_ns = ns > s->longest_ns ? ns : s->longest_ns;
        }
    }
}

static enum kg_profile_step measure(struct kg_profiling *s, struct kg_err *err)
{
    struct kg_evaluation *e = s->e;
    struct kg_native *n = kg_native_of(e->w);
    int64_t k = kg_native_least_k(e->w, false, 0);
    s->calls->k_ns = (double)(k > 0                          ? k
                              : e->r->timing.overhead_ns > 0 ? e->r->timing.overhead_ns
                                                             : 0);
    s->ticks0 = kg_wire_ticks();
    s->ns0 = kg_clock_ns();
    if (kg_native_check_built(kg_native_run_of(e)->object, err) != KG_OK ||
        kg_native_references(e->w, err) != KG_OK) {
        return KG_PROFILE_ERROR;
    }
    kg_shape_default(n->problem, &s->shape);
    take_timed(s);
    enum kg_run_status status;
    enum kg_profile_step step =
        s->timed ? KG_PROFILE_ON
                 : kg_profile_warm_up(s, &n->own.ref.runner, kg_profile_reference_deadline(s), NULL,
                                      &status, err);
    if (step == KG_PROFILE_FAILED) {
        return kg_profile_reference_failed(s, status, err);
    }
    for (enum kg_profile_side side = s->timed ? KG_PROFILE_COUNTED : KG_PROFILE_PLAIN;
         side < KG_PROFILE_SIDES && step == KG_PROFILE_ON; side++) {
        step = start_warm(s, side, err);
    }
    step = step == KG_PROFILE_ON ? rounds(s, err) : step;
    for (enum kg_profile_side side = KG_PROFILE_PLAIN; side < KG_PROFILE_SIDES; side++) {
        kg_profile_stop(s, side);
    }
    return step;
}

enum kg_stage_result kg_profile_rounds(struct kg_evaluation *e, struct kg_coverage_calls *out,
                                       struct kg_err *err)
{
    *out = (struct kg_coverage_calls){.k_ns = 0};
    struct kg_profiling *s = calloc(1, sizeof *s);
    if (!s) {
        kg_fail(err, KG_E_LIMIT, "no memory for a profile");
        return KG_STAGE_ERROR;
    }
    s->e = e;
    s->calls = out;
    enum kg_profile_step step = measure(s, err);
    bool accused = s->accused;
    free(s);
    return step == KG_PROFILE_ERROR ? KG_STAGE_ERROR : accused ? KG_STAGE_FAIL : KG_STAGE_PASS;
}
