/* The learner's way to the gym: replies go in under a ticket, verdicts come out in order of
 * completion. Equal (problem, code) within the life of a judge share the first record, if `reuse`
 * is on. A task without a verdict is tried again, twice at most; then its ticket has no verdict,
 * and a later reply with the same code is judged anew.
 *
 * A ticket is a number below `tickets` that the caller chooses; each is in flight once at most.
 * The judge borrows the pool and takes all of its results: nobody else may use the pool meanwhile.
 * Not thread safe. Memory: about 700 bytes for each distinct reply. */
#ifndef KG_RL_JUDGE_H
#define KG_RL_JUDGE_H

#include "gym/kgym.h"
#include "rl/chains/chains.h"

enum { RL_FEEDBACK_BYTES = 240 };

enum rl_judged {
    RL_JUDGED,     /* there is a verdict */
    RL_NO_VERDICT, /* the gym had none: no reward may be formed */
    RL_DEFECT,     /* the problem is at fault */
};

struct rl_verdict {
    enum rl_judged state;
    char name[24]; /* "ok", "wrong", ...; "" without a verdict */
    char reason[32];
    bool correct;
    double speedup, speedup_lo; /* 0: not measured */
    double coverage;            /* NaN: not known */
    double reward;
    char feedback[RL_FEEDBACK_BYTES]; /* one line for the model; "" without a verdict */
    char message[160];
};

struct rl_judge;

struct rl_judge_options {
    const char *reward; /* one reward preset */
    int tickets;
    bool reuse;
    /* Most tokens of a feedback, as `count` counts them; 0: 24. count NULL: an estimate. */
    int feedback;
    size_t (*count)(void *user, const char *text, size_t len);
    void *user;
};

struct rl_judge_counts {
    uint64_t asked;  /* replies */
    uint64_t shared; /* of them: got the record of an equal one */
    uint64_t sent;   /* evaluations, second tries too */
    uint64_t failed; /* tickets without a verdict */
};

/* Errors: KG_E_HOST (memory). The pool and the name of the reward must outlive it. */
enum kg_code rl_judge_create(struct kgym_pool *pool, const struct rl_judge_options *o,
                             struct rl_judge **out, struct kg_err *err) KG_MUST_USE;
void rl_judge_destroy(struct rl_judge *j); /* NULL is nothing */

/* text [len] is a whole reply. Errors: those of kgym_submit, KG_E_HOST (memory). */
enum kg_code rl_judge_submit(struct rl_judge *j, int ticket, const struct rl_chain *chain,
                             const char *text, size_t len, struct kg_err *err) KG_MUST_USE;
/* A finished ticket and its verdict, which lives as long as the judge; *ticket is -1 when the time
 * is up or nothing is in flight. timeout_ms < 0: no limit. Errors: those of kgym_next. */
enum kg_code rl_judge_next(struct rl_judge *j, int timeout_ms, int *ticket,
                           const struct rl_verdict **verdict, struct kg_err *err) KG_MUST_USE;
/* Tickets that have not come back. */
int rl_judge_pending(const struct rl_judge *j);
struct rl_judge_counts rl_judge_counts(const struct rl_judge *j);

/* Fills *err from an error of the gym. */
enum kg_code rl_judge_fail(struct kg_err *err, const struct kgym_error *e);

#endif
