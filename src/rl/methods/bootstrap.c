/* Bootstrap over problems, and the clustered standard error. */
#include "rl/methods/bootstrap.h"

#include <math.h>
#include <stdlib.h>

#include "rl/methods/metrics.h"
#include "rl/methods/streams.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Fills the interval from n values of the statistic. */
static void settle(struct rl_interval *out, double *work, size_t n)
{
    out->lo = out->hi = out->sd = (double)NAN;
    if (n == 0) {
        return;
    }
    double sum = 0, squares = 0;
    for (size_t r = 0; r < n; r++) {
        sum += work[r];
    }
    for (size_t r = 0; r < n; r++) {
        squares += (work[r] - sum / (double)n) * (work[r] - sum / (double)n);
    }
    qsort(work, n, sizeof *work, ascending);
    out->sd = sqrt(squares / (double)n);
    out->lo = rl_metrics_quantile(work, n, .025);
    out->hi = rl_metrics_quantile(work, n, .975);
}

struct arm {
    const double *num, *den; /* num NULL: this arm is 0 */
    double top, bottom;
};

static void take(struct arm *a, size_t q)
{
    if (a->num != NULL) {
        a->top += a->num[q];
        a->bottom += a->den != NULL ? a->den[q] : 1;
    }
}

/* b - a; NaN where a denominator is 0. */
static double gap(const struct arm *a, const struct arm *b, int exps)
{
    if (b->bottom == 0 || (a->num != NULL && a->bottom == 0)) {
        return (double)NAN;
    }
    double x = b->top / b->bottom, y = a->num != NULL ? a->top / a->bottom : 0;
    if (a->num == NULL) {
        return x;
    }
    return exps ? exp(x) - exp(y) : x - y;
}

static struct rl_interval run(struct arm a, struct arm b, size_t problems, int exps, uint64_t seed,
                              size_t resamples, double *work)
{
    struct rl_interval out = {0};
    size_t n = 0;
    for (size_t q = 0; q < problems; q++) {
        take(&a, q);
        take(&b, q);
    }
    out.value = gap(&a, &b, exps);
    for (size_t r = 0; r < resamples; r++) {
        a.top = a.bottom = b.top = b.bottom = 0;
        for (size_t j = 0; j < problems; j++) {
            size_t q =
                rl_draw_below(seed, RL_STREAM_BOOTSTRAP, 0, (uint32_t)r, (uint32_t)j, problems);
            take(&a, q);
            take(&b, q);
        }
        double x = gap(&a, &b, exps);
        if (isnan(x)) {
            out.empty++;
        } else {
            work[n++] = x;
        }
    }
    settle(&out, work, n);
    return out;
}

struct rl_interval rl_bootstrap(const double *num, const double *den, size_t problems,
                                uint64_t seed, size_t resamples, double *work)
{
    return run((struct arm){0}, (struct arm){.num = num, .den = den}, problems, 0, seed, resamples,
               work);
}

struct rl_interval rl_bootstrap_difference(const double *num_a, const double *den_a,
                                           const double *num_b, const double *den_b,
                                           size_t problems, int exps, uint64_t seed,
                                           size_t resamples, double *work)
{
    return run((struct arm){.num = num_a, .den = den_a}, (struct arm){.num = num_b, .den = den_b},
               problems, exps, seed, resamples, work);
}

struct rl_interval rl_bootstrap_seeds(const double *value, size_t seeds, size_t problems,
                                      uint64_t seed, size_t resamples, double *work)
{
    struct rl_interval out = {0};
    double cells = (double)(seeds * problems);
    for (size_t i = 0; i < seeds * problems; i++) {
        out.value += value[i] / cells;
    }
    for (size_t r = 0; r < resamples; r++) {
        double sum = 0;
        for (size_t j = 0; j < problems; j++) {
            size_t q = rl_draw_below(seed, RL_STREAM_BOOTSTRAP, 0, (uint32_t)r,
                                     (uint32_t)(seeds + j), problems);
            for (size_t i = 0; i < seeds; i++) {
                size_t s =
                    rl_draw_below(seed, RL_STREAM_BOOTSTRAP, 0, (uint32_t)r, (uint32_t)i, seeds);
                sum += value[s * problems + q];
            }
        }
        work[r] = sum / cells;
    }
    settle(&out, work, resamples);
    return out;
}

double rl_standard_error(const double *per_problem, size_t problems)
{
    double n = (double)problems, sum = 0, squares = 0;
    for (size_t q = 0; q < problems; q++) {
        sum += per_problem[q];
    }
    for (size_t q = 0; q < problems; q++) {
        squares += (per_problem[q] - sum / n) * (per_problem[q] - sum / n);
    }
    return problems > 1 ? sqrt(squares / (n * (n - 1))) : (double)NAN;
}
