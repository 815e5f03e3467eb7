/* Evaluation of a policy on chains that are held out: n samples of each, T turns, and the metrics
 * with 95 % intervals over problems, of each turn and of the best of turns. Draws have a step
 * number of their own, so two evaluations of one run are paired. Replies without a verdict count as
 * failures and are named in `infra`. Not thread safe. */
#ifndef KG_RL_RUN_EVALUATE_H
#define KG_RL_RUN_EVALUATE_H

#include <jansson.h>

#include "rl/chains/styles.h"
#include "rl/methods/bootstrap.h"
#include "rl/methods/metrics.h"
#include "rl/rollout/rollout.h"

enum rl_score {
    RL_SCORE_VALID,
    RL_SCORE_COMPILED,
    RL_SCORE_CORRECT,
    RL_SCORE_FAST_1,
    RL_SCORE_FAST_11,
    RL_SCORE_FAST_12,
    RL_SCORE_HACK,
    RL_SCORE_GEOMEAN,  /* of the speed-up over correct ones */
    RL_SCORE_COVERAGE, /* mean over correct ones where it is known */
    RL_SCORES,
};
/* "valid", "correct", "fast_1.2", "geomean", ... */
const char *rl_score_name(enum rl_score s);

struct rl_evaluation {
    size_t problems, samples, turns;
    struct rl_outcome *outcome;          /* [problems][samples][turns] */
    struct rl_interval score[RL_SCORES]; /* of the best turn; a value NaN: nothing is correct */
    double first[RL_SCORES];             /* of turn 1 */
    double geomean;                      /* of the best turn; NaN: none */
    int infra;
    struct rl_rollout_stats rollout;
};

struct rl_evaluate_options {
    uint64_t seed; /* of the intervals */
    uint32_t step, samples, turns;
    bool no_feedback; /* a later turn is a second sample of the first, from the same prompt */
    int min_reply;
    volatile int *cancel;
    struct rl_cores *cores; /* as in rl_rollout_options */
};

/* The rollouts must hold chains * samples trajectories, without feedback chains * samples * turns.
 * Errors: KG_E_HOST, those of rl_rollout_run. */
enum kg_code rl_evaluate(struct rl_rollouts *r, const struct rl_talker *talker,
                         struct rl_policy *policy, struct rl_judge *judge,
                         const struct rl_chain *chains, int n, const struct rl_evaluate_options *o,
                         struct rl_evaluation *out, struct kg_err *err) KG_MUST_USE;
void rl_evaluation_deinit(struct rl_evaluation *e);

/* An evaluation as JSON, and the same one again, computed from its outcomes. KG_E_INPUT: the JSON
 * has another form. */
json_t *rl_evaluation_save(const struct rl_evaluation *e);
enum kg_code rl_evaluation_restore(const json_t *saved, uint64_t seed, struct rl_evaluation *out,
                                   struct kg_err *err) KG_MUST_USE;
/* problems, samples and turns are set: makes the arrays. KG_E_HOST. */
enum kg_code rl_evaluation_allocate(struct rl_evaluation *e, struct kg_err *err) KG_MUST_USE;
/* Fills the scores from the outcomes. KG_E_HOST. */
enum kg_code rl_evaluation_compute(struct rl_evaluation *e, uint64_t seed,
                                   struct kg_err *err) KG_MUST_USE;

/* Problems [from, to) of an evaluation. */
struct rl_results rl_evaluation_part(const struct rl_evaluation *e, size_t from, size_t to);
/* A score of some problems. */
struct rl_interval rl_score_of(const struct rl_results *r, struct rl_view v, enum rl_score s,
                               uint64_t seed);
/* b minus a with its paired interval; the same problems. */
struct rl_interval rl_score_difference(const struct rl_results *a, const struct rl_results *b,
                                       struct rl_view v, enum rl_score s, uint64_t seed);

/* What a verdict says about a turn. */
struct rl_outcome rl_outcome_of(const struct rl_verdict *v);

/* --- evaluate_log.c --- */

/* Last turns that exist, by style; n [RL_STYLE_KEYS] out. */
void rl_evaluation_styles(const struct rl_evaluation *e, int n[RL_STYLE_KEYS]);

/* Adds to a line of metrics: each score of the best turn as [value, low, high], the same under
 * "turn1", "turn2", ..., and the share of each style among last turns under "styles". */
void rl_evaluation_log(const struct rl_evaluation *e, uint64_t seed, json_t *line);

#endif
