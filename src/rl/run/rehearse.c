/* The loop with a script in place of the model. */
#include "rl/run/run.h"

#define TOKENS 2048

/* The gym's verdicts on what the script says, at every turn. */
static enum kg_code play(struct rl_run *run, struct rl_rollouts *r, struct rl_judge *judge,
                         const struct rl_chain *chains, int n, struct kg_err *err)
{
    struct rl_scripted *script;
    struct rl_rollout_stats stats;
    const struct rl_rollout_options o = {
        .rollouts = RL_DRY_ROLES, .turns = 2, .min_reply = 16, .cancel = run->cancel};
    if (rl_scripted_create(&run->talker, rl_dry_say, NULL, r->max_live, r->max_tokens, &script,
                           err) != KG_OK) {
        return err->code;
    }
    struct rl_policy policy = rl_policy_scripted(script);
    enum kg_code code = rl_rollout_run(r, &run->talker, &policy, judge, chains, n, &o, &stats, err);
    rl_scripted_destroy(script);
    return code;
}

/* The methods of the run on what came of it, but for those that need a model. */
static enum kg_code learn(const struct rl_run *run, const struct rl_rollouts *r, int groups,
                          int *bad, struct kg_buf *report, struct kg_err *err)
{
    struct rl_config c = *run->config;
    struct rl_step *step;
    uint32_t want;
    c.groups = groups;
    c.rollouts = c.bestof_n = RL_DRY_ROLES;
    c.turns = 2;
    c.feedback = true;
    c.sample_over = c.prompt_over = 1;
    c.over = RL_OVER_UNIFORM;
    c.min_group = -1;
    c.refill_rounds = 0;
    c.kl_loss = c.kl_reward = 0;
    struct rl_step_options o = {.seed = (uint64_t)c.seed,
                                .max_rows = TOKENS,
                                .max_seqs = 1,
                                .walks = r->n,
                                .max_tokens = TOKENS,
                                .best = c.trainer != RL_TRAINER_PG};
    rl_config_bestof(&c, &o.bestof);
    if (rl_config_methods(&c, &o.methods, err) != KG_OK ||
        rl_step_create(NULL, &o, &step, err) != KG_OK) {
        return err->code;
    }
    rl_step_begin(step, 0);
    enum kg_code code = rl_step_add(step, r, &want, err);
    if (code == KG_OK) {
        rl_step_rehearse(step);
        *bad += rl_dry_check_rows(rl_step_rows(step), report);
    }
    rl_step_destroy(step);
    return code;
}

enum kg_code rl_run_rehearse(struct rl_run *run, int *bad, struct kg_err *err)
{
    struct rl_chain chains[8];
    struct rl_rollouts *r = NULL;
    struct rl_judge *judge = NULL;
    struct kg_buf report;
    int n = (int)rl_dry_chains(chains, 8), walks = n * RL_DRY_ROLES;
    enum kg_code code = rl_rollouts_create(walks, TOKENS, walks, &r, err);
    code = code != KG_OK ? code : rl_run_judge(run, walks, run->config->reuse, &judge, err);
    code = code != KG_OK ? code : play(run, r, judge, chains, n, err);
    if (code == KG_OK) {
        kg_buf_init(&report, 1u << 16);
        *bad = rl_dry_check(r, &report);
        code = learn(run, r, n, bad, &report, err);
        fputs(report.data, run->terminal);
        kg_buf_deinit(&report);
    }
    rl_judge_destroy(judge);
    rl_rollouts_destroy(r);
    return code;
}
