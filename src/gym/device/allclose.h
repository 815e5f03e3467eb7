/* Tests whether two tensors are close in the sense of torch.allclose(r, y, rtol=t, atol=t).
 *
 * Elements are close if they are equal, or if their difference is finite and at most t + t |y|. NaN
 * is close to nothing. float32 is computed in float32, as PyTorch does. 16-bit floats are computed
 * in float32, and each step is rounded to their type. Other types are computed in double; bool must
 * be equal. Tensors come in parts of any length: begin, add for each part, end. Pure functions.
 * Source: ATen/native/TensorCompare.cpp, isclose. */
#ifndef KG_GYM_DEVICE_ALLCLOSE_H
#define KG_GYM_DEVICE_ALLCLOSE_H

#include "gym/device/tensor_compare.h"

/* One comparison under way; the caller owns it, and nothing needs to be freed. */
struct kg_allclose {
    enum kg_tdtype dtype;
    double tolerance, sum;
    struct kg_tcompare so_far;
};

/* tolerance: t above, > 0. */
void kg_allclose_begin(struct kg_allclose *c, enum kg_tdtype dtype, double tolerance);
/* Adds one part: y [n] the candidate's, r [n] the reference's elements, both of the dtype given to
 * begin. */
void kg_allclose_add(struct kg_allclose *c, const void *y, const void *r, uint64_t n);
/* The result over all parts. out->worst is the largest |r - y| divided by what was allowed;
 * rms_ratio is not filled. Tensors without any element are close. */
void kg_allclose_end(const struct kg_allclose *c, struct kg_tcompare *out);

#endif
