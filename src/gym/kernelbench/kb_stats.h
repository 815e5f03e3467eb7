/* Numbers as that project computes and prints them. */
#ifndef KG_GYM_KERNELBENCH_KB_STATS_H
#define KG_GYM_KERNELBENCH_KB_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Times in files, milliseconds: beyond these bounds one is a mistake, and its ratios may overflow.
 */
#define KG_KB_MIN_MS 1e-9
#define KG_KB_MAX_MS 1e12

/* Of times in ns; std is over n, as numpy's default. n == 0: NaN. */
struct kg_kb_stats {
    double mean, std, min, max;
    size_t n;
};
struct kg_kb_stats kg_kb_stats_of(const int64_t *ns, size_t n);

/* The nearest number with 3 significant decimal digits (a tie in the last binary digit goes the way
 * of correctly rounded conversion, like Python's format). NaN and infinities stay. */
double kg_kb_round3(double x);

/* Unbiased estimate of the chance that at least one of k samples is correct, c of n being so:
 * 1 - C(n-c, k) / C(n, k). 0 <= c <= n, 1 <= k <= n; NaN otherwise.
 * Source: Chen et al. 2021, equation 1; computed as 1 - prod(1 - k/i), i = n-c+1..n. */
double kg_kb_pass_at_k(int64_t n, int64_t c, int64_t k);

#endif
