/* One training step, in this order: trajectories become rows, returns, group filter, log-probs of
 * the learner, masks and advantages, the loss as coefficients, the gradient by micro-batches, one
 * update. A trajectory is one packed sequence; each sampled token has a coefficient.
 *
 * The learner's log-probs must be the sampler's, bit for bit: each step compares them, and a
 * difference ends it with an error that names the token.
 *
 * Where the batch fits into one micro-batch, one forward serves masks and gradient. Memory is
 * allocated by create. Not thread safe. */
#ifndef KG_RL_STEP_H
#define KG_RL_STEP_H

#include "lm/train/trainer.h"
#include "rl/rollout.h"
#include "rl/select.h"

struct rl_step_options {
    uint64_t seed;
    struct rl_methods methods;
    struct lm_adamw adamw;
    int max_rows, max_seqs; /* of a micro-batch: those of the trainer */
    int walks, max_tokens;  /* of a batch: those of the rollouts */
    bool same_bits;         /* compare the log-probs; off for scripted policies alone */
};

struct rl_step_stats {
    int rows, live, kept; /* of all sampled turns */
    int groups, dropped;  /* groups that were sampled; that the filter dropped */
    int of_drop[RL_DROP_ZERO + 1];
    int micro;                  /* micro-batches of the gradient */
    double reward;              /* mean over live rows */
    double correct, fast, hack; /* shares of judged rows; fast: above 1.2 */
    double coverage;            /* mean over correct rows where it is known; NaN: nowhere */
    double length;              /* mean reply */
    double entropy;             /* mean over sampled tokens of live rows */
    double loss, norm;
    bool skipped;    /* the gradient is not finite: no update */
    double max_diff; /* largest |learner - sampler| */
};

struct rl_step;

/* Errors: those of rl_methods_check, KG_E_USAGE (a trajectory does not fit into a micro-batch),
 * KG_E_HOST. The trainer must outlive it. */
enum kg_code rl_step_create(struct lm_trainer *trainer, const struct rl_step_options *o,
                            struct rl_step **out, struct kg_err *err) KG_MUST_USE;
void rl_step_destroy(struct rl_step *s); /* NULL is nothing */

/* Learns from finished trajectories of this step. Errors: KG_E_INPUT (log-probs differ, rows are
 * malformed), those of the trainer. */
enum kg_code rl_step_learn(struct rl_step *s, const struct rl_rollouts *r, uint32_t step,
                           struct rl_step_stats *out, struct kg_err *err) KG_MUST_USE;

/* Of all steps so far. */
const struct rl_counts *rl_step_counts(const struct rl_step *s);
/* The rows of the last step, dropped groups apart; valid until the next. */
const struct rl_rows *rl_step_rows(const struct rl_step *s);

/* --- which problems a step asks for --- */

/* Two pools of chains; a step takes about groups * share of the second. Each pool is shuffled anew
 * for each pass (stream 6) and taken without replacement. */
struct rl_picker {
    uint64_t seed;
    double share;
    const struct rl_chain *pool[2];
    size_t n[2], at[2];
    uint32_t pass[2];
    uint32_t *order[2];
};
/* Errors: KG_E_HOST; KG_E_USAGE: an empty pool that is asked for. The pools are borrowed. */
enum kg_code rl_picker_init(struct rl_picker *p, uint64_t seed, double share,
                            const struct rl_chain *const pool[2], const size_t n[2],
                            struct kg_err *err) KG_MUST_USE;
void rl_picker_deinit(struct rl_picker *p);
void rl_picker_next(struct rl_picker *p, uint32_t step, int groups, struct rl_chain *out);

#endif
