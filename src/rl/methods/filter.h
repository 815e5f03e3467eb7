/* Which groups train, and whether more are sampled.
 *
 * A group is dropped when the problem itself was at fault, when too few of its trajectories have
 * verdicts, or when no row of it can have an advantage:
 *   any-turn   no turn has a range of G above 1e-3 over its live rows (default)
 *   last-turn  the standard deviation of the last turns' rewards is below 1e-3; published: it also
 *              drops groups whose earlier turns have signal
 * With the nominal denominator the filter never changes a gradient: it only asks for a refill. A
 * refill moves the mix of problems towards those of middle difficulty, so report both.
 * Nothing here loops: a refill is one decision, at most `rounds` times in a step.
 * No allocation. Threads: one batch, one thread. */
#ifndef KG_RL_METHODS_FILTER_H
#define KG_RL_METHODS_FILTER_H

#include "rl/methods/counts.h"
#include "rl/methods/rows.h"

enum rl_zero_var { RL_ZERO_VAR_OFF, RL_ZERO_VAR_ANY, RL_ZERO_VAR_LAST };

enum rl_drop {
    RL_DROP_NO,
    RL_DROP_PROBLEM, /* an error with blame `problem` */
    RL_DROP_FEW,     /* fewer than min_group trajectories that are not infra */
    RL_DROP_FAILED,  /* no reward above reward_least */
    RL_DROP_LONG,    /* an answer was cut at the token limit */
    RL_DROP_ZERO,    /* no difference to learn from */
    RL_DROP_SURPLUS, /* more groups passed than train: not chosen */
    RL_DROPS,
};

struct rl_filter_options {
    enum rl_zero_var zero_var;
    uint32_t min_group; /* 0: off; usual: rollouts / 2 + 1 */
    bool need_success;
    double reward_least; /* with need_success: drop groups without a reward above it */
    bool no_overlong;
};

/* any-turn; min_group rollouts / 2 + 1 (0 for one rollout); the rest off. */
void rl_filter_defaults(struct rl_filter_options *o, uint32_t rollouts);

/* Rows [first, end) are one group. */
enum rl_drop rl_filter_group(const struct rl_rows *rows, size_t first, size_t end,
                             const struct rl_filter_options *o, struct rl_counts *counts);
/* Stable name: "problem", "few", ... */
const char *rl_drop_name(enum rl_drop d);

enum rl_refill {
    RL_REFILL_TRAIN,  /* enough groups, or no more may be sampled: train with what there is */
    RL_REFILL_SAMPLE, /* keep the groups, sample more; no optimiser step, the step stays */
    RL_REFILL_SKIP,   /* no group survived and no more may be sampled: no optimiser step */
};

/* survivors of `want` groups after `done` refills of this step; at most `rounds` are allowed, and
 * only while the weights are those that sampled the survivors. */
enum rl_refill rl_refill_decide(size_t survivors, size_t want, uint32_t done, uint32_t rounds,
                                bool same_weights, struct rl_counts *counts);

/* Choose `want` of `survivors` groups, uniformly, by stream 3 of the step.
 *   order [survivors] out: a permutation; the first min(want, survivors) are chosen, ascending
 * Returns how many are chosen. The rest is discarded. */
size_t rl_refill_choose(uint64_t seed, uint32_t step, size_t survivors, size_t want,
                        uint32_t *order);

enum rl_oversample {
    RL_OVER_UNIFORM,
    RL_OVER_BALANCED,   /* successes and failures in proportion, uniform inside each */
    RL_OVER_EFFICIENCY, /* successes by reward / length, failures by shortness */
};

/* How many rollouts to sample for `rollouts` wanted: ceil(factor * rollouts); factor >= 1. */
uint32_t rl_oversample_count(uint32_t rollouts, double factor);

/* Choose `want` of n rollouts of a group by stream 4.
 *   reward, length [n]: of each rollout; success: reward > 0
 *   order [n] out: the first min(want, n) are chosen, ascending
 * Efficiency changes the objective: what it prefers is not what was sampled. */
size_t rl_oversample_choose(enum rl_oversample how, uint64_t seed, uint32_t step, uint32_t group,
                            const double *reward, const size_t *length, size_t n, size_t want,
                            uint32_t *order);

#endif
