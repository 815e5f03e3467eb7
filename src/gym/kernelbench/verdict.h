/* The fields of KernelBench's KernelExecResult from what its own protocol observes: correctness
 * trials with their largest and mean differences and shapes, and the times of one kernel. Pure; its
 * numbers set no reward. */
#ifndef KG_GYM_KERNELBENCH_VERDICT_H
#define KG_GYM_KERNELBENCH_VERDICT_H

#include "base/json.h"

#define KG_KB_MAX_TRIALS 1000
#define KG_KB_MAX_NDIM   8
#define KG_KB_EXCESSIVE  10.0 /* times the reference's speed: flagged */

enum kg_kb_trial_end { KG_KB_COMPARED, KG_KB_RAISED };

struct kg_kb_shape {
    int ndim;
    int64_t dim[KG_KB_MAX_NDIM];
};

struct kg_kb_trial {
    enum kg_kb_trial_end end;
    struct kg_kb_shape want, got;
    double max_difference, mean_difference; /* of equal shapes; NaN: some difference is NaN */
    bool close;         /* every |want - got| <= tolerance + tolerance * |got|, no NaN */
    const char *raised; /* RAISED: the exception's text; its class */
    const char *raised_name;
};

struct kg_kb_observed {
    const char *hardware, *device;
    const char *compile_error, *compile_error_name; /* NULL: it compiled */
    const struct kg_kb_trial *trial; /* in order; the loop ends at a wrong shape or exception */
    size_t ntrials, planned;
    const int64_t *time_ns; /* of timed calls; NULL: not measured */
    size_t ntimes;
    double reference_ns; /* mean; NaN: not measured */
    const char *time_error;
};

/* That project's tolerance, absolute and relative alike, by the run's precision: 1e-4 for fp32,
 * 1e-2 for fp16 and bf16; 0: no such precision. */
double kg_kb_tolerance(const char *precision);
/* {compiled, correctness, metadata, runtime, runtime_stats, ref_runtime, ref_runtime_stats}; the
 * caller owns it. A value mismatch does not end the trials, a wrong shape or an exception does:
 * what follows in `trial` is not looked at. More than ten times the reference's speed sets
 * metadata.excessive_speedup and changes nothing else. */
json_t *kg_kb_exec_result(const struct kg_kb_observed *o);

#endif
