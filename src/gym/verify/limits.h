/* Private to verify/ and device/: the bound of compare.h as numbers, so that the inner loop is the
 * same in every mode.
 *
 * An element passes if |y - c| <= min(max(rel |c| + abs, low (|c| + s)), ceiling), with
 * ceiling = max(high (|c| + s), most) and c the centre (oracle or float reference). With own_error
 * it also passes if |y - c| <= 4 |r - c|. Pure functions. */
#ifndef KG_GYM_VERIFY_LIMITS_H
#define KG_GYM_VERIFY_LIMITS_H

#include <math.h>

#include "gym/verify/compare.h"

#define KG_U32        0x1p-24
#define KG_NARROW_F64 0x1p-29 /* u of f64 / u of f32; every constant shrinks by it */
#define KG_BLOCK      1024

struct kg_limits_of {
    double rel, abs; /* base: rel |c| + abs */
    double low, low_s;
    double high, high_s;
    double most;
    double rms;  /* limit of the rms of y - c; infinite: none */
    double fill; /* elements with such a centre are left out of that rms (kg_filled); 0: none */
    bool own_error;
};

/* The numbers for a mode. */
void kg_limits_set(enum kg_dtype dtype, enum kg_compare_mode mode, const struct kg_bound *b,
                   struct kg_limits_of *out);

/* The bound of an element with centre c, without own_error. */
static inline double kg_limit_at(const struct kg_limits_of *l, double c)
{
    double a = fabs(c);
    double base = l->rel * a + l->abs, low = l->low * a + l->low_s, high = l->high * a + l->high_s;
    double ceiling = high > l->most ? high : l->most;
    double bound = base > low ? base : low;
    return bound < ceiling ? bound : ceiling;
}

/* The state of a pass over float outputs. */
struct kg_scan {
    const struct kg_limits_of *limits;
    const void *y, *r;
    const double *o; /* NULL: the centre is r */
    bool f32;
    double flat, flat_s; /* scan.c: a line that is never above the bound */
    struct kg_compare *out;
    double square; /* sum of (y - c)^2 over the `finite` compared elements */
    uint64_t finite;
};

/* Scans n elements, and fills s->out, square and finite. */
void kg_scan_all(struct kg_scan *s, uint64_t n);

/* True if both are finite, or the same infinity, or NaN. */
static inline bool kg_same_class(double a, double b)
{
    return (isfinite(a) && isfinite(b)) || a == b || (isnan(a) && isnan(b));
}

/* Element i of an f32 or f64 array. */
static inline double kg_value_at(const void *v, bool f32, uint64_t i)
{
    return f32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

#endif
