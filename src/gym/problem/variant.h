/* Joint shape variants: a variant changes the dims of a problem together, so all arguments stay
 * consistent, and satisfies every `where`. Pure and deterministic in (problem, variant, rng). */
#ifndef KG_GYM_PROBLEM_VARIANT_H
#define KG_GYM_PROBLEM_VARIANT_H

#include "base/rng.h"
#include "gym/problem/problem.h"

enum kg_variant {
    KG_VARIANT_DEFAULT,
    KG_VARIANT_TINY,    /* free dims of 1..6, random: the cheap first run */
    KG_VARIANT_X2,      /* each free dim doubled, shrunk to stay within 16 x the default cost */
    KG_VARIANT_LARGER,  /* each free dim times 1.1..1.6, made odd, within the same cost */
    KG_VARIANT_ODD,     /* smaller than default, odd, no multiple of 16 */
    KG_VARIANT_NO16,    /* about half of default, even, no multiple of 16 */
    KG_VARIANT_ONE,     /* every free dim 1 where `where` allows */
    KG_VARIANT_QUARTER, /* at most a quarter of the default cost, no multiple of 16 */
    KG_VARIANT_COUNT
};

const char *kg_variant_name(enum kg_variant v); /* "default", "tiny", "x2", ... */
/* false: the problem has no shape of this kind (all its dims are fixed by `where`). */
bool kg_variant_shape(const struct kg_problem *p, enum kg_variant v, struct kg_rng *rng,
                      struct kg_shape *out);

#endif
