/* Private to the problem module: looking for joint shapes. A search never fails slowly: draws.c
 * makes a fixed number of random draws, subsets.c looks at a bounded number of subsets of the free
 * dims. Both accept a shape only if kg_shape_complete does and its cost is at most max_cost. */
#ifndef KG_GYM_PROBLEM_SEARCH_H
#define KG_GYM_PROBLEM_SEARCH_H

#include "gym/problem/variant.h"

struct kg_search {
    const struct kg_problem *p;
    struct kg_shape def;
    int free[KG_MAX_DIMS], nfree;
    double elements, work; /* at the default shape */
    double max_cost;
};

/* Completes *s and tells whether it is acceptable and differs from the default; *cost if so. */
bool kg_search_accept(const struct kg_search *q, struct kg_shape *s, double *cost);

/* One free dim gets the smallest acceptable value; false if that is its present one. The other
 * gives it to every free dim above `floor`, twice, since one may wait for another; true if any
 * shrank. */
bool kg_search_shrink(const struct kg_search *q, int free_index, struct kg_shape *s);
bool kg_search_shrink_all(const struct kg_search *q, int64_t floor, struct kg_shape *s);

bool kg_search_draw(const struct kg_search *q, enum kg_variant v, struct kg_rng *rng,
                    struct kg_shape *out);
bool kg_search_double(const struct kg_search *q, struct kg_shape *out);
bool kg_search_ones(const struct kg_search *q, struct kg_shape *out);

#endif
