/* Private to step*.c: the arrays of a step, and how trajectories become rows. */
#ifndef KG_RL_STEP_PARTS_H
#define KG_RL_STEP_PARTS_H

#include "rl/step.h"

struct rl_step_pack {
    int32_t *start, *ids, *target; /* [max_seqs+1], [max_rows], [max_rows] */
    int *walk;                     /* [max_seqs] */
    int *at;                       /* [max_rows] the sampled token that a row predicts; -1: none */
    float *coef, *eta, *logp, *ent;
    int rows, seqs;
    struct lm_rows view; /* the trainer reads it until the backward */
};

struct rl_step {
    struct rl_step_options o;
    struct lm_trainer *trainer;
    struct rl_row *row, *all; /* without dropped groups; of all groups */
    struct rl_rows rows;
    struct rl_tokens tokens;
    float *block; /* of the arrays of tokens */
    uint8_t *keep;
    float *mu, *theta, *entropy, *coef, *eta, *tis, *adv;
    int *first_token; /* [walks * RL_TURNS_MAX] of each turn */
    bool *trains;     /* [walks] */
    struct rl_step_pack pack;
    struct rl_counts counts;
};

/* The rows and tokens of all sampled turns. KG_E_INPUT: malformed. */
enum kg_code rl_step_rows_make(struct rl_step *s, const struct rl_rollouts *r, uint32_t step,
                               struct kg_err *err) KG_MUST_USE;
/* Means and shares over the rows. */
void rl_step_measure(const struct rl_step *s, struct rl_step_stats *out);
/* Share of judged turns whose verdict is hack. */
double rl_step_hacks(const struct rl_rollouts *r);
/* Takes the rows of dropped groups out. */
void rl_step_filter(struct rl_step *s, struct rl_step_stats *out);

#endif
