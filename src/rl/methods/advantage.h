/* Advantages: from the returns of a batch to the number that multiplies the gradient of each row.
 *
 * The baseline set is all live rows, or the kept ones. A row outside it has A = 0. A baseline of a
 * row may use everything before it in its trajectory, and all other trajectories; it must not use
 * the row's own answer or reward. Estimators that break this say so in advantage_table.h.
 * n is the number of rows of the set in the row's group, and n = 1 leaves no baseline:
 *   zero   A = 0: rows without companions are weighted down, no direction is added (default)
 *   raw    A = G: a lone row is pushed up by its whole return; published
 *   cross  A = G - mean of G over live rows of the same turn in other groups; 0 if there are none
 * Sums are f64. Errors: rl_adv_check only. No allocation. Threads: one batch, one thread.
 * Sources: Dr. Kernel (TRLOO); Kool et al. 2019; Ahmadian et al. 2024 (RLOO); Shao et al. 2024
 * (GRPO); Hu 2025 (REINFORCE++). */
#ifndef KG_RL_METHODS_ADVANTAGE_H
#define KG_RL_METHODS_ADVANTAGE_H

#include "rl/methods/advantage_table.h"
#include "rl/methods/counts.h"
#include "rl/methods/rows.h"

enum rl_n1 { RL_N1_ZERO, RL_N1_RAW, RL_N1_CROSS };
enum rl_set { RL_SET_LIVE, RL_SET_KEPT };

/* A control variate for trloo: subtract beta (z_i - mean of z over the others), z being the best
 * reward of the trajectory before this turn (0 at turn 1). Beta is given, or fitted by least
 * squares on the other rows of the set, never on the row itself. */
enum rl_cv { RL_CV_OFF, RL_CV_FIXED, RL_CV_FIT };

struct rl_adv_options {
    const struct rl_estimator *estimator;
    enum rl_n1 n1;
    enum rl_set set;
    enum rl_cv cv;
    double cv_beta; /* for RL_CV_FIXED */
    bool batch_std; /* divide by the standard deviation of the row advantages of the set */
    double clip;    /* hold A in [-clip, clip]; 0: off */
    double kl_beta; /* kl_reward, for the tokens of reinforce++ */
};

/* trloo, zero, kept; the rest off. */
void rl_adv_defaults(struct rl_adv_options *o);

/* KG_E_USAGE: one rollout a group with an estimator that needs companions and n1=zero; cv with
 * another estimator than trloo; weighted rows with another one; clip below 0. */
enum kg_code rl_adv_check(const struct rl_adv_options *o, uint32_t rollouts, bool weighted,
                          struct kg_err *err) KG_MUST_USE;

/* Set A of each row; of reinforce++ also tokens->adv, which must be there then. Other estimators
 * do not read tokens, which may be NULL. */
void rl_advantage(struct rl_rows *rows, struct rl_tokens *tokens, const struct rl_adv_options *o,
                  struct rl_counts *counts);

static inline bool rl_row_in(const struct rl_row *r, enum rl_set set)
{
    return set == RL_SET_LIVE ? rl_row_live(r) : rl_row_kept(r);
}

#endif
