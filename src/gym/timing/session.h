/* Private to timing/: what one measurement carries from call to call. A step ends in one of four
 * ways (enum kg_flow); FAILED has filled result.failure, ERROR has filled *err. */
#ifndef KG_GYM_TIMING_SESSION_H
#define KG_GYM_TIMING_SESSION_H

#include "base/rng.h"
#include "gym/timing/pairs.h"

enum kg_flow {
    KG_FLOW_ON,
    KG_FLOW_VOID, /* somebody ran outside a call: repeat */
    KG_FLOW_FAILED,
    KG_FLOW_ERROR,
};

struct kg_handle {
    struct kg_runner runner;
    bool up;
};

struct kg_session {
    const struct kg_pairs_input *in;
    const struct kg_pairs_options *opt;
    struct kg_pairs_result *out;
    struct kg_pairs_process *process; /* the current one */
    struct kg_rng rng;                /* order, sets, counts; never values */
    uint64_t cases;                   /* cases drawn: each has its own key */
    int nsets, set;                   /* pool, and the set drawn last (-1: none) */
    uint64_t in_stride, out_stride;
    struct kg_handle ref, cand, null, oracle;
    int64_t started_ns, born_ns;  /* of the measurement; of the current process */
    int64_t calls;                /* of the candidate in this process */
    struct kg_take_report taken;  /* of the candidate, last: */
    int64_t taken_call;           /* of which call */
    struct kg_call_report active; /* the call that made the last step void */
    bool active_is_candidate;
    bool cut_short; /* the deadline came before a process's minimum of calls */
};

/* --- session.c --- */
/* Pool of buffer sets from the judge's regions; KG_E_LIMIT when not even one fits. */
enum kg_code kg_session_open(struct kg_session *s, struct kg_err *err) KG_MUST_USE;
void kg_session_close(struct kg_session *s);
/* Fresh reference, candidate and null runners (and the oracle's, once). */
enum kg_flow kg_session_start(struct kg_session *s, struct kg_err *err);
/* End them; keeps the candidate's handle in the result. */
void kg_session_stop(struct kg_session *s);
/* The null candidate's windows on the pool's buffers: K of this process. */
enum kg_flow kg_session_overhead(struct kg_session *s, struct kg_err *err);
/* Random words for kg_balanced_order. */
uint64_t kg_session_bits(void *session);
bool kg_session_over_budget(const struct kg_session *s);
bool kg_session_past_deadline(const struct kg_session *s);

/* --- verified.c --- */
/* New contents: in the set drawn last (same_set, or a third of the draws), else in another. */
void kg_session_draw(struct kg_session *s, bool same_set, struct kg_case *out);
/* Fill c and call the reference or the candidate; *ns: window and all CPU time outside it. */
enum kg_flow kg_session_ask(struct kg_session *s, const struct kg_case *c, enum kg_side side,
                            int64_t *ns, struct kg_err *err);
/* Take the outputs that lie in the region to the side's private copy. */
enum kg_flow kg_session_take(struct kg_session *s, const struct kg_case *c, enum kg_side side,
                             struct kg_err *err);
/* Compare the candidate's side with the reference's (and the oracle's). */
enum kg_flow kg_session_compare(struct kg_session *s, const struct kg_case *c, bool oracle,
                                struct kg_err *err);
/* One verified call on fresh inputs that nobody times; oracle: against it too. Repeats itself once
 * when void. */
enum kg_flow kg_session_verified(struct kg_session *s, bool oracle, struct kg_err *err);
/* Is what was void to be done again? Counts it. The second time for the candidate ends it. */
struct kg_voids {
    int candidate, reference;
};
bool kg_session_repeat(struct kg_session *s, enum kg_flow flow, struct kg_voids *seen);
/* VOID: the candidate has worked since its last call, beside whoever was timed meanwhile. Asked at
 * the end of a step, for what its next call shows comes too late for the step. */
enum kg_flow kg_session_quiet(struct kg_session *s);
/* A step was void the second time in a row. */
enum kg_flow kg_session_async(struct kg_session *s, struct kg_err *err);

/* --- process.c, naive.c --- */
/* A whole process pair: start, K, warm-ups, n pairs, minimum of verified calls, stop. */
enum kg_flow kg_process_run(struct kg_session *s, size_t n, struct kg_err *err);
/* n untimed-checked calls of the reference, then n of the candidate: what is done elsewhere. */
enum kg_flow kg_naive_blocks(struct kg_session *s, size_t n, struct kg_err *err);

/* --- summary.c --- */
/* Ratio, times and flags from the processes' pairs. */
void kg_summary_make(struct kg_session *s);
/* Ratio of the processes so far; false: none. */
bool kg_summary_ratio(const struct kg_session *s, struct kg_ratio *out);

#endif
