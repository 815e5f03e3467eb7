/* Medians, trimmed means, intervals and balanced orders for paired timings. */
#include "gym/timing/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* A sorted copy of x [n], n > 0; the caller frees it. */
static double *sorted_copy(const double *x, size_t n)
{
    double *s = malloc(n * sizeof *s);
    KG_ASSERT(s);
    memcpy(s, x, n * sizeof *s);
    qsort(s, n, sizeof *s, ascending);
    return s;
}

double kg_quantile(const double *x, size_t n, double q)
{
    if (n == 0 || isnan(q)) {
        return NAN;
    }
    double at = fmin(fmax(q, 0.0), 1.0) * (double)(n - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < n ? below + 1 : below;
    double *s = sorted_copy(x, n);
    double value = s[below] + (at - (double)below) * (s[above] - s[below]);
    free(s);
    return value;
}

double kg_median(const double *x, size_t n)
{
    return kg_quantile(x, n, 0.5);
}

double kg_mean(const double *x, size_t n)
{
    if (n == 0) {
        return NAN;
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum / (double)n;
}

double kg_trimmed_mean(const double *x, size_t n, double each_end)
{
    if (n == 0 || !(each_end >= 0 && each_end < 0.5)) {
        return NAN;
    }
    size_t drop = (size_t)floor((double)n * each_end + 1e-9); /* 50 * 0.1 is 5, not 4.99.. */
    double *s = sorted_copy(x, n);
    double mean = kg_mean(s + drop, n - 2 * drop);
    free(s);
    return mean;
}

double kg_stddev(const double *x, size_t n)
{
    if (n < 2) {
        return NAN;
    }
    double mean = kg_mean(x, n), sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (x[i] - mean) * (x[i] - mean);
    }
    return sqrt(sum / (double)(n - 1));
}

/* The square of the standard error of a trimmed mean, and *stay values of x that it is of. */
static double yuen_square(const double *x, size_t n, double each_end, size_t *stay)
{
    size_t g = (size_t)floor((double)n * each_end + 1e-9);
    *stay = n - 2 * g;
    if (*stay < 2) {
        return INFINITY;
    }
    double *s = sorted_copy(x, n);
    for (size_t i = 0; i < g; i++) {
        s[i] = s[g];
        s[n - 1 - i] = s[n - 1 - g];
    }
    double deviation = kg_stddev(s, n);
    free(s);
    return deviation * deviation * (double)(n - 1) / (double)(*stay * (*stay - 1));
}

double kg_yuen_half_width(const double *x, size_t n, double each_end)
{
    size_t stay;
    double square = yuen_square(x, n, each_end, &stay);
    return isinf(square) ? INFINITY : kg_t_quantile(0.975, (int)stay - 1) * sqrt(square);
}

double kg_yuen_half_width_of_two(const double *x, size_t n, const double *y, size_t m,
                                 double each_end)
{
    size_t of_x, of_y;
    double square = yuen_square(x, n, each_end, &of_x) + yuen_square(y, m, each_end, &of_y);
    return isinf(square) ? INFINITY
                         : kg_t_quantile(0.975, (int)(of_x + of_y) - 2) * sqrt(square) / 2;
}

double kg_pairs_log_ratio(const struct kg_pair *p, size_t n, int64_t k_ns)
{
    double *log_ratio = malloc((n ? n : 1) * sizeof *log_ratio);
    KG_ASSERT(log_ratio);
    double sum = 0;
    int orders = 0;
    for (int first = 0; first < 2; first++) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++) {
            if (p[i].cand_first == (first == 1)) {
                int64_t ref = p[i].ref_ns > k_ns ? p[i].ref_ns - k_ns : 1;
                int64_t cand = p[i].cand_ns > k_ns ? p[i].cand_ns - k_ns : 1;
                log_ratio[m++] = log((double)ref) - log((double)cand);
            }
        }
        if (m > 0) {
            sum += kg_median(log_ratio, m);
            orders++;
        }
    }
    free(log_ratio);
    return orders > 0 ? sum / orders : NAN;
}

void kg_ratio_of(const double *log_ratio, size_t nproc, int64_t pairs, struct kg_ratio *out)
{
    double mean = kg_mean(log_ratio, nproc), half = kg_yuen_half_width(log_ratio, nproc, 0);
    out->ratio = exp(mean);
    out->lo = exp(mean - half);
    out->hi = exp(mean + half);
    out->half_width = half;
    out->pairs = pairs;
}

/* A uniform number below n <= 4. It rejects the tail, which would favour small values. */
static uint64_t below(uint64_t (*bits)(void *), void *ctx, uint64_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, v;
    do {
        v = bits(ctx);
    } while (v >= limit);
    return v % n;
}

bool kg_ratio_is_wide(double lo, double hi, double widest)
{
    return widest > 0 && !(isfinite(lo) && isfinite(hi) && hi <= widest * lo);
}

void kg_balanced_order(uint64_t (*bits)(void *), void *ctx, bool *cand_first, size_t n)
{
    for (size_t start = 0; start < n; start += 4) {
        bool *block = cand_first + start;
        size_t m = n - start < 4 ? n - start : 4;
        /* An odd one falls either way. */
        size_t ones = m / 2 + (m % 2 ? below(bits, ctx, 2) : 0);
        for (size_t i = 0; i < m; i++) {
            block[i] = i < ones;
        }
        for (size_t i = m - 1; i > 0; i--) {
            size_t j = below(bits, ctx, i + 1);
            bool swap = block[i];
            block[i] = block[j];
            block[j] = swap;
        }
    }
}

double kg_ratio_own_error(const struct kg_ratio *null)
{
    return fmax(null->half_width, fabs(log(null->ratio)));
}

void kg_ratio_widen(double ratio, double half_width, double *lo, double *hi)
{
    *lo = fmin(*lo, ratio * exp(-half_width));
    *hi = fmax(*hi, ratio * exp(half_width));
}

/* The chance that k or more of n have it, where a share p of all has it. */
static double at_least(int k, int n, double p)
{
    double sum = 0;
    for (int i = k; i <= n; i++) {
        sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) +
                   (n - i) * log1p(-p));
    }
    return sum;
}

double kg_share_least(int k, int n, double chance)
{
    double lo = 0, hi = k > 0 ? 1 : 0;
    for (int i = 0; i < 50 && hi > 0; i++) {
        double p = (lo + hi) / 2;
        bool below = at_least(k, n, p) < chance;
        lo = below ? p : lo;
        hi = below ? hi : p;
    }
    return lo;
}
