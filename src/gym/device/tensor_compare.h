/* Decides whether a tensor equals the reference's, within a bound. All devices use one rule: host
 * code here, the same arithmetic in the CUDA kernels. Passing elements are counted, not failing
 * ones, because a comparison with NaN is false and would otherwise pass.
 *
 * Floating element i of dtype T with unit roundoff u (f32 2^-24, f16 2^-11, bf16 2^-8, f64 2^-53),
 * oracle o, reference r, answer y, s = rms(o) over finite elements:
 *   bound_i = 2 u |o_i| + s max(8 u_acc sqrt(K), 4 e_ref), u_acc = min(u, 2^-24) but for f64,
 *   at least lo (|o_i| + s), at most max(hi (|o_i| + s), 4 max|r - o|)
 *   (lo, hi): f32 1e-5, 1e-3; f16 1e-3, 1e-2; bf16 8e-3, 4e-2; f64 2^-29 times f32's
 * and rms(y - o) <= max(3 max(rms(r - o), u_acc sqrt(K)/2 s), 2 lo s). Classes (finite, +inf,
 * -inf, NaN) must agree where r and o agree. Integers and bool: equal where r and o agree.
 * Where the answer has a fill (kg_filled), s and all errors are of the other elements.
 * docs/verification.md explains the formula. Pure functions. */
#ifndef KG_GYM_DEVICE_TENSOR_COMPARE_H
#define KG_GYM_DEVICE_TENSOR_COMPARE_H

#include "gym/tensor/tensor_wire.h"
#include "gym/verify/compare.h"

/* The reference's errors on one tensor, from which the bound follows. rms: s above; e_ref: its
 * error relative to s (99.99th percentile); max_ref, rms_ref: of |r - o|; k: K; disagree: elements
 * on which r and o disagree (class, or value of integers). */
struct kg_tbound {
    double rms, e_ref, max_ref, rms_ref;
    int64_t k;
    uint64_t disagree;
    uint64_t used; /* elements that rms and errors are of: r and o are finite */
    double fill;   /* these are smaller; larger ones belong to a fill. 0: there is none */
};

/* The result. worst: largest error over its bound; got, want: the first bad element; rms_ratio:
 * rms(y - o) over rms_ref. */
struct kg_tcompare {
    bool pass;
    uint64_t n, n_bad, first_bad;
    double got, want, worst, rms_ratio;
    bool nonfinite, rms_failed, bit_equal;
    uint64_t finite; /* elements whose difference is finite, and the sum of its squares */
    double square;
    double max_difference, mean_difference; /* of |r - y|; only allclose.h fills them */
};

/* Errors of r [n] of dtype against o [n], f64 for floating dtypes, else of dtype. k: 0 if
 * unknown. */
void kg_tbound_of(enum kg_tdtype dtype, const void *r, const void *o, uint64_t n, int64_t k,
                  struct kg_tbound *out);
/* With more that may be said. */
void kg_tbound_asked(enum kg_tdtype dtype, const void *r, const void *o, uint64_t n,
                     const struct kg_bound_ask *ask, struct kg_tbound *out);
/* The bound of floating elements as numbers (verify/limits.h). oracle: there is one. */
struct kg_limits_of;
void kg_tcompare_limits(enum kg_tdtype dtype, const struct kg_tbound *b, bool oracle, bool probe,
                        struct kg_limits_of *out);
/* Compares y [n] with o. o NULL: with r, and e_ref is doubled, because y and r may err to opposite
 * sides (timed calls). probe: uses the bound of the precision probe; for 16-bit floats it depends
 * neither on K nor on e_ref. */
void kg_tcompare_run(enum kg_tdtype dtype, const void *y, const void *r, const void *o, uint64_t n,
                     const struct kg_tbound *bound, bool probe, struct kg_tcompare *out);
/* rms over the finite elements of v [n] that belong to no fill, for a bound without an oracle; 0
 * for integers. *used: how many they are, where there is a fill. */
double kg_tcompare_rms(enum kg_tdtype dtype, const void *v, uint64_t n, double fill,
                       uint64_t *used);
/* Conversions of single values; narrowing rounds to nearest, ties to even. */
float kg_half_to_float(uint16_t h);
uint16_t kg_half_from_float(float f);
float kg_bf16_to_float(uint16_t h);
uint16_t kg_bf16_from_float(float f);

#endif
