/* Inside of the estimators: means over chosen rows, and the rule for a row without companions.
 * Used by advantage*.c only. */
#ifndef KG_RL_METHODS_ADVANTAGE_PARTS_H
#define KG_RL_METHODS_ADVANTAGE_PARTS_H

#include "rl/methods/advantage.h"

struct rl_adv_job {
    struct rl_rows *rows;
    struct rl_tokens *tokens;
    const struct rl_adv_options *o;
    struct rl_counts *counts;
};

enum rl_unit {
    RL_UNIT_RETURN,     /* a row, its G */
    RL_UNIT_REWARD,     /* a row, its R */
    RL_UNIT_TRAJECTORY, /* a trajectory with any row in the set, its G of turn 1 */
};

/* Members: rows [first, end) of the set, without [skip, skip_end), of one turn (0: all). */
struct rl_pick {
    size_t first, end, skip, skip_end;
    uint32_t turn;
    enum rl_unit unit;
    enum rl_set set;
    bool weighted; /* mean weighted by row.weight */
};

struct rl_moments {
    size_t n;      /* members */
    double weight; /* their sum of weights; n where not weighted */
    double mean;   /* 0 where weight is 0 */
    double std;    /* with n - 1, not weighted; 0 where n < 2 */
};

struct rl_moments rl_adv_moments(const struct rl_adv_job *job, const struct rl_pick *pick);
double rl_adv_value(const struct rl_adv_job *job, size_t i, enum rl_unit unit);

/* A of row i, which is alone in its group [first, end). Counts it. */
double rl_adv_alone(struct rl_adv_job *job, size_t i, size_t first, size_t end, enum rl_unit unit);

void rl_adv_trloo(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_grpo_mean(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_grpo(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_grpo_traj(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_rloo(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_erloo(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_erloo_norm(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_erloo_x(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_turn_bandit(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_reinforce(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_reinforce_pp(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_reinforce_ppb(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_topk(struct rl_adv_job *job, size_t first, size_t end);
void rl_adv_none(struct rl_adv_job *job, size_t first, size_t end);

#endif
