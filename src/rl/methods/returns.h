/* Void turns and returns: from the reward R of each turn to the return G that its tokens train on.
 *
 *   sum    G_t = sum over u >= t of gamma^(u-t) R_u      over the turns that exist
 *   final  G_t = R of the last turn                      gamma is not used
 *   max    G_t = max over u >= t of gamma^(u-t) R_u
 *   delta  sum, with R_u - R_(u-1) in place of R_u       refused unless forced: it pays a policy
 *                                                        for a bad first turn
 * A turn is void where R_t <= 0 and an earlier turn had R > 0. A void row is not live and counts
 * as R = 0 in the returns. So a regression is worth the baseline: nothing speaks against it.
 * `hold` fills turns that early stopping left out with the last R, else stopping would lower G.
 * Errors: rl_return_check only. No allocation. Threads: one batch, one thread.
 * Source: Dr. Kernel, returns and the released code for void turns. */
#ifndef KG_RL_METHODS_RETURNS_H
#define KG_RL_METHODS_RETURNS_H

#include "rl/methods/counts.h"
#include "rl/methods/rows.h"

enum rl_return_kind { RL_RETURN_SUM, RL_RETURN_FINAL, RL_RETURN_MAX, RL_RETURN_DELTA };

struct rl_return_options {
    enum rl_return_kind kind;
    double gamma;     /* [0, 1] */
    bool void_turns;  /* mark void turns */
    bool hold;        /* fill missing turns up to `turns` with the last R */
    bool early_stop;  /* trajectories may end early: needs hold, or gamma 0 */
    bool force_delta; /* allow `delta` */
    uint32_t turns;   /* T */
    double kl_beta;   /* kl_reward: R -= kl_beta * (sum of log theta - log ref over the row) */
};

void rl_return_defaults(struct rl_return_options *o, uint32_t turns);
/* KG_E_USAGE: gamma out of range, early_stop without hold, delta without force. */
enum kg_code rl_return_check(const struct rl_return_options *o, struct kg_err *err) KG_MUST_USE;

/* Set or clear RL_VOID of each row from R, before any KL is taken from R. */
void rl_void_mark(struct rl_rows *rows, const struct rl_return_options *o,
                  struct rl_counts *counts);

/* Set row.kl = kl_beta * sum over the row of (old - ref). tokens->old and ->ref must be there when
 * kl_beta is not 0; with kl_beta 0 all row.kl are 0 and no token is read. */
void rl_kl_reward(struct rl_rows *rows, const struct rl_tokens *tokens,
                  const struct rl_return_options *o, struct rl_counts *counts);

/* R as the returns count it: 0 on a void row, else R - kl. */
double rl_reward_counted(const struct rl_row *r);

/* Set G of each row; 0 on rows of infra trajectories. */
void rl_returns(struct rl_rows *rows, const struct rl_return_options *o, struct rl_counts *counts);

#endif
