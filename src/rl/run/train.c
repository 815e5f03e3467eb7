/* The phases of a run. */
#include "rl/run/loop.h"

#include "base/term.h"
#include "rl/run/run_save.h"

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
    v->run->sft = *s;
    v->run->seconds[RL_PHASE_SFT] = s->seconds;
    v->code = v->code == KG_OK ? rl_run_save_due(v->run, 0, v->err) : v->code;
    return v->code == KG_OK && !*v->run->cancel;
}

static enum kg_code sft(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    struct sft_view v = {.run = run, .err = err};
    const struct rl_sft_stats from = run->sft;
    struct rl_sft_stats s;
    const struct rl_sft_options o = {.seed = (uint64_t)c->seed,
                                     .rows = (int)c->sft_rows,
                                     .longest = (int)c->ctx_max,
                                     .seqs = (int)c->sft_rows / 8,
                                     .steps = (int)c->sft_steps,
                                     .seconds = c->sft_seconds,
                                     .warmup = (int)c->sft_warmup,
                                     .lowest = .05f,
                                     .adamw = {(float)c->sft_rate, .9f, .95f, 1e-8f, .01f, 1},
                                     .from = &from};
    kg_progress_init(&v.progress, run->terminal, "SFT", 1000);
    enum kg_code code = rl_sft_run(run->trainer, &run->corpus, &o, show_sft, &v, &s, err);
    kg_progress_end(&v.progress);
    code = code != KG_OK ? code : v.code;
    code = code == KG_OK && *run->cancel ? cancelled(err) : code;
    run->seconds[RL_PHASE_SFT] = s.seconds;
    run->sft = s;
    code = code != KG_OK ? code : rl_run_log(run, rl_log_sft(&s), err);
    return code != KG_OK ? code : rl_run_save_sft(run, err);
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
                                          .no_feedback = !c->feedback,
                                          .min_reply = (int)c->min_resp,
                                          .cancel = run->cancel,
                                          .cores = &run->cores};
    rl_sampler_exact(&run->sampler);
    struct rl_engine_policy p = run->policy;
    p.turn.sampling.temperature = 1;
    p.turn.sampling.top_p = (float)c->eval_top_p;
    struct rl_policy policy = rl_policy_engine(&p);
    fprintf(run->terminal, "%s: %d problems, %d samples\n", rl_phase_name(phase), run->held_n,
            (int)c->eval_samples);
    fflush(run->terminal);
    rl_run_sampling(run, phase, EVAL_STEP);
    if (rl_evaluate(run->rollouts, &run->talker, &policy, run->judge, run->held, run->held_n, &o,
                    out, err) != KG_OK) {
        return err->code;
    }
    run->seconds[phase] = out->rollout.seconds;
    fprintf(run->terminal, "  correct %.3f, fast_1.2 %.3f [%.3f, %.3f]\n",
            out->score[RL_SCORE_CORRECT].value, out->score[RL_SCORE_FAST_12].value,
            out->score[RL_SCORE_FAST_12].lo, out->score[RL_SCORE_FAST_12].hi);
    enum kg_code code = rl_run_log(run, rl_log_evaluation(phase, out, (uint64_t)c->seed), err);
    return code == KG_OK ? rl_run_write(run, phase, EVAL_STEP, NULL, err) : code;
}

/* A gym that pays for the wrong things is not trained with. */
static enum kg_code rehearse(struct rl_run *run, struct kg_err *err)
{
    int bad = 0;
    if (rl_run_rehearse(run, &bad, err) != KG_OK) {
        return err->code;
    }
    return bad == 0 ? KG_OK
                    : kg_fail(err, KG_E_GYM,
                              "the gym gave %d of the known replies other than they must get "
                              "(dry_run=off leaves this out)",
                              bad);
}

static enum kg_code end(struct rl_run *run, struct kg_err *err)
{
    struct kg_buf table;
    kg_buf_init(&table, 1u << 18);
    enum kg_code code = rl_run_log(run, rl_log_end(run, &table), err);
    fputs(table.data, run->terminal);
    kg_buf_deinit(&table);
    run->place.ended = 1;
    return code;
}

/* The phase that is next; then a checkpoint. */
static enum kg_code next_phase(struct rl_run *run, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    switch (run->place.phase) {
    case RL_PHASE_SFT:
        code = sft(run, err);
        break;
    case RL_PHASE_BEFORE:
        code = evaluate(run, RL_PHASE_BEFORE, &run->before, err);
        break;
    case RL_PHASE_RL:
        code = rl_loop_run(run, err);
        break;
    default:
        code = evaluate(run, RL_PHASE_AFTER, &run->after, err);
        code = code != KG_OK ? code : end(run, err);
        break;
    }
    run->place.phase += !run->place.ended;
    return code != KG_OK ? code : rl_run_save(run, err);
}

enum kg_code rl_run_train(struct rl_run *run, const char **idle, struct kg_err *err)
{
    *idle = NULL;
    fprintf(run->terminal, "corpus: %zu conversations, %zu tokens, vocabulary %d, %.1f s\n",
            run->corpus.n, run->corpus.ids.n, run->talker.vocab, run->seconds[RL_PHASE_CORPUS]);
    bool fresh = run->saved == NULL;
    enum kg_code code = fresh && run->config->dry_run ? rehearse(run, err) : KG_OK;
    while (code == KG_OK && !run->place.ended) {
        code = next_phase(run, err);
    }
    *idle = code == KG_OK ? rl_loop_idle(run) : NULL;
    return code;
}
