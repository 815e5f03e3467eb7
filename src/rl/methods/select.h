/* The order in which the methods act on one optimiser batch, and the check of their options.
 *
 *   rl_select_returns  infra spreads, void turns, KL in the reward, returns
 *   (the caller filters groups here, filter.h, and decides on a refill)
 *   rl_select_masks    mismatch masks and weights, PRS, advantages. PRS mode positive takes the
 *                      sign of A over the live set, then A is computed over the baseline set
 *   (then rl_loss_norm once, and rl_loss for each micro-batch)
 * A method that is off leaves the same bits as without it. The draws depend on a row's birth step
 * and number, so a step that runs again decides the same.
 * Errors: rl_methods_check only. No allocation. Threads: one batch, one thread. */
#ifndef KG_RL_METHODS_SELECT_H
#define KG_RL_METHODS_SELECT_H

#include "rl/methods/advantage.h"
#include "rl/methods/filter.h"
#include "rl/methods/loss.h"
#include "rl/methods/mismatch.h"
#include "rl/methods/prs.h"
#include "rl/methods/returns.h"

struct rl_methods {
    struct rl_return_options returns;
    struct rl_filter_options filter;
    struct rl_mismatch_options mismatch;
    struct rl_prs_options prs;
    struct rl_adv_options adv;
    struct rl_loss_options loss;
    uint32_t groups, rollouts, turns; /* nominal B, N, T */
};

/* kgym's recipe with PRS and mismatch off. response_max: longest answer in tokens. */
void rl_methods_defaults(struct rl_methods *m, uint32_t groups, uint32_t rollouts, uint32_t turns,
                         uint32_t response_max);
/* Each part's check, and the pairs that do not go together. KG_E_USAGE names the key. */
enum kg_code rl_methods_check(const struct rl_methods *m, struct kg_err *err) KG_MUST_USE;

void rl_select_returns(struct rl_rows *rows, const struct rl_tokens *tokens,
                       const struct rl_methods *m, struct rl_counts *counts);
/* On-policy, pass theta as tokens->old: the differences come from the training forward itself.
 * tokens may be NULL where no method reads them: mismatch off and an estimator by row. */
void rl_select_masks(struct rl_rows *rows, struct rl_tokens *tokens, const struct rl_methods *m,
                     uint64_t seed, struct rl_counts *counts);

/* Marks the methods that are on by their counters; leaves the other places as they are. */
void rl_methods_on(const struct rl_methods *m, bool on[RL_C_N]);
/* A method that is on and has looked at nothing, by the name of its counter; NULL: there is none.
 * For a run that had at least one batch with rows. */
const char *rl_methods_idle(const struct rl_methods *m, const struct rl_counts *counts);

#endif
