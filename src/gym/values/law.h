/* Value laws: what the numbers of an input look like. More seeds of one law find almost nothing;
 * different laws do. Each law except OWN is kept for a problem only if the float reference itself
 * meets the bound there, so no honest kernel is hurt (decided by `problems check` and by the pool).
 * Pure functions of (problem, shape, law, key): the same key gives the same bytes, for replay.
 * Source: reference list of laws in docs/verification.md. */
#ifndef KG_GYM_VALUES_LAW_H
#define KG_GYM_VALUES_LAW_H

#include "base/rng.h"
#include "gym/problem/problem.h"

enum kg_law {
    KG_LAW_OWN, /* the argument's range; f32 without range: uniform in [-1, 1) */
    KG_LAW_NORMAL,
    KG_LAW_UNIFORM, /* [0, 1) */
    KG_LAW_HEAVY,   /* heavy tail: normal / uniform^0.5, clipped at 1e4 */
    KG_LAW_SPARSE,  /* 95 % zeros */
    KG_LAW_OUTLIER, /* constant with one outlier */
    KG_LAW_SORTED,
    KG_LAW_OFFSET,    /* x + 1e3 */
    KG_LAW_SMALL,     /* scale 1e-4 */
    KG_LAW_LARGE,     /* scale 1e3 */
    KG_LAW_MIXED,     /* rows of mixed scale */
    KG_LAW_PIECEWISE, /* each random block its own law */
    KG_LAW_SMALLINT,  /* small integers: linear operators must be bit-exact */
    KG_LAW_WIDEINT,   /* integers that need more than 11 bits */
    KG_LAW_EQUAL,     /* all equal */
    KG_LAW_BF16,      /* OWN rounded to bfloat16: f32 holding reduced-precision values */
    KG_LAW_SPIKE,     /* OWN with one huge value at a random index, the last tile included */
    KG_LAW_PRECISION, /* precision probe: see docs/verification.md */
    KG_LAW_COUNT
};

const char *kg_law_name(enum kg_law law); /* "own", "normal", ... */
bool kg_law_parse(const char *name, enum kg_law *out);

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
