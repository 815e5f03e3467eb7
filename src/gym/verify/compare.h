/* Is the candidate's answer the reference's? Pure functions over arrays; no I/O.
 *
 * Passes are counted, never failures: an element passes iff |y - o| <= bound is *true*, so NaN can
 * not pass by being unordered; and the class masks (finite, +inf, -inf, NaN) must be equal where
 * the float and the double reference agree about them. docs/verification.md derives the bound. f32
 * output, element i, oracle o (double), float reference r, candidate y: base_i  = 2 u |o_i| + s *
 * max(8 u sqrt(K), 4 e_ref)      u = 2^-24, s = rms(o) over the output bound_i = clamp(base_i, 1e-5
 * (|o_i| + rms o), max(1e-3 (|o_i| + rms o), 4 max|r - o|)) e_ref: 99.99th percentile of |r - o| /
 * s. Integer outputs are exact where r and o agree. Source: contracts (error bound, section 4 of
 * the problem format). */
#ifndef KG_GYM_VERIFY_COMPARE_H
#define KG_GYM_VERIFY_COMPARE_H

#include "gym/problem/problem.h"

enum kg_compare_mode {
    KG_COMPARE_ORACLE,    /* against the double oracle, bound above */
    KG_COMPARE_FLOAT,     /* timed calls: against the float reference, bound with doubled e_ref */
    KG_COMPARE_PRECISION, /* precision probe: relative 2^-15 */
    KG_COMPARE_EXACT,     /* bit for bit with the float reference */
};

/* Facts of one (problem, shape, law), computed once from r and o and used for every candidate. */
struct kg_bound {
    double rms; /* of o */
    double e_ref;
    double max_ref;    /* max |r - o| */
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
    bool bit_equal;     /* to the float reference */
};

/* r f32 or integer, o f64 or integer, both [n]. */
void kg_bound_of(enum kg_dtype dtype, const void *r, const void *o, uint64_t n, int64_t k,
                 struct kg_bound *out);
/* y, r [n] of dtype; o [n] f64 for f32/f64 outputs, of dtype for integers; may be NULL in mode
 * FLOAT and EXACT. */
void kg_compare_run(enum kg_dtype dtype, enum kg_compare_mode mode, const void *y, const void *r,
                    const void *o, uint64_t n, const struct kg_bound *bound,
                    struct kg_compare *out);
/* "<1%", "<10%", "<50%", "more": the only thing about sizes that a model may be told. */
const char *kg_compare_bucket(const struct kg_compare *c);

#endif
