/* Is the candidate's answer the reference's? Pure functions over arrays; no I/O.
 *
 * Passes are counted, never failures: an element passes iff |y - o| <= bound is *true*, so NaN can
 * not pass by being unordered; and the class masks (finite, +inf, -inf, NaN) must be equal where
 * the float and the double reference agree about them. docs/verification.md derives the bound.
 * f32 output, element i, oracle o (double), float reference r, candidate y, u = 2^-24, s = rms(o):
 *   base_i  = 2 u |o_i| + s max(8 u sqrt(K), 4 e_ref)
 *   bound_i = base_i, at least 1e-5 (|o_i| + s), at most max(1e-3 (|o_i| + s), 4 max|r - o|)
 * e_ref: 99.99th percentile of |r - o| / s. The whole output must also meet
 *   rms(y - o) <= max(3 max(rms(r - o), u sqrt(K)/2 s), 2e-5 s)
 * whose last term is what 1e-5 (|o_i| + s) in every element may add up to.
 * f64: the same with u = 2^-53, and 1e-5, 1e-3, 2e-5 and 2^-15 times 2^-29.
 * Integer outputs are exact where r and o agree. Source: docs/verification.md, "The oracle and the
 * bound". */
#ifndef KG_GYM_VERIFY_COMPARE_H
#define KG_GYM_VERIFY_COMPARE_H

#include "gym/problem/problem.h"

enum kg_compare_mode {
    KG_COMPARE_ORACLE,    /* against the double oracle, bound above */
    KG_COMPARE_FLOAT,     /* timed calls: against the float reference, bound with doubled e_ref */
    KG_COMPARE_PRECISION, /* precision probe: 2^-15 |o_i| + s max(2 u sqrt(K), 4 e_ref), floor and
                             ceiling as above, or 4 |r_i - o_i|; no rms */
    KG_COMPARE_EXACT,     /* the float reference's values; zeros of either sign and NaNs are one */
};

/* Facts of one (problem, shape, law), computed once from r and o and used for every candidate. In
 * mode FLOAT, whose inputs are new, rms is of the r at hand and the rest of earlier inputs. */
struct kg_bound {
    double rms; /* of o */
    double e_ref;
    double max_ref;    /* max |r - o| */
    double rms_ref;    /* rms of r - o */
    int64_t k;         /* reduction length */
    uint64_t disagree; /* positions where the classes of r and o differ: ignored and counted */
};

struct kg_compare {
    bool pass;
    uint64_t n, n_bad;  /* elements compared, elements that failed */
    uint64_t first_bad; /* flat index, row-major; valid if n_bad > 0 */
    double got, want;   /* at first_bad */
    double worst;       /* max of |y - o| / bound; infinity for class mismatches */
    double rms_ratio;   /* rms(y - o) / rms(r - o), 0 when the latter is 0 */
    bool nonfinite;     /* a class mismatch was among the failures */
    bool rms_failed;    /* every element was within its bound, but not the rms of all: n_bad then
                           counts the elements that are further off than that rms may be */
    bool bit_equal;     /* to the float reference */
};

/* r f32 or integer, o f64 or integer, both [n]. */
void kg_bound_of(enum kg_dtype dtype, const void *r, const void *o, uint64_t n, int64_t k,
                 struct kg_bound *out);
/* rms over the finite elements of v [n], for mode FLOAT; 0 for integers. */
double kg_compare_rms(enum kg_dtype dtype, const void *v, uint64_t n);
/* y, r [n] of dtype; o [n] f64 for f32/f64 outputs, of dtype for integers; may be NULL in mode
 * FLOAT and EXACT. */
void kg_compare_run(enum kg_dtype dtype, enum kg_compare_mode mode, const void *y, const void *r,
                    const void *o, uint64_t n, const struct kg_bound *bound,
                    struct kg_compare *out);
/* "<1%", "<10%", "<50%", "more": the only thing about sizes that a model may be told. */
const char *kg_compare_bucket(const struct kg_compare *c);

#endif
