/* Quantiles of the normal distribution: linear between 4096 knots. In the two outermost cells (one
 * draw in 2048) a line would be far off, so the exact function is used there. Monotone in the
 * draw. */
#include "gym/values/gen.h"

#include <math.h>
#include <pthread.h>

#define CELLS 4096

static double knots[CELLS + 1];
static pthread_once_t knots_once = PTHREAD_ONCE_INIT;

static double tail(double q)
{
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00};
    double t = sqrt(-2 * log(q));
    return (((((c[0] * t + c[1]) * t + c[2]) * t + c[3]) * t + c[4]) * t + c[5]) /
           ((((d[0] * t + d[1]) * t + d[2]) * t + d[3]) * t + 1);
}

static double middle(double q)
{
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01};
    double x = q - 0.5, t = x * x;
    return (((((a[0] * t + a[1]) * t + a[2]) * t + a[3]) * t + a[4]) * t + a[5]) * x /
           (((((b[0] * t + b[1]) * t + b[2]) * t + b[3]) * t + b[4]) * t + 1);
}

/* The inverse of the normal distribution function; its relative error is below 1.2e-9.
 * Source: P. J. Acklam 2003, "An algorithm for computing the inverse normal cumulative
 * distribution function". */
static double inverse(double q)
{
    if (q < 0.02425) {
        return tail(q);
    }
    return q > 1 - 0.02425 ? -tail(1 - q) : middle(q);
}

static void fill_knots(void)
{
    for (int i = 1; i < CELLS; i++) {
        knots[i] = inverse((double)i / CELLS);
    }
}

double kg_gen_normal(uint64_t bits)
{
    pthread_once(&knots_once, fill_knots);
    size_t cell = bits >> 52;
    double f = (double)(int64_t)(bits & 0xfffffffffffff) * 0x1p-52;
    if (cell == 0 || cell == CELLS - 1) {
        double q = (f + 0x1p-53) / CELLS; /* never 0: the lowest draw is about -8.9 */
        return cell == 0 ? inverse(q) : -inverse(1.0 / CELLS - q + 0x1p-66);
    }
    return knots[cell] + f * (knots[cell + 1] - knots[cell]);
}
