/* KernelBench's metrics of a run against a baseline: fast_p and the geometric mean of the speed-up.
 * n is the number of problems that have a baseline (and are asked for); only sample 0 counts; a
 * problem without a result is a failure; a problem without a baseline is left out.
 * Each metric is there twice: from unrounded ns, and from the rounded milliseconds of the file, as
 * that project computes it. */
#ifndef KG_GYM_KERNELBENCH_ANALYSIS_H
#define KG_GYM_KERNELBENCH_ANALYSIS_H

#include "gym/kernelbench/baseline.h"
#include "gym/kernelbench/result.h"

#define KG_KB_NP 6
extern const double kg_kb_p[KG_KB_NP]; /* 0 0.5 0.8 1 1.5 2 */

struct kg_kb_speed {
    double fast[KG_KB_NP]; /* share of n that is correct and faster than p, strictly */
    double geo_mean;       /* over those that are correct and timed; NaN: none */
};

struct kg_kb_analysis {
    size_t n, evaluated, compiled, correct; /* evaluated: problems of n with a sample 0 */
    size_t untimed;                         /* correct without a time: no part of fast_p */
    size_t without_baseline;                /* problems with results that are left out */
    size_t results;                         /* problems in the file */
    struct kg_kb_speed exact, rounded;
};

/* only: problem ids to look at (n == 0: all). KG_E_INPUT when none of them has a baseline. */
enum kg_code kg_kb_analyze(const struct kg_kb_results *results,
                           const struct kg_kb_baseline *baseline, const struct kg_kb_numbers *only,
                           struct kg_kb_analysis *out, struct kg_err *err) KG_MUST_USE;

struct kg_kb_analysis_names {
    const char *run, *hardware, *baseline;
    int level;
};
/* The content of the analysis file; pass: that of pass_at_k_results.json, or NULL. The caller owns
 * it. */
json_t *kg_kb_analysis_json(const struct kg_kb_analysis *a,
                            const struct kg_kb_analysis_names *names, const json_t *pass);

#endif
