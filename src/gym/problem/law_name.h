/* The value laws by name: words of a problem's `laws`, of records and of replays. What they are is
 * in values/law.h. */
#ifndef KG_GYM_PROBLEM_LAW_NAME_H
#define KG_GYM_PROBLEM_LAW_NAME_H

#include <stdbool.h>

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
    KG_LAW_STRAYS,    /* OWN but for a few elements, moderate to large */
    KG_LAW_COUNT
};

const char *
kg_law_name(enum kg_law law); /* "own", "normal", ...; parse is the inverse, false: unknown */
bool kg_law_parse(const char *name, enum kg_law *out);

#endif
