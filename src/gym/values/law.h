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
#include "gym/problem/problem.h"

enum kg_law {
    KG_LAW_OWN, /* the argument's range; f32 without a range: uniform in [-1, 1) */
    KG_LAW_NORMAL,
    KG_LAW_UNIFORM, /* [0, 1) */
    KG_LAW_HEAVY,   /* heavy tail: normal / uniform^0.5, clipped at 1e4 */
    KG_LAW_SPARSE,  /* 95 % zeros */
    KG_LAW_OUTLIER, /* a constant with one outlier */
    KG_LAW_SORTED,
    KG_LAW_OFFSET,    /* x + 1e3 */
    KG_LAW_SMALL,     /* scale 1e-4 */
    KG_LAW_LARGE,     /* scale 1e3 */
    KG_LAW_MIXED,     /* rows of different scale */
    KG_LAW_PIECEWISE, /* each block, of random length, has its own law */
    KG_LAW_SMALLINT,  /* small integers, so that linear operators must be bit-exact */
    KG_LAW_WIDEINT,   /* integers that need more than 11 bits */
    KG_LAW_EQUAL,     /* all equal */
    KG_LAW_BF16,      /* OWN rounded to bfloat16 */
    KG_LAW_SPIKE,     /* OWN with one huge value at a random index, often near the end */
    KG_LAW_PRECISION, /* the precision probe, see docs/verification.md */
    KG_LAW_COUNT
};

const char *
kg_law_name(enum kg_law law); /* "own", "normal", ...; parse is the inverse, false: unknown */
bool kg_law_parse(const char *name, enum kg_law *out);

/* Fills every argument of role `in` at this shape. buf[k]: memory of argument k (kg_arg_count
 * elements of its dtype), NULL for other roles. Integer inputs keep their range under every law. A
 * float input with a range stays in it; laws that would leave it are mapped into it. */
void kg_law_fill(const struct kg_problem *p, const struct kg_shape *s, enum kg_law law,
                 struct kg_key key, void *const buf[]);
/* The place of a single edit among n >= 1 elements. With four or more it is random, at an odd index
 * and not at an end. A kernel that recognises its inputs looks at the ends, or at every few
 * elements, and so misses the edit. */
uint64_t kg_edit_place(struct kg_rng *r, uint64_t n);
/* Single edit: changes one element (kg_edit_place) of one random input, chosen by key, to a new
 * value of its range. */
void kg_law_edit(const struct kg_problem *p, const struct kg_shape *s, struct kg_key key,
                 void *const buf[]);

#endif
