/* Rates, fast_p, speeds and pass@k of an evaluation. */
#include "rl/methods/metrics.h"

#include <math.h>
#include <stdlib.h>

/* Source: docs/rewards.md and the method's use of PR: below .3 most time is the library's. */
#define LAZY_BELOW .3

double rl_metrics_speed(const struct rl_outcome *o, bool lower)
{
    if (o == NULL || !o->correct) {
        return 0;
    }
    return lower ? o->speedup_lo : o->speedup;
}

const struct rl_outcome *rl_metrics_at(const struct rl_results *r, struct rl_view v, size_t problem,
                                       size_t sample)
{
    KG_ASSERT(v.turn >= 1 && v.turn <= r->turns);
    const struct rl_outcome *o = r->outcome + (problem * r->samples + sample) * r->turns;
    if (v.of == RL_OF_TURN) {
        return o[v.turn - 1].sampled ? &o[v.turn - 1] : NULL;
    }
    const struct rl_outcome *best = NULL;
    for (size_t t = 0; t < v.turn; t++) {
        if (!o[t].sampled) {
            continue;
        }
        double s = rl_metrics_speed(&o[t], false), b = rl_metrics_speed(best, false);
        bool first_right = s == b && o[t].correct && !(best != NULL && best->correct);
        if (best == NULL || s > b || first_right) {
            best = &o[t];
        }
    }
    return best;
}

struct rl_rates rl_metrics_rates(const struct rl_results *r, struct rl_view v)
{
    struct rl_rates x = {0};
    double gated = 0, n = (double)(r->problems * r->samples);
    for (size_t q = 0; q < r->problems; q++) {
        for (size_t i = 0; i < r->samples; i++) {
            const struct rl_outcome *o = rl_metrics_at(r, v, q, i);
            if (o == NULL) {
                continue;
            }
            x.extracted += o->extracted;
            x.valid += o->extracted && o->valid;
            x.compiled += o->extracted && o->valid && o->compiled;
            x.correct += o->correct;
            x.numerics += o->numerics;
            gated += o->numerics && !o->correct;
            x.lazy += o->correct && o->coverage < LAZY_BELOW;
        }
    }
    x.hack = x.numerics > 0 ? gated / x.numerics : 0;
    x.extracted /= n;
    x.valid /= n;
    x.compiled /= n;
    x.correct /= n;
    x.numerics /= n;
    x.lazy /= n;
    return x;
}

static bool has(const struct rl_outcome *o, enum rl_rate rate)
{
    if (o == NULL) {
        return false;
    }
    switch (rate) {
    case RL_RATE_VALID:
        return o->extracted && o->valid;
    case RL_RATE_COMPILED:
        return o->extracted && o->valid && o->compiled;
    case RL_RATE_CORRECT:
        return o->correct;
    case RL_RATE_HACK:
        return o->hack;
    case RL_RATE_LAZY:
        break;
    }
    return o->correct && o->coverage < LAZY_BELOW;
}

void rl_metrics_rate(const struct rl_results *r, struct rl_view v, enum rl_rate rate, double *per)
{
    for (size_t q = 0; q < r->problems; q++) {
        size_t hits = 0;
        for (size_t i = 0; i < r->samples; i++) {
            hits += has(rl_metrics_at(r, v, q, i), rate);
        }
        per[q] = (double)hits / (double)r->samples;
    }
}

double rl_metrics_fast(const struct rl_results *r, struct rl_view v, double p, bool lower,
                       double *per)
{
    size_t all = 0;
    for (size_t q = 0; q < r->problems; q++) {
        size_t hits = 0;
        for (size_t i = 0; i < r->samples; i++) {
            hits += rl_metrics_speed(rl_metrics_at(r, v, q, i), lower) > p;
        }
        all += hits;
        if (per != NULL) {
            per[q] = (double)hits / (double)r->samples;
        }
    }
    return (double)all / (double)(r->problems * r->samples);
}

bool rl_metrics_fast_published(double ref_ms, double cand_ms, double p)
{
    /* Both times at three significant digits, as the published tables have them. */
    double a = pow(10, 2 - floor(log10(ref_ms))), b = pow(10, 2 - floor(log10(cand_ms)));
    return (round(ref_ms * a) / a) / (round(cand_ms * b) / b) >= p;
}

double rl_metrics_fast_of_correct(const struct rl_results *r, struct rl_view v, double p)
{
    size_t hits = 0, right = 0;
    for (size_t q = 0; q < r->problems; q++) {
        for (size_t i = 0; i < r->samples; i++) {
            const struct rl_outcome *o = rl_metrics_at(r, v, q, i);
            right += o != NULL && o->correct;
            hits += rl_metrics_speed(o, false) > p;
        }
    }
    return right > 0 ? (double)hits / (double)right : (double)NAN;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct rl_speeds rl_metrics_speeds(const struct rl_results *r, struct rl_view v, double *work)
{
    struct rl_speeds x = {.geomean = (double)NAN, .median = (double)NAN, .mean = (double)NAN};
    double logs = 0, floored = 0, sum = 0;
    for (size_t q = 0; q < r->problems; q++) {
        for (size_t i = 0; i < r->samples; i++) {
            double s = rl_metrics_speed(rl_metrics_at(r, v, q, i), false);
            floored += log(fmax(1, s));
            if (s > 0) {
                work[x.n++] = s;
                logs += log(s);
                sum += s;
            }
        }
    }
    x.geo_floor1 = exp(floored / (double)(r->problems * r->samples));
    if (x.n > 0) {
        qsort(work, x.n, sizeof *work, ascending);
        x.geomean = exp(logs / (double)x.n);
        x.mean = sum / (double)x.n;
        x.median = (work[(x.n - 1) / 2] + work[x.n / 2]) / 2;
    }
    return x;
}

void rl_metrics_logs(const struct rl_results *r, struct rl_view v, bool floor1, double *log_sum,
                     double *count)
{
    for (size_t q = 0; q < r->problems; q++) {
        log_sum[q] = count[q] = 0;
        for (size_t i = 0; i < r->samples; i++) {
            double s = rl_metrics_speed(rl_metrics_at(r, v, q, i), false);
            if (floor1 || s > 0) {
                log_sum[q] += log(floor1 ? fmax(1, s) : s);
                count[q]++;
            }
        }
    }
}

enum kg_code rl_metrics_pass(size_t n, size_t c, size_t k, double *out, struct kg_err *err)
{
    if (k == 0 || k > n || c > n) {
        return kg_fail(err, KG_E_USAGE, "pass@%zu: k must be from 1 to the %zu samples", k, n);
    }
    double miss = n - c < k ? 0 : 1;
    for (size_t j = n - c + 1; j <= n && miss > 0; j++) {
        miss *= 1 - (double)k / (double)j;
    }
    *out = 1 - miss;
    return KG_OK;
}

enum kg_code rl_metrics_pass_at(const struct rl_results *r, struct rl_view v, size_t k, double p,
                                double *out, double *per, struct kg_err *err)
{
    double sum = 0;
    for (size_t q = 0; q < r->problems; q++) {
        size_t hits = 0;
        for (size_t i = 0; i < r->samples; i++) {
            const struct rl_outcome *o = rl_metrics_at(r, v, q, i);
            hits += p < 0 ? o != NULL && o->correct : rl_metrics_speed(o, false) > p;
        }
        double one = 0;
        enum kg_code code = rl_metrics_pass(r->samples, hits, k, &one, err);
        if (code != KG_OK) {
            return code;
        }
        sum += one;
        if (per != NULL) {
            per[q] = one;
        }
    }
    *out = sum / (double)r->problems;
    return KG_OK;
}

double rl_metrics_quantile(const double *sorted, size_t n, double q)
{
    /* a share of (i + 1) / n is reached at index i; 1e-12: q n that is whole but for rounding */
    double at = ceil(q * (double)n - 1e-12 * (double)n) - 1;
    size_t i = at > 0 ? (size_t)at : 0;
    return sorted[i < n ? i : n - 1];
}
