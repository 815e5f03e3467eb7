/* Discrete choices of the reference, asked under several roundings. */
#include "gym/torch/judging/case_choices.h"

#include "gym/torch/judging/cases_private.h"
#include "gym/torch/judging/reference.h"
#include "gym/torch/problem/input_plan.h"

#define SHARE 8   /* one element of so many may be: who is wrong in more did not choose otherwise */
#define SOON  8   /* roundings, after which half of an honest candidate's choices were seen, */
#define MANY  8   /* if there are more than so many: integers, or floats of so many rows */
#define TAIL  4.0 /* A candidate's tail may be so many times that of the reference's roundings, */
#define JUMP  100.0 /* which is no tail if it is so many bounds long */

static bool has_integers(const struct kg_task_desc *d)
{
    bool some = false;
    for (size_t i = 0; i < d->noutputs; i++) {
        some = some || !kg_tdtype_floating((enum kg_tdtype)d->output[i].leaf.dtype);
    }
    return some;
}

enum kg_code kg_tchoices_point(struct kg_worker *w, struct kg_tinstance *s,
                               const struct kg_tcase *c, struct kg_err *err)
{
    const struct kg_tcase *own = &s->cases[KG_TL_OWN];
    bool some;
    if (!has_integers(&s->desc) || (c != own && !(own->ready && own->applies))) {
        return KG_OK;
    }
    return kg_dj_choice(&kg_torch_of(w)->judge, c->id, own->id, KG_DJ_POINTS, &some, err);
}

bool kg_tchoices_chose(struct kg_tinstance *s)
{
    json_t *reply = kg_pyrunner_reply(&s->ref.runner);
    bool none = json_is_false(json_object_get(reply, "chose"));
    s->chooses = s->chooses || json_is_true(json_object_get(reply, "chose"));
    json_decref(reply);
    return !none;
}

enum kg_code kg_tchoices_unanswered(const struct kg_tinstance *s, const struct kg_dj_report *rep,
                                    const struct kg_err *err)
{
    bool mild = err->code == KG_E_PROBLEM || rep->said == KG_TA_OUT_OF_MEMORY;
    return mild && s->ref.up ? KG_OK : err->code;
}

/* The reference's answer under rounding n, and a question about it. A reference that refuses it
 * has no such answer. */
static enum kg_code ask(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c, int n,
                        enum kg_dj_choice what, bool *flag, struct kg_err *err)
{
    struct kg_dj_report rep = {.said = KG_TA_OK};
    *flag = false;
    if (kg_tcase_afresh(w, s, c, err) != KG_OK) {
        return err->code;
    }
    struct kg_dj_call call = kg_tcase_call(w, s, c, KG_DJ_OTHER, KG_TF_ROUND_BY(n));
    if (kg_treference_ask(w, s, call, "a call, rounded otherwise", &rep, err) != KG_OK) {
        return kg_tchoices_unanswered(s, &rep, err);
    }
    c->chooses_not = !kg_tchoices_chose(s) && !has_integers(&s->desc);
    return kg_dj_choice(&kg_torch_of(w)->judge, c->id, c->id, what, flag, err);
}

enum kg_code kg_tchoices_screen(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                bool chose, struct kg_err *err)
{
    bool jumps = false;
    if (!c->applies || !(chose || has_integers(&s->desc))) {
        return KG_OK;
    }
    for (int n = 1; n <= KG_TCHOICES_FIRST && !jumps; n++) {
        if (ask(w, s, c, n, KG_DJ_JUMPS, &jumps, err) != KG_OK) {
            return err->code;
        }
    }
    c->applies = !jumps;
    return KG_OK;
}

enum kg_code kg_tchoices_settle(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                struct kg_err *err)
{
    struct kg_dj_ask bounds = kg_tplan_ask(&s->desc, c->law, kg_treference_how(s));
    enum kg_code code = KG_OK;
    for (int n = 1; code == KG_OK && !c->applies && !c->chooses_not && n <= KG_TCHOICES; n++) {
        bool some;
        code = ask(w, s, c, n, KG_DJ_SETTLE, &some, err);
        if (code == KG_OK && some) {
            code = kg_dj_self(&kg_torch_of(w)->judge, c->id, &bounds, &c->applies, err);
        }
    }
    return code;
}

bool kg_tchoices_may(const struct kg_tinstance *s, const struct kg_dj_judgement *j)
{
    const struct kg_tcompare *m = &j->compare;
    bool form = j->arity || j->structure || j->shape || j->dtype || j->leaf < 0;
    if (m->pass || form || (size_t)j->leaf >= s->desc.noutputs || m->nonfinite || m->n_bad == 0) {
        return false;
    }
    return m->n_bad <= 1 + m->n / SHARE;
}

/* A choice among rows, as of experts, makes all of a row wrong. */
static uint64_t at_once(const struct kg_tleaf *l)
{
    return kg_tdtype_floating((enum kg_tdtype)l->dtype) ? kg_tleaf_row(l) : 1;
}

bool kg_tchoices_hope(struct kg_tinstance *s, int n, const struct kg_dj_judgement *first,
                      const struct kg_dj_judgement *now)
{
    bool same =
        now->leaf == first->leaf; /* else all of one output was seen, and another is worst */
    uint64_t many = MANY * at_once(&s->desc.output[first->leaf].leaf);
    bool late = n == SOON && same && now->compare.n_bad > many;
    return (has_integers(&s->desc) || kg_tchoices_chose(s)) &&
           !(late && now->compare.n_bad > first->compare.n_bad / 2);
}

/* Under the judge's laws, what cancels leaves tails: few elements of any order of operations pass
 * the bound, and by little. */
static bool may_end_in(const struct kg_tinstance *s, const struct kg_tcase *c,
                       const struct kg_dj_judgement *j)
{
    return !c->chooses_not && c->law >= KG_TL_BF16 && !kg_tlaw_probes(c->law) &&
           kg_tchoices_may(s, j) && !j->replay && !j->repeats_twin && !j->compare.rms_failed &&
           j->compare.worst < JUMP &&
           kg_tdtype_floating((enum kg_tdtype)s->desc.output[j->leaf].leaf.dtype);
}

bool kg_tchoices_as_far(const struct kg_dj_judgement *candidate, const struct kg_dj_judgement *own)
{
    const struct kg_tcompare *c = &candidate->compare, *o = &own->compare;
    return own->leaf == candidate->leaf && !o->nonfinite && c->worst <= TAIL * o->worst &&
           (double)c->n_bad <= TAIL * (double)o->n_bad;
}

bool kg_tchoices_moved(const struct kg_dj_judgement *candidate, const struct kg_dj_judgement *own)
{
    return candidate->moved < 0 || TAIL * candidate->moved >= own->moved;
}

bool kg_tchoices_state_may(const struct kg_dj_judgement *j)
{
    bool form = j->arity || j->structure || j->shape || j->dtype;
    return !j->compare.pass && !form && !j->replay && !j->compare.nonfinite;
}

/* Right after all if one of the first roundings of the reference itself is off in as many elements,
 * and by as much. The candidate's answer is lost. */
static enum kg_code tails(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                          struct kg_dj_judgement *j, struct kg_err *err)
{
    for (int n = 1; n <= KG_TCHOICES_FIRST && !j->compare.pass; n++) {
        struct kg_dj_report rep = {.said = KG_TA_OK};
        struct kg_dj_judgement own;
        if (kg_tcase_afresh(w, s, c, err) != KG_OK) {
            return err->code;
        }
        struct kg_dj_call call = kg_tcase_call(w, s, c, KG_DJ_CANDIDATE, KG_TF_ROUND_BY(n));
        if (kg_treference_ask(w, s, call, "a call, rounded otherwise", &rep, err) != KG_OK) {
            return kg_tchoices_unanswered(s, &rep, err);
        }
        if (kg_dj_compare(&kg_torch_of(w)->judge, c->id, false, &own, err) != KG_OK) {
            return err->code;
        }
        j->compare.pass = own.compare.worst < JUMP && kg_tchoices_as_far(j, &own);
    }
    return KG_OK;
}

enum kg_code kg_tchoices_seen(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                              struct kg_dj_judgement *j, struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(w)->judge;
    struct kg_dj_judgement now = *j;
    bool may = false, probe = kg_tlaw_probes(c->law);
    if (c->chooses_not || !kg_tchoices_may(s, j)) {
        return KG_OK;
    }
    enum kg_code code = kg_dj_choice(judge, c->id, c->id, KG_DJ_ONCE, &may, err);
    for (int n = 1; code == KG_OK && may && !now.compare.pass && n <= KG_TCHOICES; n++) {
        bool seen;
        code = ask(w, s, c, n, KG_DJ_SEEN, &seen, err);
        if (code == KG_OK && seen) {
            code = kg_dj_compare(judge, c->id, probe, &now, err);
        }
        may = !c->chooses_not && kg_tchoices_hope(s, n, j, &now);
    }
    *j = code == KG_OK && now.compare.pass ? now : *j;
    return code == KG_OK && !j->compare.pass && may_end_in(s, c, j) ? tails(w, s, c, j, err) : code;
}
