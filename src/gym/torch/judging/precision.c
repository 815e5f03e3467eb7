/* What a league says of an answer, beside the bound; and what the league tf32 makes of the bound.
 */
#include "gym/torch/judging/precision.h"

#include "gym/torch/judging/cases_private.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/reference.h"

/* In the probe one operand of a product has full significands. The reference's error there is that
 * of operands cut to TF32's 11 bits (the harness's oracle.py), which is the worst that the league
 * allows: rounded to nearest they have 0.4 to 0.6 of it, half precision the same. bfloat16 rounded
 * to nearest has 3 to 4.5 times as much, 2 behind three layers that nothing normalises (a cut one's
 * bias adds up there, a rounded one's error does not), 1.4 behind six; cut, 8 times. Measured on
 * products, convolutions, perceptrons and attention of 16 to 4096 terms. */
#define MOST 1.5
/* Of that error, with 15 bits: a 16th where it comes from products, all where it does not. */
#define LITTLE 0.5
/* Of one way's bound, by another way, where a law of the judge's is asked: a third may be as far
 * off again. */
#define CLOSE 0.5

static enum kg_code ask(struct kg_worker *w, struct kg_tinstance *s, const struct kg_tcase *c,
                        enum kg_dj_side keep, uint32_t flags, struct kg_err *err)
{
    struct kg_dj_report rep;
    enum kg_code code = kg_tcase_afresh(w, s, c, err);
    return code == KG_OK
               ? kg_treference_ask(w, s, kg_tcase_call(w, s, c, keep, flags), "a call", &rep, err)
               : code;
}

/* Of state after a call: as it is, and after one with such products. */
static enum kg_code allow_state(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                struct kg_err *err)
{
    if (c->after_id < 0) {
        return KG_OK;
    }
    if (kg_tcase_keep_state(w, s, c, KG_DJ_FLOAT, true, err) != KG_OK ||
        ask(w, s, c, KG_DJ_NONE, 0, err) != KG_OK ||
        kg_tcase_keep_state(w, s, c, KG_DJ_ORACLE, false, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = kg_tcase_bound_state(w, s, c, 0, err);
    c->after = c->after || c->law < KG_TL_BF16;
    return code;
}

/* Do products make the answer's error? */
static enum kg_code weigh(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                          struct kg_err *err)
{
    struct kg_dj_judgement j;
    if (ask(w, s, c, KG_DJ_CANDIDATE, KG_TF_NEAR | KG_TF_FINE, err) != KG_OK ||
        kg_dj_compare(&kg_torch_of(w)->judge, c->id, true, &j, err) != KG_OK) {
        return err->code;
    }
    c->products = j.compare.rms_ratio < LITTLE;
    return KG_OK;
}

/* Is what products give another way still right, and where a law of the judge's is asked close? Two
 * others: operands that are cut elsewhere err as much to the same side, rounded ones to either. */
static enum kg_code agree(struct kg_worker *w, struct kg_tinstance *s, const struct kg_tcase *c,
                          bool *all, struct kg_err *err)
{
    static const uint32_t ways[] = {KG_TF_FINE, KG_TF_ROUND};
    bool probe = kg_tlaw_probes(c->law), strict = c->law >= KG_TL_BF16 && !probe;
    *all = true;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && *all; i++) {
        struct kg_dj_judgement j;
        if (ask(w, s, c, KG_DJ_CANDIDATE, ways[i], err) != KG_OK ||
            kg_dj_compare(&kg_torch_of(w)->judge, c->id, probe, &j, err) != KG_OK) {
            return err->code;
        }
        bool like = !(j.arity || j.structure || j.shape || j.dtype);
        *all = like && j.compare.pass && (!strict || j.compare.worst < CLOSE);
    }
    return KG_OK;
}

/* Where what the operands lose is another answer altogether (a softmax of large numbers), other
 * elements of it are wrong in each way to compute it: nobody can be held to one way's bound. */
enum kg_code kg_tprecision_allow(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                 struct kg_err *err)
{
    struct kg_dj_ask how = kg_tplan_ask(&s->desc, c->law, kg_treference_how(s));
    bool ignored;
    c->applies = false;
    if (ask(w, s, c, KG_DJ_FLOAT, KG_TF_NEAR, err) != KG_OK ||
        kg_dj_self(&kg_torch_of(w)->judge, c->id, &how, &ignored, err) != KG_OK ||
        allow_state(w, s, c, err) != KG_OK ||
        (c->law == KG_TL_PRECISION && weigh(w, s, c, err) != KG_OK)) {
        return err->code;
    }
    return agree(w, s, c, &c->applies, err);
}

bool kg_tprecision_holds(const struct kg_worker *w, const struct kg_tcase *c,
                         const struct kg_dj_judgement *j)
{
    bool asked = kg_torch_tf32(w) && c->law == KG_TL_PRECISION && c->products;
    return !asked || j->compare.rms_ratio <= MOST;
}

const char *kg_toracle_name(enum kg_toracle o)
{
    static const char *const names[] = {"none", "fp64", "fp32", "self"};
    return names[o];
}

enum kg_toracle kg_tcase_oracle(const struct kg_tinstance *s, const struct kg_tcase *c)
{
    return c->self ? KG_TO_SELF : s->single ? KG_TO_FP32 : KG_TO_FP64;
}
