/* Sides: the private copies of outputs, their digests and bounds, and the reference's known
 * errors. */
#include <math.h>
#include <stdlib.h>

#include "gym/judge/state.h"

enum kg_code kg_judge_side_reserve(struct kg_judge_side *side, int arg, size_t bytes,
                                   struct kg_err *err)
{
    if (side->cap[arg] < bytes) {
        void *p = realloc(side->data[arg], bytes);
        if (p == NULL) {
            return kg_fail(err, KG_E_HOST, "judge: no memory for an answer of %zu bytes", bytes);
        }
        side->data[arg] = p;
        side->cap[arg] = bytes;
    }
    side->view[arg] = side->data[arg];
    side->entry = NULL;
    return KG_OK;
}

void kg_judge_side_deinit(struct kg_judge_side *side)
{
    for (int k = 0; k < KG_MAX_ARGS; k++) {
        free(side->data[k]);
    }
    *side = (struct kg_judge_side){.there = false};
}

enum kg_code kg_judge_side_need(const struct kg_judge_state *s, enum kg_side side,
                                const struct kg_case *c, struct kg_err *err)
{
    static const char *const names[] = {"float reference's", "oracle's", "candidate's"};
    if (s->problem && s->side[side].there &&
        kg_judge_same_values(s->problem, &s->side[side].c, c)) {
        return KG_OK;
    }
    return kg_fail(err, KG_E_GYM, "judge: the %s answer to this case was not taken", names[side]);
}

uint64_t kg_judge_side_digest(const struct kg_judge_state *s, int arg)
{
    const struct kg_judge_side *side = &s->side[KG_SIDE_FLOAT];
    return kg_judge_digest_of(s->secret, side->view[arg],
                              kg_judge_out_bytes(s->problem, arg, &side->c.shape, false));
}

void kg_judge_note_expected(struct kg_judge_state *s)
{
    for (int k = 0; k < s->problem->nargs; k++) {
        if (s->problem->args[k].role == KG_ROLE_OUT) {
            kg_judge_ring_add(&s->expected, k, &s->side[KG_SIDE_FLOAT].c,
                              kg_judge_side_digest(s, k));
        }
    }
}

static void learn(struct kg_judge_known *known, const struct kg_bound *b, uint64_t n)
{
    double share = (double)b->disagree / (double)n;
    known->there = true;
    known->disagree = fmax(known->disagree, share);
    if (b->rms > 0) {
        known->e_ref = fmax(known->e_ref, b->e_ref);
        known->max_ref = fmax(known->max_ref, b->max_ref / b->rms);
        known->rms_ref = fmax(known->rms_ref, b->rms_ref / b->rms);
    }
}

enum kg_code kg_judge_bounds(struct kg_judge_state *s, const struct kg_case *c, struct kg_err *err)
{
    const struct kg_problem *p = s->problem;
    if (kg_judge_side_need(s, KG_SIDE_FLOAT, c, err) != KG_OK ||
        kg_judge_side_need(s, KG_SIDE_ORACLE, c, err) != KG_OK) {
        return err->code;
    }
    if (s->bound_there) {
        return KG_OK;
    }
    int64_t terms = kg_problem_reduce(p, &c->shape), reduce = kg_law_terms(c->law, terms);
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role == KG_ROLE_OUT) {
            uint64_t n = (uint64_t)kg_arg_count(p, k, &c->shape);
            kg_bound_of(p->args[k].dtype, s->side[KG_SIDE_FLOAT].view[k],
                        s->side[KG_SIDE_ORACLE].view[k], n, reduce, &s->bound[k]);
            s->bound[k].alike = kg_law_alike(c->law) ? terms : 0;
            learn(&s->known[c->law][k], &s->bound[k], n);
        }
    }
    s->bound_there = true;
    return KG_OK;
}
