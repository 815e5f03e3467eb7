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
    const double *num, *den; /* num NULL: this arm is 0; den NULL: all 1 */
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

/* The statistic of the problems q of draw, or of those that are drawn for resample r. draw NULL: it
 * is drawn here. */
static double resampled(const struct rl_statistic *s, size_t problems, uint64_t seed, size_t r,
                        const size_t *draw)
{
    struct arm a = {.num = s->num_a, .den = s->den_a}, b = {.num = s->num, .den = s->den};
    for (size_t j = 0; j < problems; j++) {
        size_t q = draw != NULL ? draw[j]
                                : rl_draw_below(seed, RL_STREAM_BOOTSTRAP, 0, (uint32_t)r,
                                                (uint32_t)j, problems);
        take(&a, q);
        take(&b, q);
    }
    return gap(&a, &b, s->exps);
}

static double of_all(const struct rl_statistic *s, size_t problems)
{
    struct arm a = {.num = s->num_a, .den = s->den_a}, b = {.num = s->num, .den = s->den};
    for (size_t q = 0; q < problems; q++) {
        take(&a, q);
        take(&b, q);
    }
    return gap(&a, &b, s->exps);
}

/* work [n * resamples]; draw [problems], or NULL for a single statistic. */
static void run(const struct rl_statistic *s, size_t n, size_t problems, uint64_t seed,
                size_t resamples, struct rl_interval *out, double *work, size_t *draw)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct rl_interval){.value = of_all(&s[i], problems)};
    }
    for (size_t r = 0; r < resamples; r++) {
        for (size_t j = 0; draw != NULL && j < problems; j++) {
            draw[j] =
                rl_draw_below(seed, RL_STREAM_BOOTSTRAP, 0, (uint32_t)r, (uint32_t)j, problems);
        }
        for (size_t i = 0; i < n; i++) {
            double x = resampled(&s[i], problems, seed, r, draw);
            if (isnan(x)) {
                out[i].empty++;
            } else {
                work[i * resamples + r - out[i].empty] = x;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        settle(&out[i], work + i * resamples, resamples - out[i].empty);
    }
}

void rl_bootstrap_list(const struct rl_statistic *s, size_t n, size_t problems, uint64_t seed,
                       size_t resamples, struct rl_interval *out, double *work, size_t *draw)
{
    run(s, n, problems, seed, resamples, out, work, draw);
}

struct rl_interval rl_bootstrap(const double *num, const double *den, size_t problems,
                                uint64_t seed, size_t resamples, double *work)
{
    const struct rl_statistic s = {.num = num, .den = den};
    struct rl_interval out;
    run(&s, 1, problems, seed, resamples, &out, work, NULL);
    return out;
}

struct rl_interval rl_bootstrap_difference(const double *num_a, const double *den_a,
                                           const double *num_b, const double *den_b,
                                           size_t problems, int exps, uint64_t seed,
                                           size_t resamples, double *work)
{
    const struct rl_statistic s = {num_a, den_a, num_b, den_b, exps};
    struct rl_interval out;
    run(&s, 1, problems, seed, resamples, &out, work, NULL);
    return out;
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
