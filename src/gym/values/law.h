/* Value laws: the rules by which input values are drawn. More seeds of one law find almost nothing;
 * other laws do.
 *
 * Each law but OWN is used for a problem only if the float reference itself meets the bound there.
 * So no honest kernel is hurt. `problems check` and the pool of cases decide that. Pure functions
 * of (problem, shape, law, key): the same key gives the same bytes, which replay needs. Source: the
 * list of laws in docs/verification.md. */
#ifndef KG_GYM_VALUES_LAW_H
#define KG_GYM_VALUES_LAW_H

#include "base/rng.h"
#include "gym/problem/law_name.h"
#include "gym/problem/problem.h"

/* Do rounding errors of a sum not walk under this law? It makes long runs of (nearly) one number,
 * or one term that exceeds all others together. */
bool kg_law_alike(enum kg_law law);
#define KG_LAW_MOST_TERMS (INT64_C(1) << 30)
/* The number of terms that a sum of k terms counts as in the error bound, which grows with its
 * square root. It is k where rounding errors walk at random. It is k * k under the laws that
 * are alike: within a binade every addition then rounds to the same side
 * (docs/verification.md). */
int64_t kg_law_terms(enum kg_law law, int64_t k);

/* Fills every argument of role `in` at this shape. buf[k]: memory of argument k (kg_arg_count
 * elements of its dtype), NULL for other roles. Integer inputs keep their range under every law. A
 * float input with a range stays in it; laws that would leave it are mapped into it. */
void kg_law_fill(const struct kg_problem *p, const struct kg_shape *s, enum kg_law law,
                 struct kg_key key, void *const buf[]);
/* Has the law STRAYS large elements under this key? A problem without SPIKE has none. */
bool kg_law_strays_large(struct kg_key key);
/* The place of a single edit among n >= 1 elements. With four or more it is random, at an odd index
 * and not at an end. A kernel that recognises its inputs looks at the ends, or at every few
 * elements, and so misses the edit. */
uint64_t kg_edit_place(struct kg_rng *r, uint64_t n);
/* Single edit: changes one element (kg_edit_place) of one random input, chosen by key, to a new
 * value of its range. */
void kg_law_edit(const struct kg_problem *p, const struct kg_shape *s, struct kg_key key,
                 void *const buf[]);

#endif
