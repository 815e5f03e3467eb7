/* Private to device/: the judge's own value laws on host memory. Meaning of each kind:
 *
 *   floating dtypes        UNIFORM [a, b) (never b after rounding); NORMAL mean a, sd b; INTEGER
 *                          whole numbers of [a, b); CONSTANT a; HEAVY normal / sqrt(uniform), at
 *                          most 1e4; SPARSE 95 % zeros, else normal; OFFSET normal + 1e3; SMALL
 *                          normal * 1e-4; LARGE normal * 1e3; SMALLINT -8..8; WIDEINT +-2048..4095;
 *                          EQUAL one normal draw; SPIKE uniform [a, b) ([-1, 1) where b <= a) with
 *                          one value 1e4 times as large (at most 3e4), in half of the draws among
 *                          the last 64 elements; BF16 normal rounded to bfloat16; FULL +-[1, 2)
 *                          with the last bit of the dtype's significand set
 *   integer dtypes         CONSTANT a; EQUAL one draw; every other kind a whole number of [a, b),
 *                          [0, 8) where b <= a; clamped to the dtype
 *   bool                   CONSTANT a != 0; else a fair coin
 *
 * The draws are AES-CTR under (key, stream), so the same law gives the same bytes on every host.
 * Cost: 2 ms per MB of f32 for UNIFORM, 4 for NORMAL. Pure functions. */
#ifndef KG_GYM_DEVICE_DEVICE_LAW_H
#define KG_GYM_DEVICE_DEVICE_LAW_H

#include "gym/device/device_judge.h"

/* Fills dst [n] of dtype, aligned to its elements. Errors: none. */
void kg_dj_law_fill(enum kg_tdtype dtype, void *dst, uint64_t n, const struct kg_dj_law *law);
/* The parameters of a law for n elements of a dtype, with the values that are drawn once per
 * tensor. All devices compute them here, so they are the same everywhere. */
struct kg_dj_plan {
    double a, b;       /* those of the law; [-1, 1) where SPIKE has no range */
    double least, top; /* floating: the ends of [a, b) that the dtype can hold */
    double constant;   /* CONSTANT, EQUAL */
    double spike;
    uint64_t spike_at;
    int64_t from; /* whole numbers: [from, from + range) */
    uint64_t range;
};
void kg_dj_plan_of(enum kg_tdtype dtype, uint64_t n, const struct kg_dj_law *law,
                   struct kg_dj_plan *out);
/* Of float16: what is made larger on purpose is no larger than this. A square may overflow. */
#define KG_DJ_HALF_MOST 3e4
/* v within [least, most]; NaN becomes least. */
static inline double kg_dj_clamp(double v, double least, double most)
{
    return v >= least ? v <= most ? v : most : least;
}
/* Element `at` as a double, and back. store rounds v to dtype, and clamps it to the range of an
 * integer dtype. */
void kg_dj_store(enum kg_tdtype dtype, void *dst, uint64_t at, double v);
double kg_dj_load(enum kg_tdtype dtype, const void *src, uint64_t at);

#endif
