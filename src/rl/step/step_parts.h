/* Private to step*.c: the arrays of a step, and its parts. */
#ifndef KG_RL_STEP_STEP_PARTS_H
#define KG_RL_STEP_STEP_PARTS_H

#include "rl/step/step.h"

struct rl_step_pack {
    int32_t *start, *ids, *target; /* [max_seqs+1], [max_rows], [max_rows] */
    int *walk;                     /* [max_seqs] */
    int *at;                       /* [max_rows] the sampled token that a row predicts; -1: none */
    float *coef, *eta, *logp, *ent;
    int rows, seqs;
    struct lm_rows view; /* the trainer reads it until the backward */
};

struct rl_step_sums { /* over all sampled rows */
    double judged, correct, fast, hack, coverage, known, length, reward;
};

struct rl_step {
    struct rl_step_options o;
    struct lm_trainer *trainer;
    uint32_t step;
    struct rl_row *row; /* of groups that train, one group after the other */
    struct rl_rows rows;
    struct rl_tokens tokens;
    float *block; /* of the arrays of tokens */
    uint8_t *keep;
    float *mu, *theta, *ref, *entropy, *coef, *eta, *tis, *adv;
    int *first_token;            /* [walks * RL_TURNS_MAX] of each turn */
    bool *trains;                /* [walks] */
    uint8_t *drop;               /* [walks] enum rl_drop of each group */
    struct rl_candidate *answer; /* [walks * RL_TURNS_MAX] scratch */
    double *value;               /* [walks * RL_TURNS_MAX] scratch */
    size_t *size;                /* [walks] scratch */
    uint32_t *order;             /* [2 * walks] scratch */
    int taken;                   /* walks that add has seen */
    uint32_t rollouts;           /* of a group */
    uint32_t groups, passed;     /* seen, and of them not dropped */
    bool scored;                 /* theta is there already */
    bool held;                   /* the trainer's last forward holds all that trains */
    struct rl_step_sums sums;
    struct rl_step_stats stats;
    struct rl_step_pack pack;
    struct rl_counts counts;
};

/* --- step_rows.c --- */

/* Rows and tokens of the sampled turns of a trajectory, behind those that are there. */
void rl_step_rows_add(struct rl_step *s, const struct rl_walk *w, int i);
/* Adds rows [first, end) to the sums. */
void rl_step_measure(struct rl_step *s, const struct rl_walk *walks, size_t first, size_t end);
/* Means and shares from the sums; lengths and causes from the rows. After the masks. */
void rl_step_summarize(struct rl_step *s);

/* --- step_groups.c --- */

/* Choice, filter and winners of the group whose rows begin at `first`; takes rows out. */
void rl_step_group(struct rl_step *s, const struct rl_rollouts *r, uint32_t group, size_t first);
/* Of more groups than train, those that are chosen. */
void rl_step_choose(struct rl_step *s);

/* --- step_score.c --- */

/* theta, and ref with a reference, of all sampled tokens of the marked walks [first, end). Returns
 * the number of micro-batches in *micro. */
enum kg_code rl_step_score(struct rl_step *s, const struct rl_rollouts *r, int first, int end,
                           int *micro, struct kg_err *err) KG_MUST_USE;
/* The log-probs of sampler and learner have the same bits. */
enum kg_code rl_step_compare(struct rl_step *s, struct kg_err *err) KG_MUST_USE;
/* Coefficients of the loss. */
void rl_step_coefficients(struct rl_step *s);
/* Their gradient over the marked walks. */
enum kg_code rl_step_gradient(struct rl_step *s, const struct rl_rollouts *r, uint32_t epoch,
                              struct kg_err *err) KG_MUST_USE;

#endif
