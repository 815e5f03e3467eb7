/* Quantiles of Student's t: inverts its distribution function, a regularised incomplete beta
 * function.
 * Source: DLMF 8.17.22 (continued fraction), evaluated by Lentz's method. It agrees with printed
 * tables to all their digits (test_stats.c). */
#include <math.h>

#include "gym/timing/stats.h"

/* The continued fraction of I_x(a, b). It converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int m = 1; m <= 500; m++) {
        for (int odd = 0; odd < 2; odd++) {
            double t = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                           : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + t * d;
            c = 1 + t / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            f *= d * c;
        }
        if (fabs(d * c - 1) < 1e-15) {
            break;
        }
    }
    return f;
}

static double beta_regularised(double a, double b, double x)
{
    if (x <= 0 || x >= 1) {
        return x <= 0 ? 0 : 1;
    }
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) {
        return front * beta_fraction(a, b, x) / a;
    }
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* P(T > t), t >= 0. */
static double upper_tail(double t, double dof)
{
    return 0.5 * beta_regularised(dof / 2, 0.5, dof / (dof + t * t));
}

double kg_t_quantile(double p, int dof)
{
    if (dof < 1 || !(p > 0 && p < 1)) {
        return NAN;
    }
    double tail = p < 0.5 ? p : 1 - p;
    double lo = 0, hi = 1;
    while (upper_tail(hi, dof) > tail && hi < 1e300) {
        hi *= 2;
    }
    for (int i = 0; i < 200; i++) {
        double mid = lo + (hi - lo) / 2;
        if (upper_tail(mid, dof) > tail) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return p < 0.5 ? -hi : hi;
}
