/* A case: inputs as masters of the judge, and the reference's answers to them in float and in
 * double. Kept for the next candidates; renewed now and then. */
#include "gym/torch/judging/cases.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "gym/torch/judging/case_choices.h"
#include "gym/torch/judging/cases_private.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/memory.h"
#include "gym/torch/judging/reference.h"
#include "gym/torch/judging/state_parts.h"
#include "gym/torch/problem/own_law.h"
#include "gym/torch/runner/torch_runner.h"

#define RENEW      64 /* evaluations that a case serves */
#define OWN_TRIES  4  /* draws of the problem's own inputs, until one suits its reference */
#define NEAR_TRIES 2  /* keys of laws near the own one; the second without large elements */
/* Of an answer to inputs moved by a rounding error, over its bound. A softmax of numbers around a
 * thousand reaches 30 and is well worth asking; a variance of equal numbers has no bound at all. */
#define COLLAPSED 100.0
#define FEW       1000000 /* one element of so many may be in a law's tail, */
#define FAR       10.0    /* by so many bounds, */
#define TAIL      4.0     /* or by so many times of what rounding the inputs does */
#define LEANS     2048    /* equal terms, which bring the bound to its ceiling */

struct kg_dj_call kg_tcase_command(const struct kg_worker *w, const struct kg_tinstance *s, int id,
                                   enum kg_tcommand command, uint64_t seed)
{
    double limit = w->config.deadline_run + w->config.torch_first_call;
    return (struct kg_dj_call){.port = s->ref.port,
                               .id = id,
                               .command = command,
                               .seed = seed,
                               .deadline_ns = kg_clock_ns() + (int64_t)(limit * 1e9)};
}

static enum kg_code load_state(struct kg_worker *w, struct kg_tinstance *s, int set,
                               struct kg_err *err)
{
    struct kg_dj_report rep;
    int id;
    if (s->desc.nstate == 0 || (s->state_loaded == set && !s->desc.updates_state)) {
        return KG_OK;
    }
    if (kg_tinstance_state(w, s, set, &id, err) != KG_OK) {
        return err->code;
    }
    for (size_t part = 0; part < kg_tstate_parts(s->desc.nstate); part++) {
        struct kg_dj_call call = kg_tcase_command(w, s, id, KG_TC_STATE, 1);
        kg_tstate_part(&call, id, s->desc.nstate, part);
        if (kg_treference_ask(w, s, call, "loading parameters", &rep, err) != KG_OK) {
            return err->code;
        }
    }
    s->state_loaded = set;
    return KG_OK;
}

uint64_t kg_tcase_call_seed(const struct kg_tcase *c)
{
    struct kg_key key = {.w = {c->seed, 0}};
    return kg_key_derive(key, "calls", 0).w[0] >> 1;
}

enum kg_code kg_tcase_afresh(struct kg_worker *w, struct kg_tinstance *s, const struct kg_tcase *c,
                             struct kg_err *err)
{
    struct kg_dj_report rep;
    if (load_state(w, s, c->law == KG_TL_RELOAD, err) != KG_OK) {
        return err->code;
    }
    return kg_treference_ask(w, s, kg_tcase_command(w, s, c->id, KG_TC_BIND, kg_tcase_call_seed(c)),
                             "taking its inputs", &rep, err);
}

struct kg_dj_call kg_tcase_call(const struct kg_worker *w, const struct kg_tinstance *s,
                                const struct kg_tcase *c, enum kg_dj_side keep, uint32_t flags)
{
    struct kg_dj_call call = kg_tcase_command(w, s, c->id, KG_TC_CALL, kg_tcase_call_seed(c));
    call.keep = keep;
    call.flags = flags;
    return call;
}

/* A random reference that draws otherwise in double than in float (a fused dropout) has no oracle
 * but itself, under the same seed; nor has one without double whose answer jumps (a rounding) where
 * its inputs are moved. */
static enum kg_code self_oracle(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                struct kg_err *err)
{
    struct kg_dj_report rep;
    enum kg_dj_side other = s->single ? KG_DJ_FLOAT : KG_DJ_ORACLE; /* as the other one is */
    if (kg_tcase_afresh(w, s, c, err) != KG_OK ||
        kg_treference_ask(w, s, kg_tcase_call(w, s, c, other, 0), "a call under the same seed",
                          &rep, err) != KG_OK) {
        return err->code;
    }
    c->self = true;
    struct kg_dj_ask ask = kg_tplan_ask(&s->desc, c->law, 0);
    return kg_dj_self(&kg_torch_of(w)->judge, c->id, &ask, &c->applies, err);
}

/* It lives, and does not like these numbers. A call that lacks memory says nothing about them: who
 * takes it all would be spared the laws; but near ones take more than the problem's own, which
 * counts where no candidate is there. */
static bool refuses(struct kg_worker *w, struct kg_tinstance *s, const struct kg_dj_report *rep,
                    bool near, enum kg_code code)
{
    bool short_of = near && rep->said == KG_TA_OUT_OF_MEMORY && !kg_torch_of(w)->beside;
    return (code == KG_E_PROBLEM || short_of) && kg_treference_outlives(w, &s->ref);
}

/* Under `equal` all additions of an honest sum may round to the same side: a mean of K numbers is
 * off by up to K/3 rounding errors, and a norm multiplies that by 1/sqrt(eps). So the inputs are
 * moved by as much there, or up to twice as much. A K that is not known counts as 1. */
static uint32_t near_flags(const struct kg_tinstance *s, const struct kg_tcase *c)
{
    int64_t terms = s->desc.terms < LEANS ? s->desc.terms : LEANS;
    uint32_t n = 0;
    while (c->law == KG_TL_EQUAL && (int64_t)6 << n < terms) {
        n++; /* one moves by 2 u, a sixth of the terms by K/3 u */
    }
    return KG_TF_NEAR | KG_TF_ROUND_BY(n);
}

/* Where rounding the inputs changes the answer by more than the bound, an honest kernel that sums
 * in another order may miss it, even if the reference happens to meet it: a variance of equal
 * numbers is 0, or what the mean's rounding leaves. All-equal inputs, which the precision probe has
 * but for one, are asked only where the reference stays within its own bound; other laws unless its
 * answer has collapsed. */
static enum kg_code conditioned(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                bool *chose, struct kg_err *err)
{
    struct kg_dj_report rep = {.said = KG_TA_OK};
    struct kg_dj_judgement j;
    c->applies = *chose = false;
    if (kg_tcase_afresh(w, s, c, err) != KG_OK) {
        return err->code;
    }
    struct kg_dj_call call = kg_tcase_call(w, s, c, KG_DJ_CANDIDATE, near_flags(s, c));
    if (kg_treference_ask(w, s, call, "a call", &rep, err) != KG_OK) {
        return refuses(w, s, &rep, true, err->code) ? KG_OK : err->code;
    }
    *chose = kg_tchoices_chose(s); /* of this reply: what follows may ask the reference again */
    if (c->after_id >= 0 && kg_tcase_keep_state(w, s, c, KG_DJ_FLOAT, true, err) != KG_OK) {
        return err->code;
    }
    bool probe = kg_tlaw_probes(c->law), strict = probe || c->law == KG_TL_EQUAL;
    if (kg_dj_compare(&kg_torch_of(w)->judge, c->id, probe, &j, err) != KG_OK) {
        return err->code;
    }
    bool like = !(j.arity || j.structure || j.shape || j.dtype);
    bool near = !j.compare.nonfinite && j.compare.worst < COLLAPSED;
    c->applies = like && (j.compare.pass || (!strict && near));
    c->near = c->applies ? j.compare.worst : 0;
    return c->applies ? kg_tcase_near_state(w, s, c, err) : KG_OK;
}

/* Products along an axis of numbers that no law bounds have tails: one element in millions, what
 * cancelled, is twice as far off as its bound in one honest order and half as far in another.
 * Winograd's takes more of neighbours away than a sum of products adds: three bounds, where a tap
 * is nearly 0 and the number beside it is a thousand. */
bool kg_tcase_lets_off(const struct kg_tcase *c, const struct kg_dj_judgement *j)
{
    const struct kg_tcompare *m = &j->compare;
    bool numbers = !(j->arity || j->structure || j->shape || j->dtype || j->replay ||
                     j->repeats_twin || m->nonfinite || m->rms_failed);
    return !m->pass && numbers && c->near > 0 && !kg_tlaw_probes(c->law) &&
           m->n_bad <= m->n / FEW && m->worst <= fmax(FAR, 1 + TAIL * c->near);
}

/* Whether the problem's own inputs must suit the reference. */
static bool is_own(const struct kg_tcase *c)
{
    return c->law < KG_TL_BF16 && c->law != KG_TL_EDITED;
}

/* What it does in double, where that is no answer: from now on its oracle is itself in float.
 * Decided by the problem's own inputs, and before code of a candidate is there, which could see to
 * it that memory is short. */
static bool lacks_double(struct kg_worker *w, struct kg_tinstance *s, const struct kg_tcase *c,
                         const struct kg_err *err)
{
    bool may = is_own(c) && !kg_torch_of(w)->beside && !*w->cancelled;
    bool memory = err->code == KG_E_HOST && !kg_torch_of(w)->shared;
    if (s->single || !may || !(memory || err->code == KG_E_PROBLEM)) {
        return false;
    }
    if (s->slices > 0) {
        s->whole = true;
        return true;
    }
    s->single = true;
    s->ready = false; /* it is told when it builds its module */
    snprintf(s->why, sizeof s->why, "%s", err->message);
    return true;
}

/* The reference's answers: in float, and in double. Without double: with inputs and operations off
 * by a rounding error, which tells what rounding does, and as it is. *wide: the last one asked was
 * in double; *refused: it lives, and does not like these numbers. */
static enum kg_code both_answers(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                 bool *wide, bool *refused, struct kg_err *err)
{
    const bool tf32 = kg_torch_tf32(w);
    const uint32_t off = tf32 ? KG_TF_NEAR | KG_TF_FINE : KG_TF_NEAR;
    *refused = *wide = false;
    for (int oracle = 0; oracle < 2; oracle++) {
        struct kg_dj_report rep = {.said = KG_TA_OK};
        bool near = !oracle && (kg_tinstance_off(w, s) || c->law == KG_TL_OFFSET);
        *wide = oracle && !s->single;
        enum kg_code code = s->single ? kg_tcase_afresh(w, s, c, err) : KG_OK;
        struct kg_dj_call call = kg_tcase_call(w, s, c, oracle ? KG_DJ_ORACLE : KG_DJ_FLOAT,
                                               *wide  ? KG_TF_WIDE
                                               : near ? off
                                                      : 0);
        if (code == KG_OK) {
            code = kg_treference_ask(w, s, call, *wide ? "a call in double" : "a call", &rep, err);
            *refused = code != KG_OK && refuses(w, s, &rep, near, code);
        }
        s->narrows = s->narrows || (*wide && code == KG_OK && kg_treference_narrowed(s));
        if (code == KG_OK && oracle == s->single && c->after_id >= 0 && !tf32 &&
            c->law < KG_TL_BF16) {
            code = kg_tcase_keep_state(w, s, c, KG_DJ_FLOAT, true, err);
            c->after = code == KG_OK;
        }
        if (code == KG_OK && oracle == s->single && c->written_id >= 0) {
            code = kg_tcase_keep_inputs(w, s, c, false, err);
            code = code == KG_OK ? kg_tcase_keep_inputs(w, s, c, true, err) : code;
        }
        if (code != KG_OK) {
            return code;
        }
    }
    return KG_OK;
}

/* The last that is tried for the problem's own inputs, where no discrete choice is made of them:
 * from now on a few elements of its answers may be further off, the reference's as anybody's. */
static enum kg_code allow_rare(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                               struct kg_err *err)
{
    struct kg_dj_ask ask = kg_tplan_ask(&s->desc, c->law, KG_DJ_RARE | kg_treference_how(s));
    enum kg_code code = kg_dj_self(&kg_torch_of(w)->judge, c->id, &ask, &c->applies, err);
    s->rare = code == KG_OK && c->applies;
    return code;
}

/* Under a law of the judge's the reference may raise, or meet numbers that it does not stand. With
 * a large offset, what rounding the inputs does is the reference's own error: a norm takes the
 * mean's last bit for a thousandth of its answer, and whoever gets the variance wrong is further
 * off than that by far. */
static enum kg_code expect(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                           struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(w)->judge;
    bool wide, refused;
    if (kg_tcase_afresh(w, s, c, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = both_answers(w, s, c, &wide, &refused, err);
    if (code != KG_OK && wide && lacks_double(w, s, c, err)) {
        if (s->slices > 0) {
            c->applies = false; /* it is asked afresh as a whole */
            return KG_OK;
        }
        code = kg_tinstance_open(w, s, err) == KG_OK ? both_answers(w, s, c, &wide, &refused, err)
                                                     : err->code;
    }
    if (code != KG_OK) {
        return refused && !is_own(c) ? KG_OK : code;
    }
    uint32_t how = kg_treference_how(s) | (s->rare && is_own(c) ? KG_DJ_RARE : 0);
    struct kg_dj_ask ask = kg_tplan_ask(&s->desc, c->law, how);
    if (kg_dj_self(judge, c->id, &ask, &c->applies, err) != KG_OK) {
        return err->code;
    }
    if (s->narrows && (c->law == KG_TL_EQUAL || (is_own(c) && !c->applies))) {
        c->applies = false; /* equal: one sum says little of what rounding may do to it */
        return KG_OK;
    }
    bool alone = s->desc.random || (s->single && is_own(c));
    if (!c->applies && alone && self_oracle(w, s, c, err) != KG_OK) {
        return err->code;
    }
    bool own = is_own(c) || c->law == KG_TL_EDITED;
    if (!c->applies && own && !alone && kg_tchoices_settle(w, s, c, err) != KG_OK) {
        return err->code;
    }
    if (!c->applies && is_own(c) && c->chooses_not && !s->rare &&
        allow_rare(w, s, c, err) != KG_OK) {
        return err->code;
    }
    if (c->applies && kg_tchoices_point(w, s, c, err) != KG_OK) {
        return err->code;
    }
    if (c->applies && kg_torch_tf32(w)) {
        code = kg_tprecision_allow(w, s, c, err);
        return code == KG_E_PROBLEM && !is_own(c) && kg_treference_outlives(w, &s->ref) ? KG_OK
                                                                                        : code;
    }
    if (!c->applies || c->law < KG_TL_BF16) {
        return KG_OK;
    }
    bool chose;
    return conditioned(w, s, c, &chose, err) == KG_OK ? kg_tchoices_screen(w, s, c, chose, err)
                                                      : err->code;
}

static void renew(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c)
{
    c->ready = c->chooses_not = false;
    c->asked = 0;
    c->seed = kg_rng_u64(&w->rng) >> 1;
    kg_rng_bytes(&w->rng, &c->key, sizeof c->key);
    if (c->law == KG_TL_OWN) {
        s->cases[KG_TL_EDITED].asked = RENEW;
    } else if (c->law == KG_TL_EDITED) {
        c->seed = s->cases[KG_TL_OWN].seed;
    }
}

void kg_tcase_spend(struct kg_tinstance *s, enum kg_tlaw law)
{
    s->cases[law].asked = RENEW;
}

/* Slices of its inputs have to do with each other, or its answer is not as long as they are. The
 * plan is made again for all of them in double, or else in float. Beside a candidate nobody can
 * give memory back to make another plan. */
static enum kg_code as_a_whole(struct kg_worker *w, struct kg_tinstance *s, enum kg_tlaw law,
                               struct kg_tcase **out, struct kg_err *err)
{
    s->slices = 0;
    s->whole = true;
    s->ready = false; /* it is told when it builds its module */
    if (kg_torch_of(w)->beside) {
        s->single = true;
        snprintf(s->why, sizeof s->why, "there is no memory for answers in double");
    }
    return kg_tcase_ready(w, s, law, out, err);
}

/* It takes more from narrow numbers (their low bits, a choice among them) than an answer of that
 * type may lose: from now on the oracle has the same numbers. */
static enum kg_code carry_out(struct kg_worker *w, struct kg_tinstance *s, enum kg_tlaw law,
                              struct kg_tcase **out, struct kg_err *err)
{
    s->carries = true;
    s->narrows = s->ready = false; /* it is told when it builds its module */
    return kg_tcase_ready(w, s, law, out, err);
}

enum kg_code kg_tcase_ready(struct kg_worker *w, struct kg_tinstance *s, enum kg_tlaw law,
                            struct kg_tcase **out, struct kg_err *err)
{
    struct kg_tcase *c = *out = &s->cases[law];
    if (kg_tinstance_open(w, s, err) != KG_OK) {
        return err->code;
    }
    c->used = ++kg_torch_of(w)->uses;
    if (c->ready && c->asked < RENEW) {
        return KG_OK;
    }
    c->ready = false;
    kg_tmemory_room(w, c, law == KG_TL_EDITED ? &s->cases[KG_TL_OWN] : NULL);
    bool near = kg_tplan_touches(law) || law == KG_TL_RAISED; /* other places or factors may suit */
    int tries = c->forced ? 1 : near ? NEAR_TRIES : OWN_TRIES;
    do {
        if (!c->forced) {
            renew(w, s, c);
            c->key = kg_tplan_gently(c->key, tries < NEAR_TRIES);
        }
        c->applies = c->after = c->forced = c->self = c->products = false;
        c->near = 0;
        /* opened again: the try before may have ended the reference's process */
        if (kg_tinstance_open(w, s, err) != KG_OK || kg_tcase_fill(w, s, c, err) != KG_OK ||
            expect(w, s, c, err) != KG_OK) {
            return err->code;
        }
    } while ((is_own(c) || near) && !c->applies && !(s->whole && s->slices > 0) && --tries > 0);
    if (is_own(c) && !c->applies && s->slices > 0) {
        return as_a_whole(w, s, law, out, err);
    }
    if (is_own(c) && !c->applies && s->narrows) {
        return carry_out(w, s, law, out, err);
    }
    if (is_own(c) && !c->applies) {
        return kg_fail(err, KG_E_PROBLEM, "%s: the reference in float and in double disagree",
                       kg_torch_of(w)->problem->path);
    }
    c->ready = true;
    if (!c->applies) { /* that is all there is to know */
        kg_tcase_forget(w, s, c);
    }
    return KG_OK;
}
