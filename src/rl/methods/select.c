/* Runs the methods over a batch in their order. */
#include "rl/methods/select.h"

void rl_methods_defaults(struct rl_methods *m, uint32_t groups, uint32_t rollouts, uint32_t turns,
                         uint32_t response_max)
{
    *m = (struct rl_methods){.groups = groups, .rollouts = rollouts, .turns = turns};
    rl_return_defaults(&m->returns, turns);
    rl_filter_defaults(&m->filter, rollouts);
    rl_mismatch_defaults(&m->mismatch);
    rl_prs_defaults(&m->prs);
    rl_adv_defaults(&m->adv);
    rl_loss_defaults(&m->loss, groups * rollouts * turns, response_max);
}

enum kg_code rl_methods_check(const struct rl_methods *m, struct kg_err *err)
{
    if (m->groups == 0 || m->rollouts == 0 || m->turns == 0) {
        return kg_fail(err, KG_E_USAGE, "groups, rollouts, turns: each must be at least 1");
    }
    enum kg_code code = rl_return_check(&m->returns, err);
    code = code != KG_OK ? code : rl_mismatch_check(&m->mismatch, m->turns, err);
    code = code != KG_OK ? code : rl_prs_check(&m->prs, err);
    bool weighted = m->prs.on && m->prs.mode == RL_PRS_WEIGHT;
    code = code != KG_OK ? code : rl_adv_check(&m->adv, m->rollouts, weighted, err);
    code = code != KG_OK ? code : rl_loss_check(&m->loss, err);
    if (code != KG_OK) {
        return code;
    }
    if (m->filter.min_group > m->rollouts) {
        return kg_fail(err, KG_E_USAGE, "min_group: %u of %u rollouts would drop every group",
                       m->filter.min_group, m->rollouts);
    }
    if (m->loss.aggregate.denom == RL_DENOM_NOMINAL &&
        m->loss.aggregate.nominal != m->groups * m->rollouts * m->turns) {
        return kg_fail(err, KG_E_USAGE, "denom: %u rows, but groups x rollouts x turns is %u",
                       m->loss.aggregate.nominal, m->groups * m->rollouts * m->turns);
    }
    if (m->adv.kl_beta != m->returns.kl_beta) {
        return kg_fail(err, KG_E_USAGE, "kl_reward: returns and advantages have different values");
    }
    return KG_OK;
}

void rl_select_returns(struct rl_rows *rows, const struct rl_tokens *tokens,
                       const struct rl_methods *m, struct rl_counts *counts)
{
    rl_rows_spread_infra(rows);
    rl_void_mark(rows, &m->returns, counts);
    rl_kl_reward(rows, tokens, &m->returns, counts);
    rl_returns(rows, &m->returns, counts);
}

/* The sign of A that PRS mode positive reads: over the live set, whatever else is masked. It is no
 * advantage that trains, so it enters no counter. */
static void signs(struct rl_rows *rows, struct rl_tokens *tokens, const struct rl_methods *m)
{
    struct rl_adv_options live = m->adv;
    struct rl_counts unused = {0};
    live.set = RL_SET_LIVE;
    rl_advantage(rows, tokens, &live, &unused);
}

void rl_select_masks(struct rl_rows *rows, struct rl_tokens *tokens, const struct rl_methods *m,
                     uint64_t seed, struct rl_counts *counts)
{
    rl_rows_keep_live(rows, tokens);
    if (tokens != NULL && tokens->mu != NULL) {
        rl_mismatch_mask(rows, tokens, &m->mismatch, counts);
        rl_mismatch_weigh(rows, tokens, &m->mismatch, counts);
    } else {
        KG_ASSERT(m->mismatch.mrs == RL_MRS_OFF && m->mismatch.tis == RL_TIS_OFF &&
                  m->mismatch.veto == 0);
    }
    if (m->prs.on && m->prs.mode == RL_PRS_POSITIVE) {
        signs(rows, tokens, m);
    }
    rl_prs_apply(rows, &m->prs, seed, counts);
    rl_advantage(rows, tokens, &m->adv, counts);
}

void rl_methods_on(const struct rl_methods *m, bool on[RL_C_N])
{
    on[RL_C_VOID] = m->returns.void_turns;
    on[RL_C_FILL] = m->returns.hold;
    on[RL_C_KL_REWARD] = m->returns.kl_beta != 0;
    on[RL_C_FILTER] = m->filter.zero_var != RL_ZERO_VAR_OFF || m->filter.min_group > 0;
    on[RL_C_MRS_TOKEN] = m->mismatch.mrs == RL_MRS_TOKEN;
    on[RL_C_MRS] = m->mismatch.mrs != RL_MRS_OFF && m->mismatch.mrs != RL_MRS_TOKEN;
    on[RL_C_VETO] = m->mismatch.veto > 0;
    on[RL_C_TIS] = m->mismatch.tis != RL_TIS_OFF;
    on[RL_C_PRS] = m->prs.on;
    on[RL_C_CV] = m->adv.cv != RL_CV_OFF;
    on[RL_C_ADVANTAGE] = true;
    on[RL_C_ENT_MASK] = m->loss.ent_quantile > 0;
    on[RL_C_RISK_MASK] = m->loss.risk_prob > 0;
    on[RL_C_KL_LOSS] = m->loss.kl_loss > 0;
    on[RL_C_ENTROPY] = m->loss.entropy != 0;
}

const char *rl_methods_idle(const struct rl_methods *m, const struct rl_counts *counts)
{
    bool on[RL_C_N] = {false};
    rl_methods_on(m, on);
    return rl_counts_idle(counts, on);
}
