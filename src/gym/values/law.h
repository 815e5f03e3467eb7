/* Value laws: what the numbers of an input look like. More seeds of one law find almost nothing;
 * different laws do. Each law except OWN is kept for a problem only if the float reference itself
 * meets the bound there, so no honest kernel is hurt (decided by `problems check` and by the pool).
 * Pure functions of (problem, shape, law, key): the same key gives the same bytes, for replay.
 * Source: reference list of laws in docs/verification.md. */
#ifndef KG_GYM_VALUES_LAW_H
#define KG_GYM_VALUES_LAW_H

#include "base/rng.h"
#include "gym/problem/law_name.h"
#include "gym/problem/problem.h"

/* Fill every argument of role `in` at this shape. buf[k]: storage of argument k (kg_arg_count
 * elements of its dtype), NULL for other roles. Integer inputs keep their range in every law; a
 * float input with a range keeps to it: laws that would leave it are mapped into it. */
void kg_law_fill(const struct kg_problem *p, const struct kg_shape *s, enum kg_law law,
                 struct kg_key key, void *const buf[]);
/* Where a single edit of n elements (n >= 1) falls: at random, but at an odd index and not at the
 * end, where there are four or more: a kernel that recognises its inputs looks at the ends, or at
 * every so many elements, and is to be shown an edit that it overlooks. */
uint64_t kg_edit_place(struct kg_rng *r, uint64_t n);
/* Single edit: change one element (kg_edit_place) of one random input, chosen by key, to a fresh
 * value of its range. */
void kg_law_edit(const struct kg_problem *p, const struct kg_shape *s, struct kg_key key,
                 void *const buf[]);

#endif
