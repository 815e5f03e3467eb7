/* How many terms an element of the answer sums, and what its bound is asked for. */
#include <math.h>

#include "gym/torch/problem/input_plan.h"
#include "gym/torch/problem/own_law.h"

#define MOST_TERMS ((double)(1 << 20)) /* beyond, the bound would admit narrow operands */

double kg_tplan_fan_in(const struct kg_tleaf *leaf)
{
    double fan = 1;
    for (uint32_t d = 1; d < leaf->rank; d++) {
        fan *= (double)leaf->shape[d];
    }
    return fan;
}

int64_t kg_tplan_reduction(const struct kg_task_desc *d)
{
    double k = fmax(1, (double)d->terms), answer = 1, most = 0, next = 0;
    for (size_t i = 0; i < d->noutputs; i++) {
        answer = fmax(answer, (double)kg_tleaf_count(&d->output[i].leaf));
    }
    for (size_t i = 0; i < d->ninputs; i++) {
        const struct kg_tleaf *leaf = &d->input[i].leaf;
        double n = (double)kg_tleaf_count(leaf);
        if (kg_tdtype_floating((enum kg_tdtype)leaf->dtype)) {
            next = fmax(next, fmin(n, most));
            most = fmax(most, n);
        }
    }
    for (size_t i = 0; i < d->nstate; i++) {
        const struct kg_tleaf *leaf = &d->state[i].leaf;
        bool weight = leaf->rank > 1 && leaf->shape[0] > 1; /* [1, ...] is a table to add */
        if (weight && kg_tdtype_floating((enum kg_tdtype)leaf->dtype)) {
            k = fmax(k, kg_tplan_fan_in(leaf));
        }
    }
    k = fmax(k, fmax(most / answer, sqrt(most / answer * next)));
    return (int64_t)fmin(k, MOST_TERMS);
}

int64_t kg_tplan_terms(const struct kg_task_desc *d)
{
    return d->terms > 0 ? (int64_t)fmin((double)d->terms, MOST_TERMS) : kg_tplan_reduction(d);
}

int64_t kg_tplan_k(const struct kg_task_desc *d, enum kg_tlaw law)
{
    int64_t k = kg_tplan_reduction(d), terms = (int64_t)fmin((double)d->terms, MOST_TERMS);
    bool walks = law != KG_TL_EQUAL && !kg_tplan_touches(law);
    return !walks && terms * terms > k ? terms * terms : k;
}

struct kg_dj_ask kg_tplan_ask(const struct kg_task_desc *d, enum kg_tlaw law, uint32_t how)
{
    how |= law < KG_TL_BF16 ? 0 : KG_DJ_OVERFLOWS;
    struct kg_dj_ask ask = {.k = kg_tplan_k(d, law), .how = how};
    for (size_t i = 0; i < d->noutputs && i < KG_DJ_FILLS; i++) {
        ask.fill[i] = d->output[i].fill;
    }
    return ask;
}
