/* Verified calls: fill, call, take, compare. Warm-ups, primers, extra calls and timed calls take
 * the same path, so that a process cannot tell them apart. */
#include <string.h>

#include "base/clock.h"
#include "gym/timing/session.h"

/* A call whose process did not run for longer than this, and for a tenth of its window, had to wait
 * for the core. The hand-off (K) takes 3 to 13 us. */
#define WAITED_NS 25000

static bool has_oracle(const struct kg_session *s)
{
    return s->in->oracle != NULL;
}

static struct kg_runner *runner_of(struct kg_session *s, enum kg_side side)
{
    return side == KG_SIDE_CANDIDATE ? &s->cand->runner
           : side == KG_SIDE_ORACLE  ? &s->own->oracle.runner
                                     : &s->own->ref.runner;
}

static void fail_here(struct kg_session *s, enum kg_pairs_failure_kind kind,
                      const struct kg_case *c)
{
    struct kg_pairs_failure *f = &s->out->failure;
    memset(f, 0, sizeof *f);
    f->kind = kind;
    f->c = *c;
    f->process = s->out->nprocess;
    f->call = s->calls;
    f->right_calls = s->process->verified;
}

/* Turns a call's status into a flow; its meaning depends on the side. */
static enum kg_flow judge_status(struct kg_session *s, const struct kg_case *c, enum kg_side side,
                                 const struct kg_call_report *rep, struct kg_err *err)
{
    if (rep->status == KG_RUN_OK) {
        return KG_FLOW_ON;
    }
    if (rep->status == KG_RUN_ACTIVE) {
        s->active = *rep;
        s->active_is_candidate = side == KG_SIDE_CANDIDATE;
        return KG_FLOW_VOID;
    }
    if (side == KG_SIDE_CANDIDATE) {
        fail_here(s, KG_PAIRS_RUN, c);
        s->out->failure.run = rep->status;
        return KG_FLOW_FAILED;
    }
    /* One that is kept was right before, so the problem is not at fault. */
    kg_fail(err, s->in->kept ? KG_E_GYM : KG_E_PROBLEM, "timing: the %s of %s %s",
            side == KG_SIDE_ORACLE ? "oracle" : "reference", s->in->problem->name,
            rep->status == KG_RUN_TIMEOUT    ? "took longer than a call may"
            : rep->status == KG_RUN_PROTOCOL ? "answered a call before it was made"
                                             : "died in a call");
    return KG_FLOW_ERROR;
}

/* Without the core through no doing of its own: who sleeps in a call would have it repeated, for a
 * better time. */
static int64_t waited_ns(const struct kg_call_report *rep)
{
    int64_t off = rep->window_ns - rep->cpu_ns;
    return rep->delayed_ns >= 0 && rep->delayed_ns < off ? rep->delayed_ns : off;
}

enum kg_flow kg_session_ask(struct kg_session *s, const struct kg_case *c, enum kg_side side,
                            int64_t *ns, struct kg_err *err)
{
    bool wide = side == KG_SIDE_ORACLE;
    struct kg_layout l;
    struct kg_wire_call words;
    struct kg_call_report rep;
    if (wide && kg_session_oracle(s, err) != KG_OK) {
        return KG_FLOW_ERROR;
    }
    if (s->in->cancel && *s->in->cancel) {
        kg_fail(err, KG_E_CANCELLED, "timing: cancelled");
        return KG_FLOW_ERROR;
    }
    /* With `cold`, every call is cold: a warm one would show that it is not timed. */
    if (kg_judge_fill(s->in->judge, c, wide, err) != KG_OK ||
        (s->opt->cold && !wide && kg_judge_flush(s->in->judge, c, err) != KG_OK)) {
        return KG_FLOW_ERROR;
    }
    kg_layout_plan(s->in->problem, &c->shape, wide, 0, c->in_base, c->out_base, &l);
    kg_layout_call(s->in->problem, &c->shape, c->key, &l, wide, &words);
    s->calls += side == KG_SIDE_CANDIDATE;
    if (side == KG_SIDE_CANDIDATE && s->in->watch) {
        s->in->watch(s->in->watch_ctx, c, memcmp(&c->key, &s->timed.key, sizeof c->key) == 0);
    }
    int64_t deadline = kg_clock_ns() + s->opt->call_deadline_ns;
    kg_runner_call(runner_of(s, side), &words, deadline, true, &rep);
    *ns = rep.window_ns + rep.tail_cpu_ns + rep.idle_cpu_ns;
    s->waited |= waited_ns(&rep) > WAITED_NS + rep.window_ns / 10;
    if (side == KG_SIDE_FLOAT && (s->reference_ns == 0 || *ns < s->reference_ns)) {
        s->reference_ns = *ns;
    }
    if (rep.faults > 0 && !wide) {
        int64_t *faults =
            side == KG_SIDE_CANDIDATE ? &s->process->cand_faults : &s->process->ref_faults;
        *faults += rep.faults;
    }
    return judge_status(s, c, side, &rep, err);
}

enum kg_flow kg_session_take(struct kg_session *s, const struct kg_case *c, enum kg_side side,
                             struct kg_err *err)
{
    struct kg_take_report take;
    if (kg_judge_take(s->in->judge, c, side, &take, err) != KG_OK) {
        return KG_FLOW_ERROR;
    }
    if (side == KG_SIDE_CANDIDATE) {
        /* The comparison comes first, because it tells a replay. An integer may equal poison. */
        s->taken = take;
        s->taken_call = s->calls;
    }
    if (take.what == KG_TAKE_OK || (take.what == KG_TAKE_UNWRITTEN && side == KG_SIDE_CANDIDATE)) {
        return KG_FLOW_ON;
    }
    if (side == KG_SIDE_CANDIDATE) {
        fail_here(s, KG_PAIRS_OUT_OF_BOUNDS, c);
        s->out->failure.take = take;
        return KG_FLOW_FAILED;
    }
    kg_fail(err, KG_E_PROBLEM, "timing: the reference of %s %s `%s`", s->in->problem->name,
            take.what == KG_TAKE_UNWRITTEN ? "leaves part unwritten of" : "writes outside",
            s->in->problem->args[take.arg].name);
    return KG_FLOW_ERROR;
}

/* Compares; a wrong answer that is not `final` is told by *right alone. */
static enum kg_flow compare_in(struct kg_session *s, const struct kg_case *c,
                               enum kg_compare_mode mode, bool final, bool *right,
                               struct kg_err *err)
{
    struct kg_judgement j;
    if (kg_judge_compare(s->in->judge, c, mode, &j, err) != KG_OK) {
        return KG_FLOW_ERROR;
    }
    *right = j.compare.pass;
    if (j.compare.pass || !final) {
        return KG_FLOW_ON;
    }
    fail_here(s, KG_PAIRS_WRONG, c);
    s->out->failure.call = s->taken_call; /* another call may have been made since */
    s->out->failure.take = s->taken;
    s->out->failure.judgement = j;
    s->out->failure.mode = mode;
    return KG_FLOW_FAILED;
}

/* Tests whether the reference meets the bound under this law; only then does the law bind the
 * candidate. */
static enum kg_flow reference_meets(struct kg_session *s, const struct kg_case *c, bool *meets,
                                    struct kg_err *err)
{
    struct kg_judgement self;
    if (kg_judge_self(s->in->judge, c, &self, err) != KG_OK) {
        return KG_FLOW_ERROR;
    }
    *meets = self.compare.pass;
    return KG_FLOW_ON;
}

/* Asks the oracle, and compares with it if the law applies to this case. */
static enum kg_flow compare_with_oracle(struct kg_session *s, const struct kg_case *c,
                                        struct kg_err *err)
{
    int64_t ns;
    bool applies = true, right;
    enum kg_flow flow = kg_session_ask(s, c, KG_SIDE_ORACLE, &ns, err);
    /* The oracle is never timed, so its work between calls does no harm. */
    flow = flow == KG_FLOW_VOID ? KG_FLOW_ON : flow;
    flow = flow == KG_FLOW_ON ? kg_session_take(s, c, KG_SIDE_ORACLE, err) : flow;
    if (flow == KG_FLOW_ON && c->law != KG_LAW_OWN) {
        flow = reference_meets(s, c, &applies, err);
    }
    return flow == KG_FLOW_ON && applies ? compare_in(s, c, KG_COMPARE_ORACLE, true, &right, err)
                                         : flow;
}

/* An answer that compares as right, of which floats were left out. */
static enum kg_flow unwritten(struct kg_session *s, const struct kg_case *c)
{
    fail_here(s, KG_PAIRS_WRONG, c);
    s->out->failure.call = s->taken_call;
    s->out->failure.take = s->taken;
    s->out->failure.judgement.compare.pass = true;
    return KG_FLOW_FAILED;
}

/* The reference's errors are known best for the own law, so a wrong answer there is wrong. Under
 * another law the float reference only says what is right, and the oracle decides about the rest.
 */
enum kg_flow kg_session_compare(struct kg_session *s, const struct kg_case *c, bool oracle,
                                struct kg_err *err)
{
    bool usual = c->law == KG_LAW_OWN, right = false;
    enum kg_flow flow = KG_FLOW_ON;
    oracle = oracle && has_oracle(s);
    if (usual || !oracle) {
        flow = compare_in(s, c, KG_COMPARE_FLOAT, usual, &right, err);
    }
    if (flow == KG_FLOW_ON && (oracle || !right)) {
        flow = compare_with_oracle(s, c, err);
    }
    flow = flow == KG_FLOW_ON && s->taken.certain ? unwritten(s, c) : flow;
    if (flow == KG_FLOW_ON) {
        s->process->verified++;
    }
    return flow;
}

static enum kg_flow verified_once(struct kg_session *s, bool oracle, struct kg_err *err)
{
    struct kg_case c;
    int64_t ns;
    static const enum kg_side sides[] = {KG_SIDE_FLOAT, KG_SIDE_CANDIDATE};
    kg_session_draw_call(s, &c);
    for (int i = 0; i < 2; i++) {
        enum kg_flow flow = kg_session_ask(s, &c, sides[i], &ns, err);
        flow = flow == KG_FLOW_ON ? kg_session_take(s, &c, sides[i], err) : flow;
        if (flow != KG_FLOW_ON) {
            return flow;
        }
    }
    return kg_session_compare(s, &c, oracle, err);
}

bool kg_session_repeat(struct kg_session *s, enum kg_flow flow, struct kg_voids *seen)
{
    if (flow != KG_FLOW_VOID) {
        return false;
    }
    s->process->voided++;
    return (s->active_is_candidate ? ++seen->candidate : ++seen->reference) < KG_ACTIVE_CALLS;
}

enum kg_flow kg_session_verified(struct kg_session *s, bool oracle, struct kg_err *err)
{
    struct kg_voids voids = {0};
    enum kg_flow flow = verified_once(s, oracle, err);
    while (kg_session_repeat(s, flow, &voids)) {
        flow = verified_once(s, oracle, err);
    }
    return flow == KG_FLOW_VOID ? kg_session_async(s, err) : flow;
}

enum kg_flow kg_session_quiet(struct kg_session *s)
{
    int64_t idle_ns = kg_runner_idle_ns(&s->cand->runner);
    if (idle_ns <= s->cand->runner.idle_slack_ns) {
        return KG_FLOW_ON;
    }
    s->active = (struct kg_call_report){.status = KG_RUN_ACTIVE, .idle_cpu_ns = idle_ns};
    s->active_is_candidate = true;
    kg_runner_rest_again(&s->cand->runner);
    return KG_FLOW_VOID;
}

enum kg_flow kg_session_async(struct kg_session *s, struct kg_err *err)
{
    if (!s->active_is_candidate) {
        kg_fail(err, KG_E_GYM,
                "timing: the reference of %s ran outside its calls again and again (%lld ns idle, "
                "%lld ns after its answer)",
                s->in->problem->name, (long long)s->active.idle_cpu_ns,
                (long long)s->active.tail_cpu_ns);
        return KG_FLOW_ERROR;
    }
    struct kg_case none = {0};
    fail_here(s, KG_PAIRS_ASYNC, &none);
    s->out->failure.run = KG_RUN_ACTIVE;
    s->out->failure.idle_cpu_ns = s->active.idle_cpu_ns;
    s->out->failure.tail_cpu_ns = s->active.tail_cpu_ns;
    return KG_FLOW_FAILED;
}
