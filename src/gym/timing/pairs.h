/* The timing protocol on the CPU (docs/timing.md). Reference and candidate run in pairs on the same
 * buffers; every call is verified; several fresh process pairs are measured.
 *
 * The caller owns judge, problem and the exclusive lease (lease.h); this module starts and ends the
 * runners. Faults of the candidate (crash, wrong answer, work while frozen) are data in the result.
 * An error says that the reference, the judge or the host failed. The clock is the broker's;
 * nothing that a runner reports lowers a time. One caller at a time per judge. */
#ifndef KG_GYM_TIMING_PAIRS_H
#define KG_GYM_TIMING_PAIRS_H

#include "gym/judge/judge.h"
#include "gym/run/runner.h"
#include "gym/timing/stats.h"

#define KG_PAIRS_SETS          4 /* buffer sets in the pool; fewer where they do not fit */
#define KG_PAIRS_MAX_PROCESSES 64
#define KG_PAIRS_MAX_PAIRS     10000
#define KG_PAIRS_LEAST_WARMUPS 1  /* the first verified call teaches the reference's own error */
#define KG_PAIRS_NULLS         24 /* null calls that K is the median of, where runners are kept */
#define KG_PAIRS_MAX_NULLS     100
#define KG_PAIRS_LEAST         3  /* with fewer pairs nothing is measured */
#define KG_PAIRS_SHORT         20 /* T = 20 times the least K: docs/timing.md */
#define KG_PAIRS_TOO_SHORT     2  /* a reference below so many K is not timed at all */

enum kg_pairs_method {
    KG_PAIRS_PAIRED,     /* default: several processes, median log ratio per order */
    KG_PAIRS_CALIBRATED, /* one process pair, `trials` pairs, ratio of trimmed means */
    KG_PAIRS_SINGLE,     /* comparison only, never a reward: one call per side, */
    KG_PAIRS_MEAN,       /* means of `trials` calls, one side after the other; not verified */
};

/* How to measure; docs/timing.md explains each number. */
struct kg_pairs_options {
    enum kg_pairs_method method;
    int pairs, processes, min_processes; /* for PAIRED */
    int trials;                          /* for CALIBRATED and MEAN */
    int warmups;                         /* least number of verified calls before the first pair */
    int least_calls;                     /* least number of verified calls of a timed process */
    int64_t least_life_ns;               /* least life of a timed process */
    int null_calls; /* calls of the null runner; K is their median, with earlier ones where runners
                       are kept */
    int waits;      /* times that a pair is repeated in which a side waited for the core */
    bool primers;   /* each side makes an untimed call before its timed one */
    bool asides;    /* some calls are compared with the oracle whatever the float reference says;
                       else the first call alone, if the input is not `taught` */
    double trim;    /* share that trimmed means drop at each end */
    double half_width; /* PAIRED stops early once the interval is this narrow */
    double widest; /* PAIRED: while hi / lo is above it, more is measured than planned, within the
                      budget: KG_PAIRS_MORE times as many pairs or processes at most. 0: never */
    /* Of this host's null test; 0: unknown. No interval is shown narrower. */
    double null_half_width;
    int64_t budget_ns;        /* after it no pair begins, once there are KG_PAIRS_LEAST */
    int64_t call_deadline_ns; /* longest single call; after it the candidate timed out */
    bool cold;                /* drop the buffers' cache lines before every call */
    bool skip_short;          /* a reference below 2 K: NOT_MEASURED, without pairs */
    int64_t quiet_ns;         /* least K that the caller has seen on this core; 0: none */
};
/* The defaults, as the option table has them. */
#define KG_PAIRS_DEFAULTS                                                                          \
    ((struct kg_pairs_options){.method = KG_PAIRS_PAIRED,                                          \
                               .pairs = 20,                                                        \
                               .processes = 5,                                                     \
                               .min_processes = 3,                                                 \
                               .trials = 50,                                                       \
                               .warmups = 10,                                                      \
                               .least_calls = 40,                                                  \
                               .least_life_ns = 100000000,                                         \
                               .null_calls = 24,                                                   \
                               .primers = true,                                                    \
                               .asides = true,                                                     \
                               .trim = 0.1,                                                        \
                               .half_width = 0.015,                                                \
                               .budget_ns = 20000000000,                                           \
                               .call_deadline_ns = 20000000000})

/* A runner, and whether it was started. */
struct kg_handle {
    struct kg_runner runner;
    bool up;
};
/* Runners of the gym's own objects. */
struct kg_pairs_own {
    struct kg_handle ref, null, oracle;
    /* The last windows of null, in a ring: kept runners have few null calls each time. */
    double null_ns[KG_PAIRS_NULLS];
    int n_nulls, next_null;
};

/* The subject of a measurement. Everything stays the caller's. */
struct kg_pairs_input {
    const struct kg_problem *problem;
    struct kg_shape shape;
    struct kg_judge *judge; /* open for problem, regions at least kg_pairs_region_bytes */
    const struct kg_runner_spec *reference, *candidate;
    const struct kg_runner_spec *null_runner; /* an entry that only returns, built like null.so */
    const struct kg_runner_spec *oracle; /* wide; NULL: answers are not compared with the oracle */
    /* NULL: each process pair has fresh runners. Else these are used, started where they are not up
     * or have ended, and left running; whoever owns them stops them. */
    struct kg_pairs_own *kept;
    /* NULL, or not up: the candidate's first process is a fresh one. Else it is this one, which
     * the measurement stops. */
    struct kg_handle *running;
    struct kg_key key; /* secret: values, order and counts are drawn from it */
    bool taught;       /* the judge knows the reference's own error from inputs asked before */
    uint32_t laws; /* bits of enum kg_law besides OWN that the reference meets at this shape; needs
                      the oracle. Three calls in eight follow them, timed or not. 0: none */
    /* NULL, or told of each call of the candidate before it is made, and whether it is the timed
     * one of a pair: for tests of what a candidate could know. */
    void (*watch)(void *ctx, const struct kg_case *c, bool timed);
    void *watch_ctx;
    int64_t deadline_ns;        /* monotonic end of everything; 0: none */
    const volatile int *cancel; /* non-zero: KG_E_CANCELLED; or NULL */
};

enum kg_pairs_status {
    KG_PAIRS_MEASURED,
    KG_PAIRS_NOT_MEASURED, /* `why` says what was missing */
    KG_PAIRS_NOT_TRUSTED,  /* measured, but `why` says what makes it doubtful */
    KG_PAIRS_FAILED,       /* by the candidate; see `failure` */
};

enum kg_pairs_failure_kind {
    KG_PAIRS_NO_FAILURE,
    KG_PAIRS_RUN,           /* run is not OK; `candidate` has exit, note and fault */
    KG_PAIRS_OUT_OF_BOUNDS, /* see take */
    KG_PAIRS_WRONG,         /* see judgement; take tells whether outputs were unwritten, which
                               may be all that is wrong (take.certain) */
    KG_PAIRS_ASYNC,         /* it ran outside its calls, KG_ACTIVE_CALLS in a row */
};

/* A fault of the candidate. */
struct kg_pairs_failure {
    enum kg_pairs_failure_kind kind;
    enum kg_run_status run;
    struct kg_take_report take;
    struct kg_judgement judgement; /* replay: it gave an answer to earlier inputs */
    enum kg_compare_mode mode;
    struct kg_case c;
    int process;
    int64_t call;        /* number of the call in its process, from 1 */
    int64_t right_calls; /* calls of this process that were right before */
    int64_t idle_cpu_ns, tail_cpu_ns;
};

/* The measurements of one process pair. */
struct kg_pairs_process {
    int64_t k_ns, k_p10_ns, k_p90_ns; /* windows of the null runner: median and spread */
    struct kg_pair *pair;             /* [n] window + tail + idle, before K is subtracted */
    size_t n;
    uint64_t seen[2]; /* pairs that might have counted, by cand_first; n of them do */
    int others;       /* pairs of laws that do not count */
    double log_ratio;
    int64_t ref_faults, cand_faults; /* page faults within the timed windows */
    int64_t verified;                /* candidate's calls that were compared */
    int64_t alive_ns;
    int voided; /* steps repeated because a runner worked while frozen */
};

/* The result. It may not be moved, because candidate.wire points into it. */
struct kg_pairs_result {
    enum kg_pairs_status status;
    char why[200];
    struct kg_pairs_failure failure;
    struct kg_ratio ratio;    /* as measured */
    struct kg_ratio rewarded; /* a candidate below T counts as T */
    bool reference_short;     /* the reference is below T: no speed reward */
    bool candidate_short;
    bool one_process; /* the budget allowed one process: the interval is over its pairs */
    int64_t candidate_ns, reference_ns; /* after K: geometric mean of the processes' medians */
    int64_t candidate_most_ns; /* its time after the least K: K is a median, and with other work on
                                  the core it may exceed what a call costs */
    int64_t candidate_trimmed_ns, reference_trimmed_ns; /* trimmed means after K */
    int64_t overhead_ns;                                /* K */
    int64_t quiet_ns;    /* least K: the caller's, and the tenth percentile of each process */
    int64_t shortest_ns; /* T = 20 quiet_ns */
    double cv;           /* coefficient of variation of the candidate's times after K */
    int64_t warmups;     /* verified calls before the pairs, all processes */
    int64_t floor_ns;    /* the judge's own pass over the data */
    int nprocess;
    struct kg_pairs_process process[KG_PAIRS_MAX_PROCESSES];
    int64_t pool_sets;
    struct kg_runner candidate; /* the last one, stopped: exit, output, isolation */
};

/* Sizes of the narrow regions that hold the pool of buffer sets at the default shape. */
void kg_pairs_region_bytes(const struct kg_problem *p, size_t *in_bytes, size_t *out_bytes);
/* Runs the whole measurement. *out is always initialised, and the caller deinits it. Errors:
 * KG_E_PROBLEM the reference failed, KG_E_LIMIT regions too small, KG_E_CANCELLED, KG_E_GYM,
 * KG_E_HOST. Cost: opt->budget_ns at most, plus the last pair. */
enum kg_code kg_pairs_run(const struct kg_pairs_input *in, const struct kg_pairs_options *opt,
                          struct kg_pairs_result *out, struct kg_err *err) KG_MUST_USE;
/* Null test: measures the reference against itself by the same protocol; in->candidate is not used.
 * The ratio should be 1 within its interval; half_width is the host's resolution. Doctor and bench
 * use it. */
enum kg_code kg_pairs_null(const struct kg_pairs_input *in, const struct kg_pairs_options *opt,
                           struct kg_pairs_result *out, struct kg_err *err) KG_MUST_USE;
void kg_pairs_result_deinit(struct kg_pairs_result *r);

#endif
