/* Verified calls: both sides on fresh values, comparison. The same path for warm-ups, extra and
 * timed calls, so that no process can tell which is which. */
#include <string.h>

#include "base/clock.h"
#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/own_k.h"
#include "gym/torch/judging/reference.h"
#include "gym/torch/timing/torch_pairs_private.h"

#define CASE KG_TORCH_TIMING_ID
/* With fewer null calls the reference is called more often, only to reach their least number. */
#define NULL_ONE_IN 2

/* --- calls --- */

static enum kg_code run(struct kg_tpairs *s, const struct kg_dj_call *c, struct kg_dj_report *rep,
                        struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(s->w);
    return (t->test.run ? t->test.run : kg_dj_run)(&t->judge, c, rep, err);
}

/* All calls of a process alike, and those that tell K. */
bool kg_tpairs_ahead(const struct kg_tpairs *s)
{
    return s->opt.ahead && kg_tahead_may(&s->instance->desc);
}

struct kg_dj_call kg_tpairs_call_of(const struct kg_tpairs *s, int port, enum kg_tcommand command)
{
    bool first = s->cand && port == s->cand->port && s->out && s->out->calls <= 1;
    uint32_t ahead = kg_tpairs_ahead(s) ? KG_TF_AHEAD : 0;
    return (struct kg_dj_call){
        .port = port,
        .id = CASE,
        .command = command,
        .flags = KG_TF_BIND | ahead | (s->instance->desc.random ? KG_TF_DRAWS : 0),
        .seed = s->seed,
        .deadline_ns = kg_clock_ns() + s->opt.call_ns + (first ? s->opt.first_call_ns : 0)};
}

enum kg_tflow kg_tpairs_ask_reference(struct kg_tpairs *s, const struct kg_dj_call *c,
                                      const char *what, struct kg_dj_report *rep,
                                      struct kg_err *err)
{
    if (run(s, c, rep, err) != KG_OK ||
        kg_treference_check(s->w, &s->instance->ref, what, rep, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    if (rep->late_write || rep->guard_hit || rep->input_modified) {
        kg_fail(err, KG_E_PROBLEM, "%s: timing: the reference %s", kg_torch_of(s->w)->problem->path,
                rep->late_write       ? "changes an answer after it gave it"
                : rep->input_modified ? "writes to an input"
                                      : "writes outside its answer");
        return KG_TFLOW_ERROR;
    }
    return KG_TFLOW_ON;
}

static enum kg_tflow ask_null(struct kg_tpairs *s, const struct kg_dj_call *c,
                              struct kg_dj_report *rep, struct kg_err *err)
{
    if (run(s, c, rep, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    if (rep->status == KG_DJ_ANSWERED && rep->said == KG_TA_OK) {
        return KG_TFLOW_ON;
    }
    kg_fail(err, KG_E_GYM, "timing: the null runner failed (command %u: status %d, said %d)",
            c->command, (int)rep->status, (int)rep->said);
    return KG_TFLOW_ERROR;
}

enum kg_tflow kg_tpairs_fail(struct kg_tpairs *s, enum kg_tcommand command, int64_t call,
                             const struct kg_dj_report *rep, const struct kg_dj_judgement *j)
{
    struct kg_tpairs_failure *f = &s->out->failure;
    memset(f, 0, sizeof *f);
    f->command = command;
    f->report = *rep;
    f->compared = j != NULL;
    if (j) {
        f->judgement = *j;
    }
    f->law = s->law;
    f->call = call;
    f->right = s->out->verified;
    return KG_TFLOW_FAILED;
}

enum kg_tflow kg_tpairs_ask_candidate(struct kg_tpairs *s, const struct kg_dj_call *c,
                                      struct kg_dj_report *rep, struct kg_err *err)
{
    kg_pyrunner_wake(&s->cand->runner);
    enum kg_code code = run(s, c, rep, err);
    kg_pyrunner_rest(&s->cand->runner, false);
    if (code != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    bool good = rep->status == KG_DJ_ANSWERED && rep->said == KG_TA_OK;
    return good ? KG_TFLOW_ON
                : kg_tpairs_fail(s, (enum kg_tcommand)c->command, s->out->calls, rep, NULL);
}

/* --- sides --- */

enum kg_tflow kg_tpairs_reference(struct kg_tpairs *s, enum kg_dj_side keep,
                                  struct kg_dj_report *rep, struct kg_err *err)
{
    bool oracle = keep == KG_DJ_ORACLE, wide = oracle && !s->self && !s->instance->single;
    if (oracle && !wide && kg_tpairs_afresh(s, err) != KG_TFLOW_ON) {
        return KG_TFLOW_ERROR;
    }
    struct kg_dj_call c = kg_tpairs_call_of(s, s->instance->ref.port, KG_TC_CALL);
    c.keep = keep;
    c.flags |= wide ? KG_TF_WIDE : 0;
    c.timed = !oracle;
    c.deadline_ns += wide ? s->opt.first_call_ns : 0;
    return kg_tpairs_ask_reference(s, &c, wide ? "a call in double" : "a call", rep, err);
}

static enum kg_tflow candidate(struct kg_tpairs *s, struct kg_dj_report *rep, struct kg_err *err)
{
    s->out->calls++;
    struct kg_dj_call c = kg_tpairs_call_of(s, s->cand->port, KG_TC_CALL);
    c.keep = KG_DJ_CANDIDATE;
    c.timed = true;
    return kg_tpairs_ask_candidate(s, &c, rep, err);
}

uint32_t kg_tpairs_how(const struct kg_tpairs *s, bool usual)
{
    uint32_t own = KG_DJ_LEARNS | (s->instance->rare ? KG_DJ_RARE : 0);
    return (usual ? own : 0) | kg_treference_how(s->instance);
}

/* Bounds of the last case, whose other side is there; flags: 0, of the answer that is there. What
 * is timed is of the usual law, and so is what is learnt for it. */
static enum kg_tflow bounds(struct kg_tpairs *s, uint32_t flags, bool *applies, struct kg_err *err)
{
    struct kg_dj_report rep;
    bool usual = s->law == KG_TL_OWN;
    struct kg_dj_ask ask = kg_tplan_ask(&s->instance->desc, s->law, kg_tpairs_how(s, usual));
    if (flags && kg_tpairs_afresh(s, err) != KG_TFLOW_ON) {
        return KG_TFLOW_ERROR;
    }
    struct kg_dj_call c = kg_tpairs_call_of(s, s->instance->ref.port, KG_TC_CALL);
    c.keep = KG_DJ_FLOAT;
    c.flags |= flags;
    enum kg_tflow flow = flags ? kg_tpairs_ask_reference(s, &c, "a call", &rep, err) : KG_TFLOW_ON;
    if (flow == KG_TFLOW_ON &&
        kg_dj_self(&kg_torch_of(s->w)->judge, CASE, &ask, applies, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    bool some, shows = flow == KG_TFLOW_ON && usual && flags == 0;
    return !shows || kg_dj_choice(&kg_torch_of(s->w)->judge, CASE, CASE, KG_DJ_POINTS, &some,
                                  err) == KG_OK
               ? flow
               : KG_TFLOW_ERROR;
}

/* It has said so of the last command, and lives. */
static bool refuses(struct kg_tpairs *s, enum kg_tflow flow, const struct kg_err *err)
{
    return flow == KG_TFLOW_ERROR && err->code == KG_E_PROBLEM &&
           kg_treference_outlives(s->w, &s->instance->ref);
}

/* As in cases.c: where its error is not how far it is from its oracle, it answers off. */
enum kg_tflow kg_tpairs_self(struct kg_tpairs *s, bool *applies, struct kg_err *err)
{
    struct kg_dj_report rep;
    bool tf32 = kg_torch_tf32(s->w), off = tf32 || (s->instance->single && !s->self), ignored;
    *applies = false;
    enum kg_tflow flow = kg_tpairs_reference(s, KG_DJ_ORACLE, &rep, err);
    if (flow == KG_TFLOW_ON) {
        flow = bounds(s, !off ? 0 : tf32 ? KG_TF_NEAR | KG_TF_FINE : KG_TF_NEAR, applies, err);
    }
    if (flow == KG_TFLOW_ON && tf32 && *applies) {
        flow = bounds(s, KG_TF_NEAR, &ignored, err);
    }
    if (flow == KG_TFLOW_ON && !off && !*applies) {
        flow = kg_tpairs_settle(s, applies, err);
    }
    /* As in cases.c: a law that it refuses to be asked about off, or in double, does not apply. */
    if (s->law != KG_TL_OWN && refuses(s, flow, err) && s->instance->ref.up) {
        *err = (struct kg_err)KG_ERR_INIT;
        *applies = false;
        return KG_TFLOW_ON;
    }
    return flow == KG_TFLOW_ON ? KG_TFLOW_ON : KG_TFLOW_ERROR;
}

/* What others' work made longer is no part of K. */
enum kg_tflow kg_tpairs_null_call(struct kg_tpairs *s, bool *loud, struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_call c = kg_tpairs_call_of(s, kg_torch_of(s->w)->null.port, KG_TC_NULL);
    c.timed = true;
    if (s->lends) { /* what it does itself takes no memory */
        c.lent = 1 + s->instance->ref.port;
        c.flags &= ~(uint32_t)KG_TF_BIND;
    }
    enum kg_tflow flow = ask_null(s, &c, &rep, err);
    *loud = flow == KG_TFLOW_ON && rep.loud;
    if (flow == KG_TFLOW_ON && !rep.loud && s->nnull < KG_TPAIRS_NULLS) {
        s->null_ns[s->nnull++] = (double)kg_tpairs_time(s, &rep);
    }
    return flow;
}

bool kg_tpairs_sound(const struct kg_dj_report *rep, const struct kg_dj_judgement *j)
{
    bool form = j->arity || j->structure || j->shape || j->dtype || j->device || j->alias;
    bool memory = rep->late_write || rep->input_modified || rep->guard_hit;
    return !form && !memory;
}

/* *j once more, by the oracle where it says anything of these inputs. */
static enum kg_tflow ask_oracle(struct kg_tpairs *s, struct kg_dj_judgement *j, bool *applies,
                                struct kg_err *err)
{
    enum kg_tflow flow = kg_tpairs_self(s, applies, err);
    if (flow == KG_TFLOW_ON && *applies &&
        kg_dj_compare(&kg_torch_of(s->w)->judge, CASE, kg_tlaw_probes(s->law), j, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    s->out->oracle_checked += flow == KG_TFLOW_ON && *applies;
    bool wrong = flow == KG_TFLOW_ON && *applies && !j->compare.pass;
    return wrong ? kg_tpairs_seen(s, j, err) : flow;
}

/* With the float reference, by what it is known to err on the problem's own inputs, which is little
 * on touched ones and under other laws: who is as near to it there is right. What that finds wrong,
 * and the probe, are asked of the oracle, which decides where the reference meets it; where it does
 * not, nobody is blamed. So is a random part of what is timed: once the device is others' again,
 * unless such inputs cannot be made twice (wait false). */
static enum kg_tflow verify(struct kg_tpairs *s, const struct kg_dj_report *rep, bool timed,
                            bool wait, struct kg_err *err)
{
    struct kg_dj_judgement j;
    bool usual = kg_tpairs_counts(s->law), applies = true;
    if (kg_dj_compare(&kg_torch_of(s->w)->judge, CASE, false, &j, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    bool numbers = !j.compare.pass && !(j.arity || j.structure || j.shape || j.dtype);
    bool now = kg_tlaw_probes(s->law) || numbers ||
               (usual && timed && !wait && kg_rng_below(&s->rng, 4) == 0);
    if (now && ask_oracle(s, &j, &applies, err) != KG_TFLOW_ON) {
        return KG_TFLOW_ERROR;
    }
    bool unknown = !applies || kg_tcase_lets_off(&s->instance->cases[s->law], &j);
    if (unknown && (!usual || numbers) && kg_tpairs_sound(rep, &j)) {
        return KG_TFLOW_DOUBT;
    }
    if (!j.compare.pass || !kg_tpairs_sound(rep, &j)) {
        return kg_tpairs_fail(s, KG_TC_CALL, s->out->calls, rep, &j);
    }
    s->out->verified++;
    return usual && timed && wait && !now ? kg_tpairs_for_later(s, rep, err) : KG_TFLOW_ON;
}

/* --- draws that the reference refuses --- */

/* Its answer to the last draw. Only its own complaint, about inputs that the judge holds, is a
 * refusal. */
static enum kg_tflow expected(struct kg_tpairs *s, struct kg_dj_report *rep, struct kg_err *err)
{
    rep->said = KG_TA_OK;
    enum kg_tflow flow = kg_tpairs_reference(s, KG_DJ_FLOAT, rep, err);
    return rep->said != KG_TA_OK && refuses(s, flow, err) ? KG_TFLOW_REFUSED : flow;
}

enum kg_tflow kg_tpairs_own(struct kg_tpairs *s, struct kg_dj_report *rep, struct kg_err *err)
{
    enum kg_tflow flow;
    int refused = 0;
    bool again;
    do {
        flow = kg_tpairs_draw(s, KG_TL_OWN, err);
        flow = flow == KG_TFLOW_ON ? expected(s, rep, err) : flow;
        again = flow == KG_TFLOW_REFUSED && s->instance->ref.up && ++refused < KG_TPAIRS_REFUSALS;
        if (again) {
            *err = (struct kg_err)KG_ERR_INIT;
        }
    } while (again);
    return flow == KG_TFLOW_REFUSED ? KG_TFLOW_ERROR : flow;
}

/* Both sides on the last draw. Where the candidate fails first, the reference is asked about the
 * same draw before that counts; one that is late or lacks memory then excuses nobody. */
static enum kg_tflow both(struct kg_tpairs *s, bool cand_first, struct kg_dj_report *ref,
                          struct kg_dj_report *cand, struct kg_err *err)
{
    enum kg_tflow first = cand_first ? candidate(s, cand, err) : KG_TFLOW_ON;
    bool broken = first == KG_TFLOW_FAILED && cand->status == KG_DJ_PROTOCOL;
    if (first == KG_TFLOW_ERROR || broken) {
        return first;
    }
    enum kg_tflow flow = expected(s, ref, err);
    bool stands = flow == KG_TFLOW_ON ||
                  (flow == KG_TFLOW_ERROR && (err->code == KG_E_PROBLEM || err->strained));
    if (first == KG_TFLOW_FAILED && stands) {
        *err = (struct kg_err)KG_ERR_INIT;
        return first;
    }
    return flow == KG_TFLOW_ON && !cand_first ? candidate(s, cand, err) : flow;
}

/* Can the candidate's process be called again? That an error of the device's has ended it is a
 * claim, which gets it a new process. */
static bool goes_on(const struct kg_tpairs *s, const struct kg_dj_report *cand)
{
    if (cand->status != KG_DJ_ANSWERED || cand->said == KG_TA_OK) {
        return cand->status == KG_DJ_ANSWERED;
    }
    return !kg_pyrunner_lost_device(&s->cand->runner);
}

/* The last draw was refused, and counts for nobody. ON: there will be another. */
static enum kg_tflow another(struct kg_tpairs *s, const struct kg_dj_report *cand,
                             struct kg_err *err)
{
    bool own = s->law == KG_TL_OWN, lost = !s->instance->ref.up || !goes_on(s, cand);
    s->out->refused++;
    s->refused[s->law] += lost && !own ? KG_TPAIRS_REFUSALS : 1;
    if (own && !lost && s->refused[s->law] >= KG_TPAIRS_REFUSALS) {
        return KG_TFLOW_ERROR; /* which the reference has told */
    }
    *err = (struct kg_err)KG_ERR_INIT;
    return lost ? KG_TFLOW_LOST : KG_TFLOW_ON;
}

/* Both sides on fresh values that the reference does not refuse. */
static enum kg_tflow answered(struct kg_tpairs *s, bool cand_first, struct kg_dj_report *ref,
                              struct kg_dj_report *cand, struct kg_err *err)
{
    enum kg_tflow flow;
    bool refused;
    do {
        cand->status = KG_DJ_ANSWERED;
        cand->said = KG_TA_OK;
        flow = kg_tpairs_draw(s, kg_tpairs_law(s), err);
        flow = flow == KG_TFLOW_ON ? both(s, cand_first, ref, cand, err) : flow;
        refused = flow == KG_TFLOW_REFUSED;
        flow = refused ? another(s, cand, err) : flow;
    } while (refused && flow == KG_TFLOW_ON);
    if (flow == KG_TFLOW_ON && s->law == KG_TL_OWN) {
        s->refused[KG_TL_OWN] = 0;
    }
    return flow;
}

enum kg_tflow kg_tpairs_verified(struct kg_tpairs *s, bool cand_first, struct kg_pair *pair,
                                 struct kg_err *err)
{
    struct kg_dj_report ref, cand;
    bool loud = false;
    if (*s->w->cancelled) {
        kg_fail(err, KG_E_CANCELLED, "interrupted");
        return KG_TFLOW_ERROR;
    }
    enum kg_tflow flow = answered(s, cand_first, &ref, &cand, err);
    bool left = flow == KG_TFLOW_ON && kg_tpairs_left_asked(s);
    flow = left ? kg_tpairs_left_reference(s, err) : flow;
    bool alone =
        kg_torch_of(s->w)->judge.held || !s->opt.exclusive; /* else others' work is in it */
    if (flow == KG_TFLOW_ON && alone && kg_rng_below(&s->rng, NULL_ONE_IN) == 0) {
        flow = kg_tpairs_null_call(s, &loud, err);
    }
    bool wait = flow == KG_TFLOW_ON && kg_tpairs_may_wait(s, &cand);
    flow = flow == KG_TFLOW_ON ? verify(s, &cand, pair != NULL, wait, err) : flow;
    flow = flow == KG_TFLOW_ON && left ? kg_tpairs_left_candidate(s, err) : flow;
    if (flow != KG_TFLOW_ON) {
        return flow;
    }
    if (pair) {
        *pair = (struct kg_pair){kg_tpairs_time(s, &ref), kg_tpairs_candidate_time(s, &cand),
                                 cand_first};
    }
    if (ref.loud || cand.loud) {
        s->out->setup_ns = ref.loud ? ref.setup_ns : cand.setup_ns;
        s->out->close_ns = ref.loud ? ref.close_ns : cand.close_ns;
        return KG_TFLOW_LOUD;
    }
    return KG_TFLOW_ON;
}
