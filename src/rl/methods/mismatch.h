/* Mismatch between the sampler and the learner: masks (MRS, veto) and weights (TIS).
 *
 * d_k = log old(y_k) - log mu(y_k): learner minus sampler. g by level, over live rows only:
 *   token      exp(d_k)                                            decides the token
 *   turn       exp(sum of d over the row)                          the row
 *   turn-geo   exp(mean of d over the row)                         the row
 *   sequence   exp(sum over all live rows of the trajectory)       the trajectory
 *   geometric  exp(mean over all tokens of these rows)             the trajectory
 *   turn-abs   mean of |d| over the row <= hi itself               the row; nothing cancels
 * A unit is kept iff lo <= g <= hi, compared in logarithms, the exponent held in +-20. lo 0 stands
 * for 1 / hi. With one turn a trajectory is its row.
 * veto: a row with one token d_k < log(veto) is rejected, whatever the level decides; other rows of
 * the trajectory stay. It looks at all tokens, also at those that MRS has masked.
 * A row whose sampler log-probability is missing (NaN) for any token is rejected and counted. It
 * never gets a substitute value, and its tokens enter no statistic.
 * TIS: w = min(exp(D), cap), D = d_k, or its sum over row or trajectory, held in +-20; detached.
 * MRS removes data, it does not correct the rest. Where d = 0 every mask keeps, every weight is 1.
 * Errors: rl_mismatch_check only. No allocation. Threads: one batch, one thread.
 * Sources: Dr. Kernel (geometric, veto); Yao et al. 2025 (truncated importance sampling). */
#ifndef KG_RL_METHODS_MISMATCH_H
#define KG_RL_METHODS_MISMATCH_H

#include "rl/methods/counts.h"
#include "rl/methods/rows.h"

enum rl_mrs {
    RL_MRS_OFF,
    RL_MRS_TOKEN,
    RL_MRS_TURN,
    RL_MRS_TURN_GEO,
    RL_MRS_SEQUENCE,
    RL_MRS_GEOMETRIC,
    RL_MRS_TURN_ABS,
};

enum rl_tis { RL_TIS_OFF, RL_TIS_TOKEN, RL_TIS_ROW, RL_TIS_TRAJECTORY };

struct rl_mismatch_options {
    enum rl_mrs mrs;
    double lo, hi; /* .999, 1.001; lo 0: 1 / hi */
    double veto;   /* 1e-4; 0: off */
    enum rl_tis tis;
    double tis_cap; /* 2 */
};

struct rl_mismatch_stats {
    size_t tokens;    /* live tokens with both log-probabilities */
    double kl;        /* -mean d: estimates KL(mu || old) */
    double k3;        /* mean of e^d - d - 1 */
    double max_abs;   /* largest |d| */
    double ppl_mu;    /* exp(-mean log mu) */
    double ppl_old;   /* exp(-mean log old) */
    double effective; /* effective sample size as a share: (sum e^d)^2 / (n sum e^2d) */
};

/* mrs, veto and tis off; the bounds above. */
void rl_mismatch_defaults(struct rl_mismatch_options *o);
/* KG_E_USAGE: bounds that hold no 1; turn or turn-geo with one turn, where they are sequence and
 * geometric. */
enum kg_code rl_mismatch_check(const struct rl_mismatch_options *o, uint32_t turns,
                               struct kg_err *err) KG_MUST_USE;

/* Reject rows and clear tokens->keep (needed for level token). Rows must have been kept before.
 * Reads tokens->mu and ->old; with mrs and veto off only mu, for missing values. */
void rl_mismatch_mask(struct rl_rows *rows, struct rl_tokens *tokens,
                      const struct rl_mismatch_options *o, struct rl_counts *counts);
/* Fill tokens->tis of all live rows, 1 elsewhere. With tis off it sets tokens->tis to NULL. */
void rl_mismatch_weigh(const struct rl_rows *rows, struct rl_tokens *tokens,
                       const struct rl_mismatch_options *o, struct rl_counts *counts);
/* Over the live rows; all 0 (effective 1) where there is no token. */
struct rl_mismatch_stats rl_mismatch_stats(const struct rl_rows *rows,
                                           const struct rl_tokens *tokens);

/* log g of row i, or of the trajectory that it belongs to; for turn-abs the mean of |d|. 0 for a
 * unit without tokens. Not for level token. */
double rl_mismatch_statistic(const struct rl_rows *rows, const struct rl_tokens *tokens, size_t i,
                             enum rl_mrs level);

#endif
