/* An oracle's value o, kept as a float beside the reference's value r: their difference. It has 24
 * bits of what the two differ by, which is all that bounds and comparisons ask of it.
 *
 * Where r is no finite number, what is kept is o itself: 0 where it is the same infinity, or both
 * are NaN; a finite o of 0 becomes 1, since only its class counts there. A difference beyond floats
 * is the largest float. kernels/compare.cu has the same arithmetic. Pure functions. */
#ifndef KG_GYM_DEVICE_DIFFERENCE_H
#define KG_GYM_DEVICE_DIFFERENCE_H

#include <float.h>
#include <math.h>

#include "gym/tensor/tensor_wire.h"

static inline float kg_difference(double r, double o)
{
    double e = isfinite(r) ? o - r : o;
    if (!isfinite(r) && (r == o || (isnan(r) && isnan(o)))) {
        e = 0;
    } else if (!isfinite(r) && o == 0) {
        e = 1;
    }
    if (isfinite(e)) {
        e = fmin(fmax(e, -(double)FLT_MAX), (double)FLT_MAX);
    }
    return (float)e;
}

/* o again. */
static inline double kg_difference_rejoin(double r, float d)
{
    return isfinite(r) ? r + (double)d : d == 0 ? r : (double)d;
}

/* The same of o, out [n], beside r [n] of dtype. */
void kg_difference_all(enum kg_tdtype dtype, const void *r, const double *o, uint64_t n,
                       float *out);
void kg_difference_rejoin_all(enum kg_tdtype dtype, const void *r, const float *d, uint64_t n,
                              double *out);

#endif
