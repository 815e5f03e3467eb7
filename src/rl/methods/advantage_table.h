/* The estimators of advantages by name. std: with n - 1; G: return; R: reward; q: group, t: turn.
 *
 *   name          over           A
 *   trloo         q, t           G - mean of the others; `weight` mode: weighted mean, times p_keep
 *   grpo-mean     q, t           G - mean; holds its own return: (1 - 1/n) of the gradient
 *   grpo          q, t           (G - mean) / (std + 1e-6); 0 where std < 1e-6
 *   grpo-traj     q              as grpo, on G of turn 1, for all turns of the trajectory
 *   rloo          q              as trloo, on G of turn 1, for all turns
 *   erloo         q, all rows    m / (m - 1) (G - mean); biased: own trajectory's other turns
 *   erloo-norm    q, all rows    (G - mean of others) / (std of others + 1e-8); std 1 for m = 2
 *   erloo-x       q, all rows    G - mean over rows of other trajectories; unbiased
 *   turn-bandit   q, all rows    R - mean of R; holds its own reward
 *   reinforce     batch          (G - mean) / (std + 1e-6)
 *   reinforce++   batch, tokens  return of each token, (x - mean) / (std + 1e-6) over kept tokens
 *   reinforce++b  q, then batch  G - mean of the group's rows, then as reinforce
 *   topk          -              weight of a winner of best-of-N, else 0
 *   none          -              G
 *
 * rloo, grpo-traj count trajectories with any row in the baseline set. grpo-mean and turn-bandit
 * give 0 at n = 1 by their formula, and so do reinforce and reinforce++b for a batch of one row;
 * the others follow rl_adv_options.n1. */
#ifndef KG_RL_METHODS_ADVANTAGE_TABLE_H
#define KG_RL_METHODS_ADVANTAGE_TABLE_H

#include "base/err.h"

struct rl_adv_job;

struct rl_estimator {
    const char *name;
    /* Set A of the rows [first, end): one group, or the batch. */
    void (*compute)(struct rl_adv_job *job, size_t first, size_t end);
    bool whole_batch; /* compute is called once, else for each group */
    bool per_token;   /* also sets tokens->adv */
    bool lonely;      /* works with one rollout a group */
};

/* KG_E_USAGE: unknown, with the list of names; or known and refused, with the reason. */
enum kg_code rl_estimator_find(const char *name, const struct rl_estimator **out,
                               struct kg_err *err) KG_MUST_USE;
/* i-th name, or NULL after the last. */
const char *rl_estimator_name(size_t i);

#endif
