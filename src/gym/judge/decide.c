/* The judge's decisions: comparison of a candidate's outputs, and whether a law applies. */
#include <math.h>

#include "gym/judge/state.h"

/* The bound of a timed call, which has no oracle. The scale is that of its own reference answer.
 * The errors are the largest of earlier inputs of this law, or of any law where this one is new. */
static struct kg_bound timed_bound(const struct kg_judge_state *s, const struct kg_case *c, int arg)
{
    const struct kg_problem *p = s->problem;
    enum kg_dtype t = p->args[arg].dtype;
    uint64_t n = (uint64_t)kg_arg_count(p, arg, &c->shape);
    struct kg_judge_known k = s->known[c->law][arg];
    for (int law = 0; law < KG_LAW_COUNT && !s->known[c->law][arg].there; law++) {
        const struct kg_judge_known *other = &s->known[law][arg];
        k.e_ref = fmax(k.e_ref, other->e_ref);
        k.max_ref = fmax(k.max_ref, other->max_ref);
        k.rms_ref = fmax(k.rms_ref, other->rms_ref);
        k.disagree = fmax(k.disagree, other->disagree);
    }
    double rms = kg_compare_rms(t, s->side[KG_SIDE_FLOAT].view[arg], n);
    return (struct kg_bound){
        .rms = rms,
        .e_ref = k.e_ref,
        .max_ref = k.max_ref * rms,
        .rms_ref = k.rms_ref * rms,
        .k = kg_law_terms(c->law, kg_problem_reduce(p, &c->shape)),
        .alike = kg_law_alike(c->law) ? kg_problem_reduce(p, &c->shape) : 0,
        .disagree = (uint64_t)ceil(k.disagree * (double)n),
    };
}

/* True if a is worse than b: failing is worse than passing, then the larger share of bad elements,
 * then the larger error. */
static bool worse(const struct kg_compare *a, const struct kg_compare *b)
{
    if (a->pass != b->pass) {
        return !a->pass;
    }
    double x = (double)a->n_bad / ((double)a->n + 1), y = (double)b->n_bad / ((double)b->n + 1);
    return x != y ? x > y : a->worst > b->worst;
}

/* A right answer is remembered. A wrong one is searched among answers that were right for other
 * inputs. A kernel that ignores its inputs was never right, so it is not accused. */
static void find_replay(struct kg_judge_state *s, const struct kg_case *c, int arg,
                        const struct kg_compare *one, struct kg_judgement *out)
{
    const struct kg_problem *p = s->problem;
    const void *y = s->side[KG_SIDE_CANDIDATE].view[arg];
    size_t n = (size_t)kg_arg_count(p, arg, &c->shape);
    if (kg_judge_degenerate(p->args[arg].dtype, y, n)) {
        return;
    }
    const struct kg_judge_entry *kept = s->side[KG_SIDE_FLOAT].entry;
    uint64_t d =
        kept && one->bit_equal
            ? kept->digest[arg]
            : kg_judge_digest_of(s->secret, y, kg_judge_out_bytes(p, arg, &c->shape, false));
    if (one->pass) {
        kg_judge_ring_add(&s->answers, arg, c, d);
        return;
    }
    out->replay = out->replay || kg_judge_ring_has(&s->answers, arg, c, d);
    out->repeats_twin = out->repeats_twin || kg_judge_ring_has_twin(&s->answers, arg, c, d);
    out->earlier_expected = out->earlier_expected || kg_judge_ring_has(&s->expected, arg, c, d);
}

static bool needs_oracle(enum kg_compare_mode mode)
{
    return mode == KG_COMPARE_ORACLE || mode == KG_COMPARE_PRECISION;
}

enum kg_code kg_judge_do_compare(struct kg_judge_state *s, const struct kg_case *c,
                                 enum kg_compare_mode mode, struct kg_judgement *out,
                                 struct kg_err *err)
{
    const struct kg_problem *p = s->problem;
    bool first = true;
    *out = (struct kg_judgement){.arg = -1};
    if (kg_judge_side_need(s, KG_SIDE_CANDIDATE, c, err) != KG_OK ||
        kg_judge_side_need(s, KG_SIDE_FLOAT, c, err) != KG_OK ||
        (needs_oracle(mode) && kg_judge_bounds(s, c, err) != KG_OK)) {
        return err->code;
    }
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role != KG_ROLE_OUT) {
            continue;
        }
        struct kg_compare one;
        struct kg_bound b = needs_oracle(mode) ? s->bound[k] : timed_bound(s, c, k);
        if (mode == KG_COMPARE_ORACLE) {
            kg_bound_any_order(&b);
        }
        kg_compare_run(p->args[k].dtype, mode, s->side[KG_SIDE_CANDIDATE].view[k],
                       s->side[KG_SIDE_FLOAT].view[k],
                       needs_oracle(mode) ? s->side[KG_SIDE_ORACLE].view[k] : NULL,
                       (uint64_t)kg_arg_count(p, k, &c->shape), &b, &one);
        find_replay(s, c, k, &one, out);
        if (first || worse(&one, &out->compare)) {
            out->compare = one;
            out->arg = k;
        }
        first = false;
    }
    return KG_OK;
}

enum kg_code kg_judge_do_self(struct kg_judge_state *s, const struct kg_case *c,
                              struct kg_judgement *out, struct kg_err *err)
{
    const struct kg_problem *p = s->problem;
    bool first = true;
    *out = (struct kg_judgement){.arg = -1};
    if (kg_judge_bounds(s, c, err) != KG_OK) {
        return err->code;
    }
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role != KG_ROLE_OUT) {
            continue;
        }
        struct kg_compare one;
        struct kg_bound b = s->bound[k];
        b.max_ref = 0; /* its own largest error must not widen its own bound */
        kg_compare_run(p->args[k].dtype, KG_COMPARE_ORACLE, s->side[KG_SIDE_FLOAT].view[k],
                       s->side[KG_SIDE_FLOAT].view[k], s->side[KG_SIDE_ORACLE].view[k],
                       (uint64_t)kg_arg_count(p, k, &c->shape), &b, &one);
        one.pass = one.pass && b.disagree * 100 <= one.n;
        if (first || worse(&one, &out->compare)) {
            out->compare = one;
            out->arg = k;
        }
        first = false;
    }
    return KG_OK;
}
