/* Decides whether a candidate's answer equals the reference's, within a bound. Pure functions over
 * arrays; no errors.
 *
 * Passing elements are counted, not failing ones: an element passes only if |y - o| <= bound is
 * true. A comparison with NaN is false, so NaN cannot pass. The classes (finite, +inf, -inf, NaN)
 * must be equal where the float and the double reference agree.
 *
 * For an f32 output, element i, oracle o (double), float reference r, candidate y, u = 2^-24 and
 * s = rms(o):
 *   base_i  = 2 u |o_i| + s max(8 u sqrt(K), 4 e_ref)
 *   bound_i = base_i, at least 1e-5 (|o_i| + s), at most max(1e-3 (|o_i| + s), 4 max|r - o|)
 * e_ref: 99.99th percentile of |r - o| / s. The whole output must also meet
 *   rms(y - o) <= max(3 max(rms(r - o), u sqrt(K)/2 s), 2e-5 s)
 * The last term is the sum that 1e-5 (|o_i| + s) in every element may reach.
 * f64: the same with u = 2^-53, and 1e-5, 1e-3, 2e-5 and 2^-15 times 2^-29.
 * Integer outputs are exact where r and o agree. Source: docs/verification.md, "The oracle and the
 * bound". */
#ifndef KG_GYM_VERIFY_COMPARE_H
#define KG_GYM_VERIFY_COMPARE_H

#include "gym/problem/problem.h"

enum kg_compare_mode {
    KG_COMPARE_ORACLE,    /* with the double oracle, by the bound above */
    KG_COMPARE_FLOAT,     /* timed calls: with the float reference, and e_ref doubled */
    KG_COMPARE_PRECISION, /* precision probe: 2^-15 |o_i| + s max(2 u sqrt(K), 4 e_ref), least and
                             most as above, or 4 |r_i - o_i|; no rms */
    KG_COMPARE_EXACT, /* with the float reference's values; zeros of either sign are equal, and so
                         are NaNs */
};

/* The reference's errors for one (problem, shape, law). They are computed once from r and o, and
 * used for every candidate. Mode FLOAT has new inputs: rms is of the r at hand, the rest is from
 * earlier inputs. */
struct kg_bound {
    double rms; /* of o */
    double e_ref;
    double max_ref;    /* max |r - o| */
    double rms_ref;    /* rms of r - o */
    int64_t k;         /* length of the longest sum (K) */
    uint64_t disagree; /* elements whose classes differ between r and o; they are counted, not
                          compared */
    int64_t alike; /* terms that may be one number, so that their rounding errors add up: u alike
                      |o_i| is allowed besides. 0: none */
    uint64_t used; /* elements that rms and the errors are of: r and o are finite */
    double fill; /* elements whose centre is as large belong to a fill (a mask's -1e9): no rms is of
                    them, nor any error. 0: there is none */
};

/* True if an element with centre c belongs to a fill. */
static inline bool kg_filled(double fill, double c)
{
    return fill > 0 && (c >= fill || c <= -fill);
}

/* The result of a comparison. */
struct kg_compare {
    bool pass;
    uint64_t n, n_bad;  /* elements compared, elements that failed */
    uint64_t first_bad; /* flat index, row-major; valid if n_bad > 0 */
    double got, want;   /* at first_bad */
    double worst;       /* largest |y - o| / bound; infinite where classes differ */
    double rms_ratio;   /* rms(y - o) / rms(r - o), 0 when the latter is 0 */
    bool nonfinite;     /* a class mismatch was among the failures */
    bool rms_failed;    /* each element met its bound, but the rms of all did not. n_bad then counts
                           the elements that are further off than that rms may be */
    bool bit_equal;     /* equal to the float reference, bit for bit */
    uint64_t finite;    /* elements of float outputs whose difference is finite, and the sum */
    double square;      /* of its squares: for who adds up parts of one output */
};

/* Computes *out from r [n] (of dtype) and o [n] (f64, or integer). k: 0 if unknown. */
void kg_bound_of(enum kg_dtype dtype, const void *r, const void *o, uint64_t n, int64_t k,
                 struct kg_bound *out);
/* The same with more that may be said. k: 0 if unknown. rank: the error of this rank (1: the
 * largest) takes the place of the 99.99th percentile, for a part of an output; 0: that percentile;
 * at most KG_BOUND_RANKS. fill: as in struct kg_bound. */
#define KG_BOUND_RANKS 4096
struct kg_bound_ask {
    int64_t k;
    uint64_t rank;
    double fill;
};
void kg_bound_asked(enum kg_dtype dtype, const void *r, const void *o, uint64_t n,
                    const struct kg_bound_ask *ask, struct kg_bound *out);
/* The rank in a whole output. */
uint64_t kg_bound_rank(uint64_t n);
/* Doubles the reference's errors, for mode ORACLE of a C problem. References add in 16 partial
 * sums. An honest kernel may add in one, with errors up to sqrt(16) = 4 times as large, which is
 * all that the bound allows. Twice is left for the largest of many. */
void kg_bound_any_order(struct kg_bound *b);
/* The rms over the finite elements of v [n], for mode FLOAT; 0 for integers. */
double kg_compare_rms(enum kg_dtype dtype, const void *v, uint64_t n);
/* Of those that belong to no fill; *used: how many they are. */
double kg_compare_rms_without(enum kg_dtype dtype, const void *v, uint64_t n, double fill,
                              uint64_t *used);
/* Compares y [n] with r and o. y, r: of dtype; o: f64 for floating outputs, of dtype for integers.
 * o may be NULL in the modes FLOAT and EXACT. */
void kg_compare_run(enum kg_dtype dtype, enum kg_compare_mode mode, const void *y, const void *r,
                    const void *o, uint64_t n, const struct kg_bound *bound,
                    struct kg_compare *out);
/* The share of bad elements as "<1%", "<10%", "<50%" or "more". A model may not be told more about
 * sizes. */
const char *kg_compare_bucket(const struct kg_compare *c);
const char *kg_share_bucket(double share); /* 0..1 */
const char *kg_share_words(double share);  /* the same for people: "under 1 %" */

/* An error of at most this times the bound's tight end (1e-5) is what operands of reduced precision
 * make: bfloat16 rounds to 2^-8 = 390e-5, TF32 and half to 2^-11 = 49e-5. */
#define KG_REDUCED_PRECISION_WORST 500.0

/* An answer with few distinct values, or of few integers, may come out twice without any memory:
 * zeros, a mask, the class of two rows. v: n values of so many bytes, at most 8, floating or not.
 */
bool kg_few_values(const void *v, size_t n, size_t bytes, bool floating);

#endif
