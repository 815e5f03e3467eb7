/* Shape variants of a problem: tiny, larger, odd and others, within a bound of cost. */
#include <math.h>

#include "gym/problem/search.h"

/* Source: docs/problems.md, "Shapes that are tried": a larger shape must stay affordable in every
 * evaluation. */
#define MAX_COST    16.0
#define QUARTER     0.25
#define MAX_SMALLER 1024 /* values tried for a dim that may not be 1 */

const char *kg_variant_name(enum kg_variant v)
{
    static const char *const NAMES[] = {"default", "tiny", "x2",  "larger",
                                        "odd",     "no16", "one", "quarter"};
    return NAMES[v];
}

static double elements_at(const struct kg_problem *p, const struct kg_shape *s, bool outputs_only)
{
    double n = 0;
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].rank > 0 && (!outputs_only || p->args[k].role == KG_ROLE_OUT)) {
            n += (double)kg_arg_count(p, k, s);
        }
    }
    return n;
}

/* Declared flops, else what each output element reduces. */
static double work_at(const struct kg_problem *p, const struct kg_shape *s)
{
    if (p->flops != NULL) {
        double flops = kg_problem_flops(p, s);
        return flops >= 0 ? flops : INFINITY;
    }
    return elements_at(p, s, true) * (double)kg_problem_reduce(p, s);
}

static void search_init(struct kg_search *q, const struct kg_problem *p)
{
    *q = (struct kg_search){.p = p};
    kg_shape_default(p, &q->def);
    for (int k = 0; k < p->ndims; k++) {
        if (p->dims[k].by == NULL) {
            q->free[q->nfree++] = k;
        }
    }
    q->elements = elements_at(p, &q->def, false);
    q->work = work_at(p, &q->def);
}

/* Of a shape to that of the default: the larger ratio of elements touched and work. */
static double relative_cost(const struct kg_search *q, const struct kg_shape *s)
{
    return fmax(elements_at(q->p, s, false) / q->elements, work_at(q->p, s) / q->work);
}

bool kg_search_accept(const struct kg_search *q, struct kg_shape *s, double *cost)
{
    bool changed = false;
    for (int k = 0; k < q->nfree; k++) {
        changed = changed || s->dim[q->free[k]] != q->def.dim[q->free[k]];
    }
    if (!changed || !kg_shape_complete(q->p, s)) {
        return false;
    }
    *cost = relative_cost(q, s);
    return *cost <= q->max_cost;
}

bool kg_search_shrink(const struct kg_search *q, int free_index, struct kg_shape *s)
{
    double cost;
    int64_t now = s->dim[q->free[free_index]];
    for (int64_t v = 1; v < now && v <= MAX_SMALLER; v++) {
        struct kg_shape t = *s;
        t.dim[q->free[free_index]] = v;
        if (kg_search_accept(q, &t, &cost)) {
            *s = t;
            return true;
        }
    }
    return false;
}

bool kg_search_shrink_all(const struct kg_search *q, int64_t floor, struct kg_shape *s)
{
    bool shrunk = false;
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < q->nfree; k++) {
            if (s->dim[q->free[k]] > floor && kg_search_shrink(q, k, s)) {
                shrunk = true;
            }
        }
    }
    return shrunk;
}

bool kg_variant_shape(const struct kg_problem *p, enum kg_variant v, struct kg_rng *rng,
                      struct kg_shape *out)
{
    struct kg_search q;
    search_init(&q, p);
    q.max_cost = v == KG_VARIANT_TINY ? 1 : v == KG_VARIANT_QUARTER ? QUARTER : MAX_COST;
    *out = q.def;
    switch (v) {
    case KG_VARIANT_DEFAULT:
        return true;
    case KG_VARIANT_X2:
        return kg_search_double(&q, out);
    case KG_VARIANT_ONE:
        return kg_search_ones(&q, out);
    default:
        return kg_search_draw(&q, v, rng, out);
    }
}
