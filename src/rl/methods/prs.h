/* Profiling-based rejection sampling (PRS): lazy successes, whose coverage is low, do not train.
 *
 *   p_keep = clip((PR - tau) / sigma, 0, 1); sigma 0: [PR >= tau]; 1 where C = 0: failures train
 *   keep   = [u < p_keep], u from stream 2 by the row's birth step and number
 * So a step that runs again, a buffer and another layout decide the same. A correct row whose
 * coverage is not known is kept and counted. or_speed: p_keep = 1 where s >= speed_least.
 *
 *   all       the coin decides every live row; published
 *   positive  it rejects only rows with A > 0 over the live set: a lazy row that is worse than its
 *             companions keeps its push downwards (default)
 *   weight    no coin: A is multiplied by p_keep, the mean of the others is weighted by it
 *
 * A rejected row is worth its baseline. With the baseline set `live` the rejected class drifts
 * upwards; with `kept` it is neutral. `positive` with `kept` is neutral only for many rollouts:
 * whether a companion is rejected depends on a mean that holds the row's own return. For the bandit
 * of tests/unit/test_rl_prs_bandit.c the remainder on the lazy logit is -.061, -.017, -.003 for
 * 2, 4, 8 rollouts. It pushes lazy rows down.
 * Errors: rl_prs_check only. No allocation. Threads: one batch, one thread.
 * Source: Dr. Kernel; the released code rounds PR to two decimals first, and this does not. */
#ifndef KG_RL_METHODS_PRS_H
#define KG_RL_METHODS_PRS_H

#include "rl/methods/counts.h"
#include "rl/methods/rows.h"

enum rl_prs_mode { RL_PRS_ALL, RL_PRS_POSITIVE, RL_PRS_WEIGHT };

struct rl_prs_options {
    bool on;
    double tau, sigma; /* .3, .1 */
    enum rl_prs_mode mode;
    bool or_speed;
    double speed_least;
};

/* off; tau .3, sigma .1, positive. */
void rl_prs_defaults(struct rl_prs_options *o);
enum kg_code rl_prs_check(const struct rl_prs_options *o, struct kg_err *err) KG_MUST_USE;

/* Share of such rows that train. */
double rl_prs_keep(const struct rl_row *r, const struct rl_prs_options *o);

/* all, weight: needs no advantage. positive: reads row.adv over the live set. Rejects rows, or in
 * mode weight sets row.weight. Rows that other masks have rejected are left alone. */
void rl_prs_apply(struct rl_rows *rows, const struct rl_prs_options *o, uint64_t seed,
                  struct rl_counts *counts);

#endif
