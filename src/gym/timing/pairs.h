/* The timing protocol on the CPU: reference and candidate in pairs, on the same physical buffers,
 * every call verified, in several fresh process pairs (docs/timing.md). The caller owns judge,
 * problem and the exclusive lease (lease.h); this module starts and ends the runners.
 *
 * What the candidate did (it crashed, was wrong, was active while frozen) is data in the result; an
 * error says that the reference, the judge or the host failed. The clock is the broker's; nothing
 * that a runner reports lowers a time. One caller at a time per judge. */
#ifndef KG_GYM_TIMING_PAIRS_H
#define KG_GYM_TIMING_PAIRS_H

#include "gym/judge/judge.h"
#include "gym/run/runner.h"
#include "gym/timing/stats.h"

#define KG_PAIRS_SETS          4 /* buffer sets in the pool, fewer where they do not fit */
#define KG_PAIRS_MAX_PROCESSES 64
#define KG_PAIRS_MAX_PAIRS     10000
#define KG_PAIRS_LEAST         3         /* pairs without which nothing is measured */
#define KG_PAIRS_VERIFIED      40        /* verified calls of a timed process, at least */
#define KG_PAIRS_ALIVE_NS      100000000 /* a timed process lives at least this long */
#define KG_PAIRS_SHORT         20        /* T = 20 K: the shortest time that is rewarded */

enum kg_pairs_method {
    KG_PAIRS_PAIRED,     /* default: processes x pairs, median log ratio per order */
    KG_PAIRS_CALIBRATED, /* one process pair, `trials` pairs, ratio of trimmed means */
    KG_PAIRS_SINGLE,     /* comparison only, never a reward: one call per side, */
    KG_PAIRS_MEAN,       /*   means of `trials` calls, one side after the other; not verified */
};

struct kg_pairs_options {
    enum kg_pairs_method method;
    int pairs, processes, min_processes; /* of PAIRED */
    int trials;                          /* of CALIBRATED and MEAN */
    int warmups;                         /* verified calls before the first pair; plus a few */
    double trim;                         /* share dropped at each end of trimmed means */
    double half_width;                   /* planned; PAIRED stops early once reached */
    double null_half_width;              /* of this host's null test, 0 unknown: no interval is
                                            shown narrower */
    int64_t budget_ns;                   /* after it no further pair, once there are 3 */
    int64_t call_deadline_ns;            /* of a single call: past it the candidate timed out */
    bool cold;                           /* drop the buffers' cache lines before every call */
};
/* 20 pairs x 5 processes (at least 3), 50 trials, 10 warm-ups, 10 % trimming, 2 %, 10 s, 20 s. */
#define KG_PAIRS_DEFAULTS                                                                          \
    ((struct kg_pairs_options){.method = KG_PAIRS_PAIRED,                                          \
                               .pairs = 20,                                                        \
                               .processes = 5,                                                     \
                               .min_processes = 3,                                                 \
                               .trials = 50,                                                       \
                               .warmups = 10,                                                      \
                               .trim = 0.1,                                                        \
                               .half_width = 0.015,                                                \
                               .budget_ns = 10000000000,                                           \
                               .call_deadline_ns = 20000000000})

struct kg_pairs_input {
    const struct kg_problem *problem;
    struct kg_shape shape;
    struct kg_judge *judge; /* open for problem, regions as kg_pairs_region_bytes or larger */
    const struct kg_runner_spec *reference, *candidate;
    const struct kg_runner_spec *null_runner; /* entry that returns, built like null.so */
    const struct kg_runner_spec *oracle;      /* wide; NULL: no comparison with the oracle */
    struct kg_key key;                        /* secret: values, order, counts */
    uint32_t laws; /* bits of enum kg_law besides OWN that the reference meets at this shape: some
                      untimed calls are of these, or a process that is timed could be told by its
                      inputs from one that is checked. 0: none; needs the oracle */
    int64_t deadline_ns;        /* monotonic end of everything; 0: none */
    const volatile int *cancel; /* non-zero: KG_E_CANCELLED; or NULL */
};

enum kg_pairs_status {
    KG_PAIRS_MEASURED,
    KG_PAIRS_NOT_MEASURED, /* why says what was missing */
    KG_PAIRS_NOT_TRUSTED,  /* measured, but why says what forbids to believe it */
    KG_PAIRS_FAILED,       /* the candidate's doing: failure says what */
};

enum kg_pairs_failure_kind {
    KG_PAIRS_NO_FAILURE,
    KG_PAIRS_RUN,           /* run: not OK; the handle `candidate` has exit, note, fault */
    KG_PAIRS_OUT_OF_BOUNDS, /* take */
    KG_PAIRS_WRONG,         /* judgement; take says whether outputs were unwritten */
    KG_PAIRS_ASYNC,         /* ran outside its calls, twice in a row: idle_cpu_ns, tail_cpu_ns */
};

struct kg_pairs_failure {
    enum kg_pairs_failure_kind kind;
    enum kg_run_status run;
    struct kg_take_report take;
    struct kg_judgement judgement; /* replay: it answered earlier inputs */
    enum kg_compare_mode mode;
    struct kg_case c;
    int process;
    int64_t call;        /* number of the call in its process, from 1 */
    int64_t right_calls; /* calls of this process that were right before (then: phase) */
    int64_t idle_cpu_ns, tail_cpu_ns;
};

struct kg_pairs_process {
    int64_t k_ns, k_p10_ns, k_p90_ns; /* the null candidate's windows: median, spread */
    struct kg_pair *pair;             /* [n]: window + tail + idle, K not subtracted */
    size_t n;
    double log_ratio;
    int64_t ref_faults, cand_faults; /* page faults inside the timed windows */
    int64_t verified;                /* candidate calls compared */
    int64_t alive_ns;
    int voided; /* pairs repeated because somebody ran while frozen */
};

/* Not movable (candidate.wire points into it). */
struct kg_pairs_result {
    enum kg_pairs_status status;
    char why[200];
    struct kg_pairs_failure failure;
    struct kg_ratio ratio;    /* as measured */
    struct kg_ratio rewarded; /* with a candidate below T counted as T */
    bool reference_short;     /* below T: no speed reward */
    bool candidate_short;
    bool one_process;                   /* budget: interval over pairs, not processes */
    int64_t candidate_ns, reference_ns; /* medians after K */
    int64_t candidate_trimmed_ns, reference_trimmed_ns; /* trimmed means after K */
    int64_t overhead_ns;                                /* K */
    double cv;                                          /* of the candidate's times after K */
    int64_t warmups;                                    /* verified calls before pairs, summed */
    int64_t floor_ns;                                   /* the judge's own pass over the data */
    int nprocess;
    struct kg_pairs_process process[KG_PAIRS_MAX_PROCESSES];
    int64_t pool_sets;
    struct kg_runner candidate; /* the last one, stopped: exit, output, isolation, last words */
};

/* Bytes of the narrow regions that hold the pool of buffer sets at the default shape. */
void kg_pairs_region_bytes(const struct kg_problem *p, size_t *in_bytes, size_t *out_bytes);
/* Always initialises *out, which the caller then deinits. */
enum kg_code kg_pairs_run(const struct kg_pairs_input *in, const struct kg_pairs_options *opt,
                          struct kg_pairs_result *out, struct kg_err *err) KG_MUST_USE;
/* Null test: the reference against itself, by the same protocol; in->candidate is not used. For
 * doctor and bench: ratio should be 1 within its interval, half_width is the host's resolution. */
enum kg_code kg_pairs_null(const struct kg_pairs_input *in, const struct kg_pairs_options *opt,
                           struct kg_pairs_result *out, struct kg_err *err) KG_MUST_USE;
void kg_pairs_result_deinit(struct kg_pairs_result *r);
/* "measured", "not_measured", "not_trusted", "failed". */
const char *kg_pairs_status_name(enum kg_pairs_status s);

#endif
