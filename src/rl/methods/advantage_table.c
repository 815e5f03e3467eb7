/* The table of estimators, and the names that are refused. */
#include "rl/methods/advantage_table.h"

#include <string.h>

#include "rl/methods/advantage_parts.h"

static const struct rl_estimator table[] = {
    {.name = "trloo", .compute = rl_adv_trloo},
    {.name = "grpo", .compute = rl_adv_grpo},
    {.name = "grpo-mean", .compute = rl_adv_grpo_mean},
    {.name = "grpo-traj", .compute = rl_adv_grpo_traj},
    {.name = "rloo", .compute = rl_adv_rloo},
    {.name = "erloo", .compute = rl_adv_erloo},
    {.name = "erloo-norm", .compute = rl_adv_erloo_norm},
    {.name = "erloo-x", .compute = rl_adv_erloo_x},
    {.name = "turn-bandit", .compute = rl_adv_turn_bandit},
    {.name = "reinforce", .compute = rl_adv_reinforce, .whole_batch = true, .lonely = true},
    {.name = "reinforce++",
     .compute = rl_adv_reinforce_pp,
     .whole_batch = true,
     .per_token = true,
     .lonely = true},
    {.name = "reinforce++b", .compute = rl_adv_reinforce_ppb, .whole_batch = true},
    {.name = "topk", .compute = rl_adv_topk, .whole_batch = true, .lonely = true},
    {.name = "none", .compute = rl_adv_none, .whole_batch = true, .lonely = true},
};

static const struct {
    const char *name, *reason;
} refused[] = {
    {"remax", "needs a greedy rollout of each problem, which is not made"},
    {"ob", "needs second moments of the whole vocabulary, which are not computed"},
    {"ob-turn", "needs second moments of the whole vocabulary, which are not computed"},
    {"ob-token", "needs second moments of the whole vocabulary, which are not computed"},
    {"gae", "needs a critic, and there is none"},
    {"tritonrl-hrd", "needs separate rewards of plan and code tokens, which are not made"},
};

const char *rl_estimator_name(size_t i)
{
    return i < sizeof table / sizeof table[0] ? table[i].name : NULL;
}

enum kg_code rl_estimator_find(const char *name, const struct rl_estimator **out,
                               struct kg_err *err)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *out = &table[i];
            return KG_OK;
        }
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (strcmp(refused[i].name, name) == 0) {
            return kg_fail(err, KG_E_USAGE, "adv=%s: %s", name, refused[i].reason);
        }
    }
    char names[256] = "";
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        strncat(names, i == 0 ? "" : ", ", sizeof names - strlen(names) - 1);
        strncat(names, table[i].name, sizeof names - strlen(names) - 1);
    }
    return kg_fail(err, KG_E_USAGE, "adv=%s: no such estimator; there are %s", name, names);
}
