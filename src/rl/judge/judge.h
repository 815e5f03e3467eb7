/* The learner's way to the gym: replies go in under a ticket, verdicts come out in order of
 * completion. Equal (problem, code) within the life of a judge share the first record, if `reuse`
 * is on. A task without a verdict is tried again, twice at most; then its ticket has no verdict,
 * and a later reply with the same code is judged anew.
 *
 * A ticket is a number below `tickets` that the caller chooses; each is in flight once at most.
 * Verdicts come from the run's own journal, then from the journal that is replayed, then from the
 * gym, which is opened when it is first needed. What did not come from the run's own journal is
 * appended to it. Without `reuse` a reply's key holds also the scope, its ticket and how often that
 * ticket came in this scope.
 *
 * The judge borrows the pool and takes all of its results: nobody else may use the pool meanwhile.
 * Not thread safe. Memory: about 1 kB for each distinct reply, of the scope where there is a
 * journal of the run's own, else of its life. */
#ifndef KG_RL_JUDGE_JUDGE_H
#define KG_RL_JUDGE_JUDGE_H

#include "gym/kgym.h"
#include "rl/chains/chains.h"
#include "rl/judge/journal.h"

struct rl_judge;

/* Gives the pool, when a reply is first sent to it. */
typedef enum kg_code rl_gym_fn(void *user, struct kgym_pool **out, struct kg_err *err);
/* Judges in place of the gym: scripted runs and tests. */
typedef void rl_script_gym(void *user, const struct rl_chain *chain, const char *text, size_t len,
                           struct rl_verdict *out);

struct rl_judge_options {
    const char *reward; /* one reward preset */
    int tickets;
    bool reuse;
    /* Most tokens of a feedback, as `count` counts them; 0: 24. count NULL: an estimate. */
    int feedback;
    size_t (*count)(void *user, const char *text, size_t len);
    void *user;
    rl_gym_fn *open; /* gives the pool where there is none yet */
    void *open_user;
    rl_script_gym *script; /* NULL: the gym judges */
    void *script_user;
    struct rl_journal *own, *replay; /* borrowed; NULL: none */
};

struct rl_judge_counts {
    uint64_t asked;  /* replies */
    uint64_t shared; /* of them: got the record of an equal one */
    uint64_t sent;   /* evaluations, second tries too */
    uint64_t failed; /* tickets without a verdict */
    uint64_t read;   /* verdicts that came from a journal */
};

/* pool: NULL with `open` or `script`. Errors: KG_E_HOST (memory). The pool and what the options
 * name must outlive it. */
enum kg_code rl_judge_create(struct kgym_pool *pool, const struct rl_judge_options *o,
                             struct rl_judge **out, struct kg_err *err) KG_MUST_USE;
void rl_judge_destroy(struct rl_judge *j); /* NULL is nothing */

/* Replies from now on belong to this step, or to this evaluation. With a journal of the run's own,
 * verdicts that were given out before are gone. */
void rl_judge_scope(struct rl_judge *j, uint32_t scope);
/* text [len] is a whole reply. Errors: those of kgym_submit and of the journal, KG_E_HOST. */
enum kg_code rl_judge_submit(struct rl_judge *j, int ticket, const struct rl_chain *chain,
                             const char *text, size_t len, struct kg_err *err) KG_MUST_USE;
/* A finished ticket and its verdict, which lives until the next scope; *ticket is -1 when the time
 * is up or nothing is in flight. timeout_ms < 0: no limit. Errors: those of kgym_next and of the
 * journal. */
enum kg_code rl_judge_next(struct rl_judge *j, int timeout_ms, int *ticket,
                           const struct rl_verdict **verdict, struct kg_err *err) KG_MUST_USE;
/* Whether the last reply of this ticket has the record of an equal one. */
bool rl_judge_shared(const struct rl_judge *j, int ticket);
/* Tickets that have not come back. */
int rl_judge_pending(const struct rl_judge *j);
struct rl_judge_counts rl_judge_counts(const struct rl_judge *j);
void rl_judge_set_counts(struct rl_judge *j, const struct rl_judge_counts *c); /* of a checkpoint */

/* Sends a reply about a chain to a pool, under the number as its tag. rewards: as in struct
 * kgym_task; NULL: those of the pool. Errors: those of kgym_submit. */
enum kg_code rl_judge_send(struct kgym_pool *pool, const struct rl_chain *chain, const char *text,
                           size_t len, size_t number, const char *rewards,
                           struct kg_err *err) KG_MUST_USE;
/* Fills *err from an error of the gym. */
enum kg_code rl_judge_fail(struct kg_err *err, const struct kgym_error *e);

#endif
