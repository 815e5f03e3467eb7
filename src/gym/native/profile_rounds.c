/* The measurement of the stage profile of C: processes, calls, rounds.
 *
 * Reference and candidate are called on the same fresh inputs, and the candidate in three
 * processes: as it is, with the kgops that counts its own time, and with the kgops that computes
 * nothing. Where timing came just before, its windows serve for the reference and for the candidate
 * as it is, and two processes are enough. Windows that differ too much are replaced by new ones.
 * Each answer of the candidate as it is is compared, and a wrong one has a verdict, as in
 * timing. Without the library one wrong answer is enough: it shows that the library is used. What
 * the counting process answers is not compared, because all that it says is a claim. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gym/eval/again.h"
#include "gym/native/profile_rounds.h"

/* Calls of a process until so many in a row had no page fault. malloc() hands out new pages in the
 * first 8 calls that need 1 MB, but not in each of them. */
#define QUIET_WARM  3
#define MOST_WARM   20
#define MOST_ROUNDS 56 /* a call that waited, or worked outside its window, does not count */
/* A call whose process did not run for longer than this, and for a tenth of its window, had to wait
 * for the core: the host was busy. The hand-off (K) takes 3 to 13 us. */
#define WAITED_NS 25000
#define FEW_CALLS 6  /* calls of each kind beside the windows of timing */
#define PATIENCE  14 /* rounds after which windows of timing are given up */
/* A call without the library may take so many times the candidate's first call, and at least so
 * long; after that it hangs. A busy host must not look like that. */
#define HANG_TIMES 20
#define HANG_NS    200000000

enum side { PLAIN, COUNTED, STUB, SIDES };

struct profiling {
    struct kg_evaluation *e;
    struct kg_shape shape;
    struct kg_runner runner[SIDES];
    bool up[SIDES];
    struct kg_coverage_calls *calls;
    int64_t asked, right, longest_ns; /* of the candidate as it is: calls, right answers, longest */
    int64_t rounds;
    bool accused; /* the record has a verdict from here */
    bool timed;   /* the windows of timing serve */
    uint64_t ticks0;
    int64_t ns0;
};

enum step { ON, VOID, FAILED, ERROR };

/* --- processes --- */

static void stop_side(struct profiling *s, enum side side)
{
    if (s->up[side]) {
        kg_runner_stop(&s->runner[side]);
        s->up[side] = false;
    }
}

/* Notes the end of a process that cannot answer any more. */
static enum step lose(struct profiling *s, enum side side, enum kg_run_status status)
{
    stop_side(s, side);
    const struct kg_exit *x = &s->runner[side].sandbox.exit;
    if (side == PLAIN) {
        s->accused = true;
        kg_native_verdict_of_run(s->e, KG_ST_PROFILE, &s->runner[side], status);
        return FAILED;
    }
    bool killed = status == KG_RUN_DIED &&
                  (x->kind == KG_EXIT_OOM || (x->kind == KG_EXIT_SIGNAL && x->code == SIGKILL));
    if (side == STUB || killed) {
        s->calls->end = killed ? KG_COVERAGE_KILLED : KG_COVERAGE_ENDED;
    } else {
        s->calls->miscounted = true;
    }
    return FAILED;
}

static enum step start_side(struct profiling *s, enum side side, struct kg_err *err)
{
    struct kg_evaluation *e = s->e;
    struct kg_runner_spec spec;
    enum kg_run_status status;
    kg_native_candidate_spec(e, &spec);
    spec.kgops_dir = side == COUNTED ? e->w->paths.kgops_counted
                     : side == STUB  ? e->w->paths.kgops_stub
                                     : spec.kgops_dir;
    if (kg_judge_clear(&kg_native_of(e->w)->judge, err) != KG_OK ||
        kg_runner_start(&spec, kg_evaluation_deadline(e, e->w->config.deadline_run),
                        &s->runner[side], &status, err) != KG_OK) {
        return ERROR;
    }
    s->up[side] = true;
    return status == KG_RUN_OK ? ON : lose(s, side, status);
}

/* --- one call --- */

static int64_t deadline_of(const struct profiling *s, enum side side)
{
    int64_t deadline = kg_evaluation_deadline(s->e, s->e->w->config.deadline_run);
    int64_t hangs = HANG_TIMES * s->longest_ns > HANG_NS ? HANG_TIMES * s->longest_ns : HANG_NS;
    int64_t until = kg_clock_ns() + hangs;
    return side == STUB && until < deadline ? until : deadline;
}

static enum step fill(struct profiling *s, const struct kg_case *c, bool wide, struct kg_err *err)
{
    if (*s->e->w->cancelled) {
        kg_fail(err, KG_E_CANCELLED, "interrupted");
        return ERROR;
    }
    return kg_judge_fill(&kg_native_of(s->e->w)->judge, c, wide, err) == KG_OK ? ON : ERROR;
}

static enum step call(struct profiling *s, const struct kg_case *c, bool wide,
                      struct kg_runner *run, int64_t deadline_ns, struct kg_call_report *rep)
{
    struct kg_native *n = kg_native_of(s->e->w);
    struct kg_layout l;
    struct kg_wire_call words;
    kg_layout_plan(n->problem, &c->shape, wide, c->jitter, c->in_base, c->out_base, &l);
    kg_layout_call(n->problem, &c->shape, &l, wide, &words);
    kg_runner_call(run, &words, deadline_ns, true, rep);
    if (rep->status != KG_RUN_OK && rep->status != KG_RUN_ACTIVE) {
        return FAILED;
    }
    bool waited = rep->window_ns - rep->cpu_ns > WAITED_NS + rep->window_ns / 10;
    return waited || rep->status == KG_RUN_ACTIVE ? VOID : ON;
}

/* The window of timing: CPU time outside the call is added. */
static double window_of(const struct kg_call_report *rep)
{
    return (double)(rep->window_ns + rep->tail_cpu_ns + rep->idle_cpu_ns);
}

static int64_t reference_deadline(const struct profiling *s)
{
    return kg_clock_ns() + (int64_t)(s->e->w->config.deadline_run * 1e9);
}

static enum step reference_failed(const struct profiling *s, enum kg_run_status status,
                                  struct kg_err *err)
{
    kg_fail(err, KG_E_GYM, "%s: a reference that was right before fails (status %d)",
            kg_native_of(s->e->w)->problem->path, (int)status);
    return ERROR;
}

/* A reference's answer, taken as that side. The oracle's work outside its call does no harm. */
static enum step ask_reference(struct profiling *s, const struct kg_case *c, enum kg_side side,
                               double *ns, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(s->e->w);
    struct kg_take_report take;
    struct kg_call_report rep = {.status = KG_RUN_OK};
    bool wide = side == KG_SIDE_ORACLE;
    enum step step = fill(s, c, wide, err);
    if (step == ON) {
        step = call(s, c, wide, wide ? &n->own.oracle.runner : &n->own.ref.runner,
                    reference_deadline(s), &rep);
        *ns = window_of(&rep);
    }
    if (step == FAILED) {
        return reference_failed(s, rep.status, err);
    }
    if (step != ERROR && kg_judge_take(&n->judge, c, side, &take, err) != KG_OK) {
        return ERROR;
    }
    return wide && step == VOID ? ON : step;
}

/* Is the answer in the region right? */
static enum step compare(struct profiling *s, const struct kg_case *c, enum kg_compare_mode mode,
                         struct kg_take_report *take, struct kg_judgement *j, struct kg_err *err)
{
    struct kg_judge *judge = &kg_native_of(s->e->w)->judge;
    if (kg_judge_take(judge, c, KG_SIDE_CANDIDATE, take, err) != KG_OK ||
        kg_judge_compare(judge, c, mode, j, err) != KG_OK) {
        return ERROR;
    }
    return take->what != KG_TAKE_OUT_OF_BOUNDS && j->compare.pass ? ON : FAILED;
}

/* What a wrong answer means depends on the process. */
static enum step wrong(struct profiling *s, enum side side, const struct kg_case *c,
                       const struct kg_take_report *take, const struct kg_judgement *j)
{
    if (side == STUB) {
        s->calls->wrong_without = true;
        return ON;
    }
    s->accused = true;
    struct kg_pooled_case pc = {.c = *c, .variant = KG_VARIANT_DEFAULT};
    kg_native_verdict_of_case(s->e, &pc, take, j);
    kg_again_timed(s->e, KG_DOUBT_TIMED_GIVEN, 0, s->asked, s->right);
    return FAILED;
}

static enum step ask(struct profiling *s, const struct kg_case *c, enum side side,
                     enum kg_compare_mode mode, double *ns, struct kg_err *err)
{
    struct kg_call_report rep;
    struct kg_take_report take;
    struct kg_judgement j;
    s->asked += side == PLAIN;
    if (fill(s, c, false, err) != ON) {
        return ERROR;
    }
    enum step made = call(s, c, false, &s->runner[side], deadline_of(s, side), &rep);
    if (made == FAILED) {
        return lose(s, side, rep.status);
    }
    *ns = window_of(&rep);
    if (side == COUNTED || (side == STUB && s->calls->wrong_without)) {
        return made;
    }
    enum step step = compare(s, c, mode, &take, &j, err);
    s->calls->right_without += step == ON && side == STUB;
    if (step == FAILED) {
        step = wrong(s, side, c, &take, &j);
    } else if (step == ON && side == PLAIN) {
        s->right++;
    }
    return step == ON ? made : step;
}

/* Calls on one set of inputs, not compared: what such a call leaves undone, a later one has to do.
 * longest: the longest window, NULL: not wanted. */
static enum step warm_up(struct profiling *s, struct kg_runner *run, int64_t deadline_ns,
                         int64_t *longest, enum kg_run_status *status, struct kg_err *err)
{
    const struct kg_case c = {
        .shape = s->shape, .law = KG_LAW_OWN, .key = kg_key_derive(s->e->key, "coverage-warm", 0)};
    struct kg_call_report rep = {.faults = 0};
    enum step step = fill(s, &c, false, err);
    for (int i = 0, quiet = 0; i < MOST_WARM && quiet < QUIET_WARM && step == ON; i++) {
        step = call(s, &c, false, run, deadline_ns, &rep);
        step = step == VOID ? ON : step;
        quiet = rep.faults > 0 ? 0 : quiet + 1;
        if (longest && rep.window_ns > *longest) {
            *longest = rep.window_ns;
        }
    }
    *status = rep.status;
    return step;
}

static enum step warm_side(struct profiling *s, enum side side, struct kg_err *err)
{
    enum kg_run_status status;
    enum step step = warm_up(s, &s->runner[side], deadline_of(s, side),
                             side == PLAIN ? &s->longest_ns : NULL, &status, err);
    return step == FAILED ? lose(s, side, status) : step;
}

/* --- rounds --- */

static void keep(struct kg_coverage_times *t, double ns)
{
    if (t->n < KG_COVERAGE_CALLS) {
        t->ns[t->n++] = ns;
    }
}

/* The claim of one call: ticks, as ns of the broker's clock, and not more than its window. */
static enum step ask_counted(struct profiling *s, const struct kg_case *c, double *library_ns,
                             struct kg_err *err)
{
    const struct kg_wire *wire = s->runner[COUNTED].wire;
    uint64_t ticks = wire->library_ticks, calls = wire->library_calls;
    double window_ns;
    enum step step = ask(s, c, COUNTED, KG_COMPARE_FLOAT, &window_ns, err);
    if (step == ERROR || step == FAILED) {
        return step;
    }
    double per_ns = (double)(kg_wire_ticks() - s->ticks0) / (double)(kg_clock_ns() - s->ns0);
    double claimed =
        (double)(wire->library_ticks - ticks) / per_ns; /* set back: beyond any window */
    *library_ns = fmin(claimed, window_ns);
    s->calls->operators += wire->library_calls != calls;
    return step;
}

static bool enough(const struct profiling *s, const struct kg_coverage_times *t)
{
    return t->n >= (s->timed ? FEW_CALLS : KG_COVERAGE_USUAL);
}

/* One call of each process; the reference answers for all. */
static enum step one_round(struct profiling *s, struct kg_err *err)
{
    struct kg_coverage_calls *out = s->calls;
    struct kg_coverage_times *to[] = {&out->candidate, &out->library, &out->without};
    const struct kg_case c = {.shape = s->shape,
                              .law = KG_LAW_OWN,
                              .key = kg_key_derive(s->e->key, "coverage", (uint64_t)s->rounds)};
    bool first = s->rounds == 0 && !s->timed; /* the judge learns the reference's own error */
    enum kg_compare_mode mode = first ? KG_COMPARE_ORACLE : KG_COMPARE_FLOAT;
    double ns = 0;
    enum step step = ON;
    if (!s->timed || !out->wrong_without) { /* nothing else is compared */
        step = ask_reference(s, &c, KG_SIDE_FLOAT, &ns, err);
    }
    if (step == ON && !first && !s->timed) {
        keep(&out->reference, ns);
    }
    if (first && step != ERROR) {
        step = ask_reference(s, &c, KG_SIDE_ORACLE, &ns, err);
    }
    /* None is always the first. */
    for (int i = 0; i < SIDES && step != ERROR && step != FAILED; i++) {
        enum side side = (enum side)((i + s->rounds) % SIDES);
        if (!s->up[side]) {
            continue;
        }
        step = side == COUNTED ? ask_counted(s, &c, &ns, err) : ask(s, &c, side, mode, &ns, err);
        if (step == ON && !first) {
            keep(to[side], ns);
        }
    }
    return step;
}

static enum step start_warm(struct profiling *s, enum side side, struct kg_err *err)
{
    enum step step = start_side(s, side, err);
    return step == ON ? warm_side(s, side, err) : step;
}

/* The host is busy, so the windows of timing and those of now differ too much: all are taken anew,
 * side by side. */
static enum step give_up_timed(struct profiling *s, struct kg_err *err)
{
    s->timed = false;
    s->calls->candidate.n = s->calls->reference.n = 0;
    return start_warm(s, PLAIN, err);
}

/* Are there enough calls, and do they agree? On a busy host more are made. */
static bool settled(const struct profiling *s)
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

static enum step rounds(struct profiling *s, struct kg_err *err)
{
    enum step step = ON;
    while (step != ERROR && step != FAILED && s->rounds < MOST_ROUNDS && !settled(s)) {
        if (s->timed && s->rounds >= PATIENCE) {
            step = give_up_timed(s, err);
        }
        step = step == ON || step == VOID ? one_round(s, err) : step;
        s->rounds++;
    }
    return step == VOID ? ON : step;
}

/* The windows of timing, if it has just measured this candidate on warm buffers. */
static void take_timed(struct profiling *s)
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

static enum step measure(struct profiling *s, struct kg_err *err)
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
        return ERROR;
    }
    kg_shape_default(n->problem, &s->shape);
    take_timed(s);
    enum kg_run_status status;
    enum step step =
        s->timed ? ON : warm_up(s, &n->own.ref.runner, reference_deadline(s), NULL, &status, err);
    if (step == FAILED) {
        return reference_failed(s, status, err);
    }
    for (enum side side = s->timed ? COUNTED : PLAIN; side < SIDES && step == ON; side++) {
        step = start_warm(s, side, err);
    }
    step = step == ON ? rounds(s, err) : step;
    for (enum side side = PLAIN; side < SIDES; side++) {
        stop_side(s, side);
    }
    return step;
}

enum kg_stage_result kg_profile_rounds(struct kg_evaluation *e, struct kg_coverage_calls *out,
                                       struct kg_err *err)
{
    *out = (struct kg_coverage_calls){.k_ns = 0};
    struct profiling *s = calloc(1, sizeof *s);
    if (!s) {
        kg_fail(err, KG_E_LIMIT, "no memory for a profile");
        return KG_STAGE_ERROR;
    }
    s->e = e;
    s->calls = out;
    enum step step = measure(s, err);
    bool accused = s->accused;
    free(s);
    return step == ERROR ? KG_STAGE_ERROR : accused ? KG_STAGE_FAIL : KG_STAGE_PASS;
}
