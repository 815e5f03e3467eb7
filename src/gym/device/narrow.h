/* Private to device/: the comparison of 16-bit floats. verify/ has no constants for them. Formulas:
 * tensor_compare.h. Pure functions. */
#ifndef KG_GYM_DEVICE_NARROW_H
#define KG_GYM_DEVICE_NARROW_H

#include "gym/device/tensor_compare.h"

/* f16 or bf16 [n] as floats [n]. */
void kg_narrow_widen(enum kg_tdtype dtype, const uint16_t *v, float *out, uint64_t n);
/* The rule as numbers, in the form of verify/limits.h, for devices that compare themselves. */
struct kg_limits_of;
void kg_narrow_limits(enum kg_tdtype dtype, const struct kg_tbound *bound, bool oracle, bool probe,
                      struct kg_limits_of *out);
/* As kg_tcompare_run, for n > 0. probe: an element passes within max(2^-15, 2 u) |o|, lo (|o| + s),
 * or 4 |r - o|. */
void kg_narrow_compare(enum kg_tdtype dtype, const uint16_t *y, const uint16_t *r, const double *o,
                       uint64_t n, const struct kg_tbound *bound, bool probe,
                       struct kg_tcompare *out);

#endif
