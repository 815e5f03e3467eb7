/* libkgops.so that computes nothing. Each operator leaves poison in its output: NaN in the first
 * and last element and in every 1024th, 0 in each integer. So few NaN take nearly no time, and an
 * answer that needs the output is still wrong. An index of 0 is inside every table, so that an
 * honest candidate does not crash. kgops_temp is the library's own. */
#include "operators.h"

#define SPARSE 1024 /* of floats: one in each page */

static void poison_float(float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i += SPARSE) {
        y[i] = NAN;
    }
    y[n - 1] = NAN;
}

static void poison_double(double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i += SPARSE) {
        y[i] = (double)NAN;
    }
    y[n - 1] = (double)NAN;
}

static void poison_int32_t(int32_t *y, int64_t n)
{
    memset(y, 0, (size_t)n * sizeof *y);
}

#define UNUSED_PARAMETERS _Pragma("GCC diagnostic ignored \"-Wunused-parameter\"")
#define STUB(S, op, params, args, type, out, n)                                                    \
    void kgops_##op##_##S params                                                                   \
    {                                                                                              \
        poison_##type(out, n);                                                                     \
    }
UNUSED_PARAMETERS
KGOPS_OPERATORS(STUB, float, f32)
KGOPS_OPERATORS(STUB, double, f64)
