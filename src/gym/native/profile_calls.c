/* The stage profile of C: its processes, and single calls. */
#include "gym/native/profile_calls.h"

#include <signal.h>

#include "base/clock.h"
#include "gym/eval/again.h"

/* Calls of a process until so many in a row had no page fault. malloc() hands out new pages in the
 * first 8 calls that need 1 MB, but not in each of them. */
#define QUIET_WARM 3
#define MOST_WARM  20
/* A call whose process did not run for longer than this, and for a tenth of its window, had to wait
 * for the core: the host was busy. The hand-off (K) takes 3 to 13 us. */
#define WAITED_NS 25000
/* A call without the library may take so many times the candidate's first call, and at least so
 * long; after that it hangs. A busy host must not look like that. */
#define HANG_TIMES 20
#define HANG_NS    200000000

/* --- processes --- */

void kg_profile_stop(struct kg_profiling *s, enum kg_profile_side side)
{
    if (s->up[side]) {
        kg_runner_stop(&s->runner[side]);
        s->up[side] = false;
    }
}

/* Notes the end of a process that cannot answer any more. */
static enum kg_profile_step kg_profile_lose(struct kg_profiling *s, enum kg_profile_side side,
                                            enum kg_run_status status)
{
    kg_profile_stop(s, side);
    const struct kg_exit *x = &s->runner[side].sandbox.exit;
    if (side == KG_PROFILE_PLAIN) {
        s->accused = true;
        kg_native_verdict_of_run(s->e, KG_ST_PROFILE, &s->runner[side], status);
        return KG_PROFILE_FAILED;
    }
    bool killed = status == KG_RUN_DIED &&
                  (x->kind == KG_EXIT_OOM || (x->kind == KG_EXIT_SIGNAL && x->code == SIGKILL));
    if (side == KG_PROFILE_STUB || killed) {
        s->calls->end = killed ? KG_COVERAGE_KILLED : KG_COVERAGE_ENDED;
    } else {
        s->calls->miscounted = true;
    }
    return KG_PROFILE_FAILED;
}

enum kg_profile_step kg_profile_start(struct kg_profiling *s, enum kg_profile_side side,
                                      struct kg_err *err)
{
    struct kg_evaluation *e = s->e;
    struct kg_runner_spec spec;
    enum kg_run_status status;
    kg_native_candidate_spec(e, &spec);
    spec.kgops_dir = side == KG_PROFILE_COUNTED ? e->w->paths.kgops_counted
                     : side == KG_PROFILE_STUB  ? e->w->paths.kgops_stub
                                                : spec.kgops_dir;
    if (kg_judge_clear(&kg_native_of(e->w)->judge, err) != KG_OK ||
        kg_runner_start(&spec, kg_evaluation_deadline(e, e->w->config.deadline_run),
                        &s->runner[side], &status, err) != KG_OK) {
        return KG_PROFILE_ERROR;
    }
    s->up[side] = true;
    return status == KG_RUN_OK ? KG_PROFILE_ON : kg_profile_lose(s, side, status);
}

/* --- one call --- */

static int64_t deadline_of(const struct kg_profiling *s, enum kg_profile_side side)
{
    int64_t deadline = kg_evaluation_deadline(s->e, s->e->w->config.deadline_run);
    int64_t hangs = HANG_TIMES * s->longest_ns > HANG_NS ? HANG_TIMES * s->longest_ns : HANG_NS;
    int64_t until = kg_clock_ns() + hangs;
    return side == KG_PROFILE_STUB && until < deadline ? until : deadline;
}

static enum kg_profile_step fill(struct kg_profiling *s, const struct kg_case *c, bool wide,
                                 struct kg_err *err)
{
    if (*s->e->w->cancelled) {
        kg_fail(err, KG_E_CANCELLED, "interrupted");
        return KG_PROFILE_ERROR;
    }
    return kg_judge_fill(&kg_native_of(s->e->w)->judge, c, wide, err) == KG_OK ? KG_PROFILE_ON
                                                                               : KG_PROFILE_ERROR;
}

static enum kg_profile_step call(struct kg_profiling *s, const struct kg_case *c, bool wide,
                                 struct kg_runner *run, int64_t deadline_ns,
                                 struct kg_call_report *rep)
{
    struct kg_native *n = kg_native_of(s->e->w);
    struct kg_layout l;
    struct kg_wire_call words;
    kg_layout_plan(n->problem, &c->shape, wide, c->jitter, c->in_base, c->out_base, &l);
    kg_layout_call(n->problem, &c->shape, c->key, &l, wide, &words);
    kg_runner_call(run, &words, deadline_ns, true, rep);
    if (rep->status != KG_RUN_OK && rep->status != KG_RUN_ACTIVE) {
        return KG_PROFILE_FAILED;
    }
    bool waited = rep->window_ns - rep->cpu_ns > WAITED_NS + rep->window_ns / 10;
    return waited || rep->status == KG_RUN_ACTIVE ? KG_PROFILE_VOID : KG_PROFILE_ON;
}

/* The window of timing: CPU time outside the call is added. */
static double window_of(const struct kg_call_report *rep)
{
    return (double)(rep->window_ns + rep->tail_cpu_ns + rep->idle_cpu_ns);
}

int64_t kg_profile_reference_deadline(const struct kg_profiling *s)
{
    return kg_clock_ns() + (int64_t)(s->e->w->config.deadline_run * 1e9);
}

enum kg_profile_step kg_profile_reference_failed(const struct kg_profiling *s,
                                                 enum kg_run_status status, struct kg_err *err)
{
    kg_fail(err, KG_E_GYM, "%s: a reference that was right before fails (status %d)",
            kg_native_of(s->e->w)->problem->path, (int)status);
    return KG_PROFILE_ERROR;
}

/* A reference's answer, taken as that side. The oracle's work outside its call does no harm. */
enum kg_profile_step kg_profile_ask_reference(struct kg_profiling *s, const struct kg_case *c,
                                              enum kg_side side, double *ns, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(s->e->w);
    struct kg_take_report take;
    struct kg_call_report rep = {.status = KG_RUN_OK};
    bool wide = side == KG_SIDE_ORACLE;
    enum kg_profile_step step = fill(s, c, wide, err);
    if (step == KG_PROFILE_ON) {
        step = call(s, c, wide, wide ? &n->own.oracle.runner : &n->own.ref.runner,
                    kg_profile_reference_deadline(s), &rep);
        *ns = window_of(&rep);
    }
    if (step == KG_PROFILE_FAILED) {
        return kg_profile_reference_failed(s, rep.status, err);
    }
    if (step != KG_PROFILE_ERROR && kg_judge_take(&n->judge, c, side, &take, err) != KG_OK) {
        return KG_PROFILE_ERROR;
    }
    return wide && step == KG_PROFILE_VOID ? KG_PROFILE_ON : step;
}

/* Is the answer in the region right? */
static enum kg_profile_step compare(struct kg_profiling *s, const struct kg_case *c,
                                    enum kg_compare_mode mode, struct kg_take_report *take,
                                    struct kg_judgement *j, struct kg_err *err)
{
    struct kg_judge *judge = &kg_native_of(s->e->w)->judge;
    if (kg_judge_take(judge, c, KG_SIDE_CANDIDATE, take, err) != KG_OK ||
        kg_judge_compare(judge, c, mode, j, err) != KG_OK) {
        return KG_PROFILE_ERROR;
    }
    bool written = take->what != KG_TAKE_OUT_OF_BOUNDS && !take->certain;
    return written && j->compare.pass ? KG_PROFILE_ON : KG_PROFILE_FAILED;
}

/* What a wrong answer means depends on the process. */
static enum kg_profile_step wrong(struct kg_profiling *s, enum kg_profile_side side,
                                  const struct kg_case *c, const struct kg_take_report *take,
                                  const struct kg_judgement *j)
{
    if (side == KG_PROFILE_STUB) {
        s->calls->wrong_without = true;
        return KG_PROFILE_ON;
    }
    s->accused = true;
    struct kg_pooled_case pc = {.c = *c, .variant = KG_VARIANT_DEFAULT};
    kg_native_verdict_of_case(s->e, &pc, take, j);
    kg_again_timed(s->e, KG_DOUBT_TIMED_GIVEN, 0, s->asked, s->right);
    return KG_PROFILE_FAILED;
}

enum kg_profile_step kg_profile_ask(struct kg_profiling *s, const struct kg_case *c,
                                    enum kg_profile_side side, enum kg_compare_mode mode,
                                    double *ns, struct kg_err *err)
{
    struct kg_call_report rep;
    struct kg_take_report take;
    struct kg_judgement j;
    s->asked += side == KG_PROFILE_PLAIN;
    if (fill(s, c, false, err) != KG_PROFILE_ON) {
        return KG_PROFILE_ERROR;
    }
    enum kg_profile_step made = call(s, c, false, &s->runner[side], deadline_of(s, side), &rep);
    if (made == KG_PROFILE_FAILED) {
        return kg_profile_lose(s, side, rep.status);
    }
    *ns = window_of(&rep);
    if (side == KG_PROFILE_COUNTED || (side == KG_PROFILE_STUB && s->calls->wrong_without)) {
        return made;
    }
    enum kg_profile_step step = compare(s, c, mode, &take, &j, err);
    s->calls->right_without += step == KG_PROFILE_ON && side == KG_PROFILE_STUB;
    if (step == KG_PROFILE_FAILED) {
        step = wrong(s, side, c, &take, &j);
    } else if (step == KG_PROFILE_ON && side == KG_PROFILE_PLAIN) {
        s->right++;
    }
    return step == KG_PROFILE_ON ? made : step;
}

/* Calls on one set of inputs, not compared: what such a call leaves undone, a later one has to do.
 * longest: the longest window, NULL: not wanted. */
enum kg_profile_step kg_profile_warm_up(struct kg_profiling *s, struct kg_runner *run,
                                        int64_t deadline_ns, int64_t *longest,
                                        enum kg_run_status *status, struct kg_err *err)
{
    const struct kg_case c = {
        .shape = s->shape, .law = KG_LAW_OWN, .key = kg_key_derive(s->e->key, "coverage-warm", 0)};
    struct kg_call_report rep = {.faults = 0};
    enum kg_profile_step step = fill(s, &c, false, err);
    for (int i = 0, quiet = 0; i < MOST_WARM && quiet < QUIET_WARM && step == KG_PROFILE_ON; i++) {
        step = call(s, &c, false, run, deadline_ns, &rep);
        step = step == KG_PROFILE_VOID ? KG_PROFILE_ON : step;
        quiet = rep.faults > 0 ? 0 : quiet + 1;
        if (longest && rep.window_ns > *longest) {
            *longest = rep.window_ns;
        }
    }
    *status = rep.status;
    return step;
}

enum kg_profile_step kg_profile_warm_side(struct kg_profiling *s, enum kg_profile_side side,
                                          struct kg_err *err)
{
    enum kg_run_status status;
    enum kg_profile_step step =
        kg_profile_warm_up(s, &s->runner[side], deadline_of(s, side),
                           side == KG_PROFILE_PLAIN ? &s->longest_ns : NULL, &status, err);
    return step == KG_PROFILE_FAILED ? kg_profile_lose(s, side, status) : step;
}
