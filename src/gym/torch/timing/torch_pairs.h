/* The timing protocol of tensors: reference and candidate in pairs, by the judge's clock, every
 * call verified (docs/timing.md). The judge's window is what counts; nothing that a runner says
 * lowers a time.
 *
 * A session belongs to one problem and evaluation. Opening it brings up the reference and a null
 * runner, and learns the reference's own error on the inputs that will be timed; a worker's first
 * session of an instance also learns how long the judge's copies take on a quiet device. Then a
 * candidate that is up (parameters loaded) is run through it, once, or again in a new process. A
 * context takes 0.3 s on a GPU and Triton 0.5 to 1 s, so the first one is the process whose answers
 * have just been checked: timed calls are verified like those, so none can tell which are which.
 *
 * What the candidate did is data in the result; an error says that the reference, the judge or the
 * host failed. */
#ifndef KG_GYM_TORCH_TIMING_TORCH_PAIRS_H
#define KG_GYM_TORCH_TIMING_TORCH_PAIRS_H

#include "gym/timing/stats.h"
#include "gym/torch/torch.h"

#define KG_TPAIRS_LEAST     3         /* pairs without which nothing is measured */
#define KG_TPAIRS_VERIFIED  40        /* verified calls of a timed process, at least */
#define KG_TPAIRS_ALIVE_NS  100000000 /* a timed process lives at least this long */
#define KG_TPAIRS_SHORT_NS  100000    /* T: the shortest time that is rewarded */
#define KG_TPAIRS_SPREAD_NS 50000     /* of the middle half of K's windows: beyond it no trust, */
#define KG_TPAIRS_SPREAD    0.05      /* unless it is this share of the shorter time, or less */
#define KG_TPAIRS_BLOCKS    128
#define KG_TPAIRS_MOST      10000 /* pairs of one block, or trials */

struct kg_tpairs_options {
    bool calibrated;                /* ratio of trimmed means of `trials` pairs */
    int pairs, blocks, min_blocks;  /* pairs of a block; blocks at most, and before an early stop */
    int trials, warmups;            /* of calibrated; verified calls before the first pair */
    double trim, half_width;        /* as struct kg_pairs_options */
    double widest;                  /* as struct kg_pairs_options, of blocks */
    int64_t budget_ns;              /* after it no further pair, once there are 3 */
    int64_t call_ns, first_call_ns; /* deadline of a call; what the first has besides */
    bool exclusive;                 /* under the lease of this device */
    bool ahead;                     /* calls are launched before their inputs come */
};
/* 12 x 4 pairs at most (at least 2 blocks), 50 trials, 10 warm-ups, 10 % trimming, 2 %, 20 s,
 * 20 s + 60 s. */
#define KG_TPAIRS_DEFAULTS                                                                         \
    ((struct kg_tpairs_options){.pairs = 4,                                                        \
                                .blocks = 12,                                                      \
                                .min_blocks = 2,                                                   \
                                .trials = 50,                                                      \
                                .warmups = 10,                                                     \
                                .trim = 0.1,                                                       \
                                .half_width = 0.02,                                                \
                                .budget_ns = 20000000000,                                          \
                                .call_ns = 20000000000,                                            \
                                .first_call_ns = 60000000000,                                      \
                                .exclusive = true})

enum kg_tpairs_status {
    KG_TPAIRS_MEASURED,
    KG_TPAIRS_NOT_MEASURED, /* why says what was missing */
    KG_TPAIRS_NOT_TRUSTED,  /* measured, but why says what forbids to believe it */
    KG_TPAIRS_FAILED,       /* the candidate's doing: failure says what */
    KG_TPAIRS_LOST,         /* inputs that the reference refuses have ended a process */
    KG_TPAIRS_LOUD,         /* again and again somebody else's work was on the device */
};

struct kg_tpairs_failure {
    enum kg_tcommand command;
    bool compared; /* it answered: judgement and report are there; else report is how it ended */
    struct kg_dj_report report;
    struct kg_dj_judgement judgement;
    enum kg_tlaw law;
    int64_t call, right; /* number of the call in its process, from 1; right ones before */
};

struct kg_tpairs_result {
    enum kg_tpairs_status status;
    char why[200];
    struct kg_tpairs_failure failure;
    struct kg_ratio ratio;                 /* as measured */
    bool reference_short, candidate_short; /* below T */
    bool noisy;                            /* K wandered: not trusted for that */
    int64_t candidate_ns, reference_ns;    /* medians after K */
    int64_t candidate_trimmed_ns, reference_trimmed_ns;
    int64_t overhead_ns, k_p10_ns, k_p90_ns; /* K; spread of the null windows */
    int64_t k_lease_ns, k_quiet_ns;          /* their median; that before any candidate was there */
    int64_t k_reference_ns, k_candidate_ns;  /* of either side's own process; 0: not known */
    double cv;                               /* of the candidate's times after K */
    int64_t warmups;         /* verified calls at this shape before the first pair */
    int64_t calls, verified; /* of the candidate's process */
    int64_t oracle_checked;  /* of them, with the oracle too */
    int64_t nulls;           /* windows that K is the median of */
    int64_t alive_ns;
    int64_t worked_between_ns; /* CPU time of the candidate, alone, while it was not called, ... */
    int64_t stops;             /* ... before it was stopped then, so many times */
    int repeated;              /* pairs that were loud, and were asked again */
    int refused;               /* draws that the reference refused: nobody is asked about them */
    int others;                /* pairs of laws whose time does not count */
    int64_t setup_ns;          /* the judge's own copies in the last loud call, */
    int64_t close_ns;          /* and its digest */
    struct kg_pair *pair;      /* [n], K not subtracted */
    size_t n, block;           /* block: pairs of one part of the interval */
};

struct kg_tpairs;

/* It is known what quiet is for this instance, K then, and how far its reference errs; else no
 * candidate's process may be there while a session is opened. */
bool kg_tpairs_knows(const struct kg_worker *w, const struct kg_tinstance *instance);
/* deadline_ns: monotonic end of everything, moved by what is waited for the lease; borrowed. */
enum kg_code kg_tpairs_open(struct kg_worker *w, struct kg_tinstance *instance,
                            const struct kg_tpairs_options *opt, struct kg_key key,
                            int64_t *deadline_ns, struct kg_tpairs **out,
                            struct kg_err *err) KG_MUST_USE;
void kg_tpairs_close(struct kg_tpairs *s); /* NULL: nothing */
/* A candidate that is up and holds the first set of parameters. Always initialises *out, which the
 * caller then deinits. From its second call on all runners are on the worker's core. */
enum kg_code kg_tpairs_run(struct kg_tpairs *s, struct kg_trunner *candidate,
                           struct kg_tpairs_result *out, struct kg_err *err) KG_MUST_USE;
/* After a run that has not failed: what it has set aside is asked of the oracle, which may make it
 * FAILED. The candidate is not asked, and need not be there any more; nor is it charged for what is
 * waited for the device. */
enum kg_code kg_tpairs_oracle(struct kg_tpairs *s, struct kg_tpairs_result *out,
                              struct kg_err *err) KG_MUST_USE;
void kg_tpairs_result_deinit(struct kg_tpairs_result *r);
/* Once the candidate's process is gone: are the reference's calls and null calls loud all the same?
 */
enum kg_code kg_tpairs_canary(struct kg_tpairs *s, bool *loud, struct kg_err *err) KG_MUST_USE;
/* Null test: the instance's reference against itself in a process of its own. */
enum kg_code kg_tpairs_null(struct kg_worker *w, struct kg_tinstance *instance,
                            const struct kg_tpairs_options *opt, struct kg_key key,
                            struct kg_tpairs_result *out, struct kg_err *err) KG_MUST_USE;
/* Half-width or error of that test, whichever is more, into the worker's null_half_width: once per
 * worker, or once for all that share what they learn. */
enum kg_code kg_tpairs_null_width(struct kg_worker *w, struct kg_tinstance *instance,
                                  const struct kg_tpairs_options *opt, struct kg_key key,
                                  struct kg_err *err) KG_MUST_USE;
/* From the configuration. */
void kg_tpairs_options_of(const struct kg_config *c, struct kg_tpairs_options *out);

#endif
