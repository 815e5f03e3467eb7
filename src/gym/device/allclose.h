/* Are two tensors close as torch.allclose(r, y, rtol=t, atol=t) has it: equal, or the difference is
 * finite and at most t + t |y|? NaN is close to nothing. float32 is computed in float32, as there,
 * 16-bit floats too, each step rounded to their type; the rest in double (bool: equal or not).
 * Tensors come in parts of any length. Pure.
 * Source: ATen/native/TensorCompare.cpp, isclose. */
#ifndef KG_GYM_DEVICE_ALLCLOSE_H
#define KG_GYM_DEVICE_ALLCLOSE_H

#include "gym/device/tensor_compare.h"

struct kg_allclose {
    enum kg_tdtype dtype;
    double tolerance, sum;
    struct kg_tcompare so_far;
};

void kg_allclose_begin(struct kg_allclose *c, enum kg_tdtype dtype, double tolerance);
/* y the candidate's, r the reference's, both [n] of dtype. */
void kg_allclose_add(struct kg_allclose *c, const void *y, const void *r, uint64_t n);
/* `worst` is the largest |r - y| over what was allowed; rms_ratio is not filled. No element at all
 * is close. */
void kg_allclose_end(const struct kg_allclose *c, struct kg_tcompare *out);

#endif
