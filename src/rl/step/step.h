/* One training step, in this order: trajectories become rows, returns, the choice among oversampled
 * rollouts, group filter, winners of best-of-N, log-probs of the learner, masks and advantages, the
 * loss as coefficients, the gradient by micro-batches, one update. A trajectory is one packed
 * sequence; each sampled token has a coefficient. With KL in the reward, log-probs come before
 * returns.
 *
 *   rl_step_begin, then for each round of rollouts rl_step_add, then rl_step_update
 * Rounds are refills: further groups of the same weights, behind those that are there.
 *
 * The learner's log-probs must be the sampler's, bit for bit, where `same_bits` is on: each step
 * compares them, and a difference ends it with an error that names the token.
 *
 * Where the batch fits into one micro-batch, one forward serves masks and gradient. Memory is
 * allocated by create. Not thread safe. */
#ifndef KG_RL_STEP_STEP_H
#define KG_RL_STEP_STEP_H

#include "lm/train/trainer.h"
#include "rl/methods/bestof.h"
#include "rl/methods/curriculum.h"
#include "rl/methods/select.h"
#include "rl/rollout/rollout.h"

struct rl_step_options {
    uint64_t seed;
    struct rl_methods methods;
    struct lm_adamw adamw;
    int max_rows, max_seqs;  /* of a micro-batch: those of the trainer */
    int walks, max_tokens;   /* of a batch: those of the rollouts */
    bool same_bits;          /* compare the log-probs; off for a sampler with other weights */
    bool dropout;            /* of the adapter, in the gradient */
    bool adapter;            /* an adapter is trained: count its updates */
    float temperature;       /* of the rollouts; 0: 1 */
    enum rl_oversample over; /* where a group has more rollouts than methods.rollouts */
    uint32_t refills;        /* most rounds after the first */
    bool best;               /* mark the winners of each group for the estimator topk */
    struct rl_bestof_options bestof;
    int epochs; /* updates on the same coefficients; 0: 1 */
    bool pays_coverage;
    double early_stop;            /* as the rollouts have it; for its counter */
    struct lm_trainer *reference; /* scores under the reference policy; NULL: none */
};

enum { RL_CAUSES = 5, RL_QUARTILES = 4 };
/* "no_logp", "mrs", "veto", "prs", "void". */
const char *rl_cause_name(int cause);

struct rl_step_turn { /* of the turns with this number */
    int rows;
    double reward, correct, fast; /* means over those with a verdict; fast: above 1.2 */
};

struct rl_step_stats {
    int rows, live, kept; /* of all sampled turns */
    int groups, dropped;  /* groups that were sampled; that do not train */
    int of_drop[RL_DROPS];
    int rounds;                 /* of rollouts */
    int spare;                  /* oversampled rollouts that were not chosen */
    int winners;                /* of best-of-N */
    int micro;                  /* micro-batches of the gradient */
    double reward;              /* mean over live rows */
    double correct, fast, hack; /* shares of judged rows; fast: above 1.2 */
    double coverage;            /* mean over correct rows where it is known; NaN: nowhere */
    double length;              /* mean reply */
    double entropy;             /* mean over sampled tokens of live rows */
    double loss, norm;
    bool updated;    /* the weights changed */
    bool skipped;    /* the gradient is not finite: no update */
    double max_diff; /* largest |learner - sampler| */
    struct rl_mismatch_stats mismatch;
    struct rl_step_turn turn[RL_TURNS_MAX];
    /* Rows of groups that train, by quartile of length, and how many a cause took out. */
    int of_length[RL_QUARTILES], of_cause[RL_CAUSES][RL_QUARTILES];
    uint32_t right,
        level1; /* trajectories of level 1 with verdicts; of them: the last turn right */
};

struct rl_step;

/* Errors: those of rl_methods_check, KG_E_USAGE (a trajectory does not fit into a micro-batch, KL
 * without a reference), KG_E_HOST. The trainers must outlive it. */
enum kg_code rl_step_create(struct lm_trainer *trainer, const struct rl_step_options *o,
                            struct rl_step **out, struct kg_err *err) KG_MUST_USE;
void rl_step_destroy(struct rl_step *s); /* NULL is nothing */

void rl_step_begin(struct rl_step *s, uint32_t step);
/* Takes the trajectories that came since begin or the last add. *want: groups that the next round
 * must sample; 0: go on with what there is. Errors: KG_E_INPUT (rows are malformed), those of the
 * trainer. */
enum kg_code rl_step_add(struct rl_step *s, const struct rl_rollouts *r, uint32_t *want,
                         struct kg_err *err) KG_MUST_USE;
/* Learns from the groups that passed. Errors: KG_E_INPUT (log-probs differ), those of the trainer.
 */
enum kg_code rl_step_update(struct rl_step *s, const struct rl_rollouts *r,
                            struct rl_step_stats *out, struct kg_err *err) KG_MUST_USE;

/* In place of an update: masks and advantages as they would be at the sampler's log-probs. No
 * weights change, and the trainer may be NULL. For rehearsals. */
void rl_step_rehearse(struct rl_step *s);

/* All of it, with one round of rollouts. */
enum kg_code rl_step_learn(struct rl_step *s, const struct rl_rollouts *r, uint32_t step,
                           struct rl_step_stats *out, struct kg_err *err) KG_MUST_USE;

/* Of all steps so far. A resumed run sets them. */
struct rl_counts *rl_step_counts(struct rl_step *s);
/* The rows of the last step that could train: without dropped groups and rollouts that were not
 * chosen. Valid until the next. */
const struct rl_rows *rl_step_rows(const struct rl_step *s);
/* What became of a group of the last step. */
enum rl_drop rl_step_drop(const struct rl_step *s, uint32_t group);
/* Largest |learner - sampler| of a row of rl_step_rows. */
double rl_step_difference(const struct rl_step *s, const struct rl_row *row);

/* --- which problems a step asks for --- */

/* Where the choice of problems stands: plain data that a checkpoint stores. */
struct rl_picker_state {
    struct rl_curriculum curriculum;
    struct rl_cursor cursor[2];
};

/* Two pools of chains: level 1, level 2. A step takes groups * share of the second, rounded without
 * bias; the curriculum moves the share. Each pool is shuffled anew for each pass and taken without
 * replacement. */
struct rl_picker {
    uint64_t seed;
    struct rl_curriculum_options o;
    struct rl_picker_state state;
    const struct rl_chain *pool[2];
    uint32_t n[2];
    uint32_t *order[2];
    bool stale[2]; /* order does not hold the pass of the cursor */
};
/* Errors: KG_E_HOST; KG_E_USAGE: an empty pool that is asked for, those of the curriculum. The
 * pools are borrowed. */
enum kg_code rl_picker_init(struct rl_picker *p, uint64_t seed,
                            const struct rl_curriculum_options *o,
                            const struct rl_chain *const pool[2], const size_t n[2],
                            struct kg_err *err) KG_MUST_USE;
void rl_picker_deinit(struct rl_picker *p);
/* Goes on from a state that was stored. */
void rl_picker_restore(struct rl_picker *p, const struct rl_picker_state *state);
void rl_picker_next(struct rl_picker *p, uint32_t step, int groups, struct rl_chain *out);
/* After a step: `right` of n level-1 trajectories ended right. Nothing for a static share. */
void rl_picker_learn(struct rl_picker *p, uint32_t right, uint32_t n, struct rl_counts *counts);
double rl_picker_share(const struct rl_picker *p);

#endif
