/* Statistics of paired timings: pure functions over arrays of nanoseconds. Inputs are not changed.
 *
 * Estimator: the median log ratio per order (reference first, candidate first), averaged and
 * exponentiated. Interval: t over fresh process pairs, because a process has a bias of its own
 * (address layout). Resampling its pairs does not see that bias: a bootstrap over pairs of one
 * process, nominal 95 %, covered 69 to 71 % (measured). */
#ifndef KG_GYM_TIMING_STATS_H
#define KG_GYM_TIMING_STATS_H

#include "base/err.h"

#define KG_PAIRS_MORE 4 /* times the plan, at most, for an interval that is too wide */

struct kg_pair {
    int64_t ref_ns, cand_ns; /* windows, before K is subtracted */
    bool cand_first;
};

struct kg_ratio {
    double ratio, lo, hi; /* reference / candidate, 95 % */
    double half_width;    /* of the log interval; infinite with fewer than 2 processes */
    int64_t pairs;
};

double kg_median(const double *x, size_t n);             /* NaN when n == 0 */
double kg_quantile(const double *x, size_t n, double q); /* linear interpolation */
double kg_trimmed_mean(const double *x, size_t n,
                       double each_end);     /* 0.1 drops floor(n/10) values at each end */
double kg_mean(const double *x, size_t n);   /* NaN when n == 0 */
double kg_stddev(const double *x, size_t n); /* with n - 1 */
double kg_t_quantile(double p, int dof);     /* two-sided 95 %: p = 0.975 */
/* Half of the 95 % interval of the trimmed mean of x (Yuen 1974). It is t times the standard error
 * of x, after a share of each end, floor(n * each_end) values, was replaced by the last value that
 * stays. each_end 0: the interval of the mean. Infinite where fewer than 2 values stay. each_end: 0
 * to below 0.5. */
double kg_yuen_half_width(const double *x, size_t n, double each_end);
/* The same of the mean of two trimmed means, of x [n] and y [m], which spread alike: degrees of
 * freedom are those of both. Infinite where fewer than 2 values of either stay. */
double kg_yuen_half_width_of_two(const double *x, size_t n, const double *y, size_t m,
                                 double each_end);
/* The log ratio of one process: the mean over both orders of the median of log((ref-K)/(cand-K)).
 * Times at or below K count as 1 ns above it. */
double kg_pairs_log_ratio(const struct kg_pair *p, size_t n, int64_t k_ns);
/* Ratio and interval from the log ratios of nproc processes. */
void kg_ratio_of(const double *log_ratio, size_t nproc, int64_t pairs, struct kg_ratio *out);
/* What the null test says of a clock: how far the reference's ratio to itself may be from 1, as a
 * log ratio. */
double kg_ratio_own_error(const struct kg_ratio *null);
/* *lo and *hi at least so far from the ratio as this log ratio. */
void kg_ratio_widen(double ratio, double half_width, double *lo, double *hi);
/* Is hi more than widest times lo, or unknown? widest 0: never. */
bool kg_ratio_is_wide(double lo, double hi, double widest);
/* Of n random elements k have a property: the share of all that have it is at least this, but for
 * this chance (the lower bound of Clopper and Pearson 1934). 0 for k == 0. 0 < chance < 1. */
double kg_share_least(int k, int n, double chance);
/* A random order in blocks of 4, two of each kind, shuffled: n decisions into cand_first[]. A fixed
 * ABBA order would fall in step with the rotation of buffer sets. bits: a source of random 64-bit
 * words. */
void kg_balanced_order(uint64_t (*bits)(void *), void *ctx, bool *cand_first, size_t n);

#endif
