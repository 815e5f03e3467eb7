/* Private to timing/: the state of one measurement, and its steps. A step returns enum kg_flow:
 * FAILED has filled result.failure, ERROR has filled *err. */
#ifndef KG_GYM_TIMING_SESSION_H
#define KG_GYM_TIMING_SESSION_H

#include "base/rng.h"
#include "gym/timing/pairs.h"

enum kg_flow {
    KG_FLOW_ON,
    KG_FLOW_VOID, /* a runner worked outside its call: repeat the step */
    KG_FLOW_FAILED,
    KG_FLOW_ERROR,
};

/* One measurement. */
struct kg_session {
    const struct kg_pairs_input *in;
    const struct kg_pairs_options *opt;
    struct kg_pairs_result *out;
    struct kg_pairs_process *process; /* the current one */
    struct kg_rng rng;                /* draws order, sets and counts; never values */
    uint64_t cases;                   /* number of cases drawn; each has its own key */
    uint32_t dealt;                   /* other laws that were asked since all of them were */
    int nsets, set; /* buffer sets in the pool, and the one drawn last (-1: none) */
    uint64_t in_stride, out_stride;
    struct kg_pairs_own *own, fresh; /* own: those of the caller, or fresh */
    struct kg_handle *cand, fresh_cand;
    int64_t started_ns, born_ns;  /* start of the measurement, and of the current process pair */
    int64_t calls;                /* calls of the candidate in this process */
    struct kg_take_report taken;  /* the candidate's last take ... */
    int64_t taken_call;           /* ... and its call */
    struct kg_call_report active; /* the call that made the last step void */
    bool active_is_candidate;
    struct kg_case timed; /* the timed inputs of the last pair */
    bool waited;          /* a call of this pair did not have the core all the time */
    bool cut_short;       /* the deadline came before a process had its minimum of calls */
    int64_t reference_ns; /* its least window so far, K not subtracted; 0: none */
    bool too_short;       /* the reference is below two K: nothing is timed */
};

/* session.c */
/* Makes the pool of buffer sets from the judge's regions. KG_E_LIMIT: not even one fits. */
enum kg_code kg_session_open(struct kg_session *s, struct kg_err *err) KG_MUST_USE;
void kg_session_close(struct kg_session *s);
/* Starts a fresh candidate, and the gym's own runners: fresh ones, but for the oracle's, which is
 * started once; or those that are kept, where they do not run. */
enum kg_flow kg_session_start(struct kg_session *s, struct kg_err *err);
/* Stops all but the oracle and those that are kept; the candidate's handle stays in the result. */
void kg_session_stop(struct kg_session *s);
/* Measures K of this process: the null runner's windows on the pool's buffers. */
enum kg_flow kg_session_overhead(struct kg_session *s, struct kg_err *err);
/* A random word, for kg_balanced_order. */
uint64_t kg_session_bits(void *session);
bool kg_session_over_budget(const struct kg_session *s);
bool kg_session_past_deadline(const struct kg_session *s);

/* Starts the oracle where it does not run. */
enum kg_code kg_session_oracle(struct kg_session *s, struct kg_err *err) KG_MUST_USE;

/* draw.c */
/* Draws new values of the own law. In a third of the draws the set stays; else the case lies in
 * another set. */
void kg_session_draw(struct kg_session *s, struct kg_case *out);
/* The same for any call of the candidate: some have another law. */
void kg_session_draw_call(struct kg_session *s, struct kg_case *out);
/* Does a pair of this law count for the ratio? Pairs of the others are verified alone, because
 * their work may be another. */
bool kg_session_counts(enum kg_law law);

/* verified.c */
/* Fills c and calls one side. *ns: the window and all CPU time outside it. */
enum kg_flow kg_session_ask(struct kg_session *s, const struct kg_case *c, enum kg_side side,
                            int64_t *ns, struct kg_err *err);
/* Copies the outputs in the region to the side. */
enum kg_flow kg_session_take(struct kg_session *s, const struct kg_case *c, enum kg_side side,
                             struct kg_err *err);
/* Compares the candidate's side with the reference's; oracle: with the oracle's too. */
enum kg_flow kg_session_compare(struct kg_session *s, const struct kg_case *c, bool oracle,
                                struct kg_err *err);
/* One verified call on fresh inputs, not timed. oracle: also compared with the oracle. It repeats
 * itself when it was void. */
enum kg_flow kg_session_verified(struct kg_session *s, bool oracle, struct kg_err *err);
/* Counts a void step. True: repeat it. Candidate and reference have as many repetitions. */
struct kg_voids {
    int candidate, reference;
};
bool kg_session_repeat(struct kg_session *s, enum kg_flow flow, struct kg_voids *seen);
/* VOID if the candidate worked since its last call, beside a runner that was timed. It is asked at
 * the end of a step, because its next call would show that too late for this step. */
enum kg_flow kg_session_quiet(struct kg_session *s);
/* Ends the measurement after a step that stayed void: the candidate is accused, or the reference's
 * core was disturbed. */
enum kg_flow kg_session_async(struct kg_session *s, struct kg_err *err);

/* timed_process.c, naive.c */
/* One process pair from start to stop: K, warm-ups, n pairs, the minimum of verified calls. */
enum kg_flow kg_process_run(struct kg_session *s, size_t n, struct kg_err *err);
/* n calls of the reference, then n of the candidate, not compared. This is the common way of
 * timing. */
enum kg_flow kg_naive_blocks(struct kg_session *s, size_t n, struct kg_err *err);

/* pairs_summary.c */
/* Learns the least K, and so T, from the current process. */
void kg_summary_learn_k(struct kg_session *s);
/* Computes ratio, times and flags from the pairs of all processes. */
void kg_summary_make(struct kg_session *s);
/* Ratio of one process, which has its log_ratio; false: it has no pair. */
bool kg_summary_process(const struct kg_session *s, const struct kg_pairs_process *p,
                        struct kg_ratio *out);
/* Ratio of the processes so far; false: there is none. */
bool kg_summary_ratio(const struct kg_session *s, struct kg_ratio *out);

#endif
