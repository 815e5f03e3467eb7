/* The phases of a run. */
#include "rl/loop.h"

#include <stdlib.h>

#include "base/term.h"

#define EVAL_STEP 0xfffffff0u /* of the draws of evaluations: no step of training has it */

static enum kg_code cancelled(struct kg_err *err)
{
    return kg_fail(err, KG_E_CANCELLED, "interrupted");
}

/* --- SFT --- */

struct sft_view {
    struct rl_run *run;
    struct kg_progress progress;
    struct kg_err *err;
    enum kg_code code;
};

static bool show_sft(void *user, const struct rl_sft_stats *s)
{
    struct sft_view *v = user;
    const struct rl_config *c = v->run->config;
    char note[120];
    snprintf(note, sizeof note, "step %d, loss %.3f, %.1fk tokens/s", s->step, s->loss,
             (double)s->tokens / s->seconds / 1000);
    kg_progress_step(&v->progress,
                     rl_loop_done(s->seconds, c->sft_seconds, s->step, (double)c->sft_steps), note);
    if (s->step % 10 == 0) {
        v->code = rl_run_log(v->run, rl_log_sft(s), v->err);
    }
    return v->code == KG_OK && !*v->run->cancel;
}

static enum kg_code sft(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    struct sft_view v = {.run = run, .err = err};
    struct rl_sft_stats s;
    const struct rl_sft_options o = {.seed = (uint64_t)c->seed,
                                     .rows = (int)c->sft_rows,
                                     .seqs = (int)c->sft_rows / 8,
                                     .steps = (int)c->sft_steps,
                                     .seconds = c->sft_seconds,
                                     .warmup = (int)c->sft_warmup,
                                     .lowest = .05f,
                                     .adamw = {(float)c->sft_rate, .9f, .95f, 1e-8f, .01f, 1}};
    kg_progress_init(&v.progress, run->terminal, "SFT", 1000);
    enum kg_code code = rl_sft_run(run->trainer, &run->corpus, &o, show_sft, &v, &s, err);
    kg_progress_end(&v.progress);
    code = code != KG_OK ? code : v.code;
    code = code == KG_OK && *run->cancel ? cancelled(err) : code;
    run->seconds[RL_PHASE_SFT] = s.seconds;
    return code != KG_OK ? code : rl_run_log(run, rl_log_sft(&s), err);
}

/* --- evaluation --- */

static enum kg_code evaluate(struct rl_run *run, enum rl_phase phase, struct rl_evaluation *out,
                             struct kg_err *err)
{
    const struct rl_config *c = run->config;
    const struct rl_evaluate_options o = {.seed = (uint64_t)c->seed,
                                          .step = EVAL_STEP,
                                          .samples = (uint32_t)c->eval_samples,
                                          .turns = (uint32_t)c->turns,
                                          .min_reply = (int)c->min_resp,
                                          .cancel = run->cancel,
                                          .cores = &run->cores};
    struct rl_engine_policy p = run->policy;
    p.turn.sampling.top_p = (float)c->eval_top_p;
    struct rl_policy policy = rl_policy_engine(&p);
    fprintf(run->terminal, "%s: %d problems, %d samples\n", rl_phase_name(phase), run->held_n,
            (int)c->eval_samples);
    fflush(run->terminal);
    if (rl_evaluate(run->rollouts, &run->talker, &policy, run->judge, run->held, run->held_n, &o,
                    out, err) != KG_OK) {
        return err->code;
    }
    run->seconds[phase] = out->rollout.seconds;
    fprintf(run->terminal, "  correct %.3f, fast_1.2 %.3f [%.3f, %.3f]\n",
            out->score[RL_SCORE_CORRECT].value, out->score[RL_SCORE_FAST_12].value,
            out->score[RL_SCORE_FAST_12].lo, out->score[RL_SCORE_FAST_12].hi);
    return rl_run_log(run, rl_log_evaluation(phase, out), err);
}

enum kg_code rl_run_train(struct rl_run *run, struct kg_err *err)
{
    struct kg_buf table;
    fprintf(run->terminal, "corpus: %zu conversations, %zu tokens, vocabulary %d, %.1f s\n",
            run->corpus.n, run->corpus.ids.n, run->talker.vocab, run->seconds[RL_PHASE_CORPUS]);
    enum kg_code code = sft(run, err);
    code = code != KG_OK ? code : evaluate(run, RL_PHASE_BEFORE, &run->before, err);
    code = code != KG_OK ? code : rl_loop_run(run, err);
    code = code != KG_OK ? code : evaluate(run, RL_PHASE_AFTER, &run->after, err);
    code = code != KG_OK ? code : rl_run_log(run, rl_log_end(run), err);
    if (code != KG_OK) {
        return code;
    }
    kg_buf_init(&table, 1u << 16);
    rl_run_table(run, &table);
    fputs(table.data, run->terminal);
    kg_buf_deinit(&table);
    return KG_OK;
}

enum kg_code rl_run_rehearse(struct rl_run *run, int *bad, struct kg_err *err)
{
    struct rl_chain chains[8];
    struct rl_scripted *script;
    struct rl_rollout_stats stats;
    struct kg_buf report;
    int n = (int)rl_dry_chains(chains, 8);
    const struct rl_rollout_options o = {
        .rollouts = RL_DRY_ROLES, .turns = 2, .min_reply = 16, .cancel = run->cancel};
    if (rl_scripted_create(&run->talker, rl_dry_say, NULL, run->rollouts->max_live,
                           run->rollouts->max_tokens, &script, err) != KG_OK) {
        return err->code;
    }
    struct rl_policy policy = rl_policy_scripted(script);
    enum kg_code code = rl_rollout_run(run->rollouts, &run->talker, &policy, run->judge, chains, n,
                                       &o, &stats, err);
    if (code == KG_OK) {
        kg_buf_init(&report, 1u << 16);
        *bad = rl_dry_check(run->rollouts, &report);
        fputs(report.data, run->terminal);
        kg_buf_deinit(&report);
    }
    rl_scripted_destroy(script);
    return code;
}
