/* The cost of a shape relative to the default, worked out apart from the search that must keep to
 * it: the larger ratio of elements touched and of work (declared flops, or output elements times
 * reduction length). */
#ifndef KG_TESTS_SUPPORT_VARIANT_COST_H
#define KG_TESTS_SUPPORT_VARIANT_COST_H

#include <math.h>

#include "gym/problem/problem.h"

static inline double variant_work(const struct kg_problem *p, const struct kg_shape *s,
                                  double *touched)
{
    double outputs = 0;
    *touched = 0;
    for (int k = 0; k < p->nargs; k++) {
        double n = p->args[k].rank > 0 ? (double)kg_arg_count(p, k, s) : 0;
        *touched += n;
        outputs += p->args[k].role == KG_ROLE_OUT ? n : 0;
    }
    double flops = p->flops != NULL ? kg_problem_flops(p, s) : 0;
    return p->flops == NULL ? outputs * (double)kg_problem_reduce(p, s)
           : flops >= 0     ? flops
                            : INFINITY;
}

static inline double variant_cost(const struct kg_problem *p, const struct kg_shape *s)
{
    struct kg_shape def;
    double touched, touched_by_default;
    kg_shape_default(p, &def);
    double work = variant_work(p, s, &touched);
    double by_default = variant_work(p, &def, &touched_by_default);
    return fmax(touched / touched_by_default, work / by_default);
}

#endif
