/* Metrics of an evaluation: Q problems, n samples of each, T turns of a sample.
 *
 * s* = s where C = 1, else 0. A turn that is missing counts as C = 0 and s* = 0, so denominators
 * are always Q n. Speeds are compared unrounded and strictly: fast_1 is s* > 1. Samples of one
 * problem are correlated, so the unit of an interval is the problem: each metric also gives its
 * value per problem, for bootstrap.h. No allocation; thread safe. Source: Chen et al. 2021
 * (pass@k); KernelBench (fast_p). */
#ifndef KG_RL_METHODS_METRICS_H
#define KG_RL_METHODS_METRICS_H

#include "base/err.h"

struct rl_outcome {
    bool sampled;   /* the turn exists */
    bool extracted; /* code was found */
    bool valid;     /* it parses, keeps the contract, breaks no static rule */
    bool compiled;
    bool correct;   /* C */
    bool numerics;  /* right values, whatever else was found */
    bool hack;      /* verdict hack */
    double speedup; /* s; 0: not measured */
    double speedup_lo;
    double coverage; /* PR; NaN: not known */
    int style;       /* rl_style_key of the reply; 0: no code */
};

/* outcome [problems][samples][turns] */
struct rl_results {
    size_t problems, samples, turns;
    const struct rl_outcome *outcome;
};

/* Which outcome of a sample counts. */
enum rl_of {
    RL_OF_TURN, /* turn t, from 1 */
    RL_OF_BEST, /* the largest s* of turns 1..t; of equal ones the first correct */
};

struct rl_view {
    enum rl_of of;
    size_t turn; /* 1..turns */
};

static inline struct rl_view rl_view_last(const struct rl_results *r)
{
    return (struct rl_view){RL_OF_TURN, r->turns};
}

/* The outcome that counts; NULL where the turn is missing. */
const struct rl_outcome *rl_metrics_at(const struct rl_results *r, struct rl_view v, size_t problem,
                                       size_t sample);
/* s*, or with `lower` its lower bound. */
double rl_metrics_speed(const struct rl_outcome *o, bool lower);

struct rl_rates {
    double extracted, valid, compiled, correct; /* each a part of the one before */
    double numerics;                            /* correct without the gates */
    double hack;                                /* share of right numerics that the gates refused */
    double lazy;                                /* correct with coverage below .3 */
};
struct rl_rates rl_metrics_rates(const struct rl_results *r, struct rl_view v);

enum rl_rate { RL_RATE_VALID, RL_RATE_COMPILED, RL_RATE_CORRECT, RL_RATE_HACK, RL_RATE_LAZY };
/* per [problems] out: share of a problem's samples. HACK: verdict hack. */
void rl_metrics_rate(const struct rl_results *r, struct rl_view v, enum rl_rate rate, double *per);

/* fast_p: share with s* > p; lower: of the interval's lower end. per [problems] out or NULL. */
double rl_metrics_fast(const struct rl_results *r, struct rl_view v, double p, bool lower,
                       double *per);
/* The published form, for comparison only: >= on the quotient of times at three decimals. */
bool rl_metrics_fast_published(double ref_ms, double cand_ms, double p);
/* fast_p among correct samples; NaN where none is correct. */
double rl_metrics_fast_of_correct(const struct rl_results *r, struct rl_view v, double p);

struct rl_speeds {
    size_t n;          /* correct samples with a speed */
    double geomean;    /* of them; NaN where n is 0 */
    double median;     /* of them */
    double mean;       /* of them; never show it alone */
    double geo_floor1; /* over all samples, max(1, s*): a failing kernel is not used */
};
/* work [problems * samples]: scratch of the caller. */
struct rl_speeds rl_metrics_speeds(const struct rl_results *r, struct rl_view v, double *work);
/* For a bootstrap of the geometric mean: log_sum and count [problems] out; the mean is
 * exp(sum log_sum / sum count). With floor1, all samples count, with max(1, s*). */
void rl_metrics_logs(const struct rl_results *r, struct rl_view v, bool floor1, double *log_sum,
                     double *count);

/* Unbiased pass@k of a problem with c of n samples right: 1 - C(n-c, k) / C(n, k). KG_E_USAGE:
 * k = 0, k > n, c > n. */
enum kg_code rl_metrics_pass(size_t n, size_t c, size_t k, double *out,
                             struct kg_err *err) KG_MUST_USE;
/* Mean over problems; a sample is a success if s* > p, or for p < 0 if it is correct. per
 * [problems] out or NULL. */
enum kg_code rl_metrics_pass_at(const struct rl_results *r, struct rl_view v, size_t k, double p,
                                double *out, double *per, struct kg_err *err) KG_MUST_USE;

/* Smallest value x of the n sorted ones with share of values <= x at least q. n > 0. */
double rl_metrics_quantile(const double *sorted, size_t n, double q);

#endif
