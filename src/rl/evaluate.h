/* Evaluation of a policy on chains that are held out: n samples of each, T turns, and the metrics
 * with 95 % intervals over problems. Draws have a step number of their own, so two evaluations of
 * one run are paired. Replies without a verdict count as failures and are named in `infra`.
 * Not thread safe. */
#ifndef KG_RL_EVALUATE_H
#define KG_RL_EVALUATE_H

#include "rl/bootstrap.h"
#include "rl/metrics.h"
#include "rl/rollout.h"

enum rl_score {
    RL_SCORE_VALID,
    RL_SCORE_COMPILED,
    RL_SCORE_CORRECT,
    RL_SCORE_FAST_1,
    RL_SCORE_FAST_11,
    RL_SCORE_FAST_12,
    RL_SCORE_HACK,
    RL_SCORES,
};
/* "valid", "correct", "fast_1.2", ... */
const char *rl_score_name(enum rl_score s);

struct rl_evaluation {
    size_t problems, samples, turns;
    struct rl_outcome *outcome;          /* [problems][samples][turns] */
    double *per[RL_SCORES];              /* [problems] of the best turn */
    struct rl_interval score[RL_SCORES]; /* of the best turn */
    double first[RL_SCORES];             /* of turn 1 */
    double geomean;                      /* speed-up over correct ones, best turn; NaN: none */
    int infra;
    struct rl_rollout_stats rollout;
};

struct rl_evaluate_options {
    uint64_t seed; /* of the intervals */
    uint32_t step, samples, turns;
    int min_reply;
    volatile int *cancel;
    struct rl_cores *cores; /* as in rl_rollout_options */
};

/* The rollouts must hold chains * samples trajectories. Errors: KG_E_HOST, those of
 * rl_rollout_run. */
enum kg_code rl_evaluate(struct rl_rollouts *r, const struct rl_talker *talker,
                         struct rl_policy *policy, struct rl_judge *judge,
                         const struct rl_chain *chains, int n, const struct rl_evaluate_options *o,
                         struct rl_evaluation *out, struct kg_err *err) KG_MUST_USE;
void rl_evaluation_deinit(struct rl_evaluation *e);

/* b minus a with its paired interval over the problems [from, to) that both have. */
struct rl_interval rl_evaluation_difference(const struct rl_evaluation *a,
                                            const struct rl_evaluation *b, enum rl_score s,
                                            size_t from, size_t to, uint64_t seed);

/* What a verdict says about a turn. */
struct rl_outcome rl_outcome_of(const struct rl_verdict *v);

#endif
