/* A run of `kgym sft`. */
#include "rl/sft/sft_job.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/term.h"
#include "rl/run/loop.h"
#include "rl/run/memory.h"
#include "rl/sft/sft_parts.h"

#define LOG_EVERY 10   /* steps between lines of metrics.jsonl */
#define LOWEST    .05f /* rate at the end, as a part of the highest */

/* --- the model --- */

static int least(int64_t a, int64_t b)
{
    return (int)(a < b ? a : b);
}

/* Before anything of that size is allocated. */
static enum kg_code check_memory(const struct rl_sft_state *s, struct kg_err *err)
{
    char what[160];
    uint64_t all = rl_memory_parameters(&s->shape), trained = all;
    if (s->plan.adapter) { /* of a given adapter the rank is not known yet */
        trained =
            rl_memory_adapter(&s->shape, s->c->lora_r > 0 ? (int)s->c->lora_r : 64, s->plan.parts);
    }
    uint64_t need =
        rl_memory_model(&s->shape) + rl_memory_trainer(&s->shape, trained, (int)s->c->run.sft_rows);
    fprintf(s->o->terminal, "model: %.2fM parameters, %.2fM are trained; about %.2f GB of memory\n",
            (double)all / 1e6, (double)trained / 1e6, (double)need / 1e9);
    snprintf(what, sizeof what, "training %.2fM of %.2fM parameters on %d rows",
             (double)trained / 1e6, (double)all / 1e6, (int)s->c->run.sft_rows);
    return rl_memory_check(need, what, err);
}

static enum kg_code add_lora(struct rl_sft_state *s, struct kg_err *err)
{
    const struct lm_lora_config c = {.r = (int)s->c->lora_r,
                                     .alpha = (float)s->c->lora_alpha,
                                     .dropout = (float)s->c->lora_dropout,
                                     .targets = s->plan.parts};
    return lm_lora_add(s->model, &c, (uint64_t)s->c->run.seed, err);
}

/* Fresh, of a folder, or of the checkpoint of this run. */
static enum kg_code open_model(struct rl_sft_state *s, struct kg_err *err)
{
    char checkpoint[4096];
    struct rl_source source = s->plan.source;
    rl_sft_path(s, RL_SFT_CHECKPOINT, checkpoint);
    if (s->goes_on && s->plan.adapter) {
        source.adapter = checkpoint;
    } else if (s->goes_on) {
        source.model = checkpoint;
    } else if (s->plan.fresh) {
        return lm_model_create(&s->shape, (uint64_t)s->c->run.seed, &s->model, err);
    }
    enum kg_code code = rl_source_model(&source, &s->model, err);
    return code != KG_OK || s->goes_on || s->c->lora_r == 0 ? code : add_lora(s, err);
}

static enum kg_code make_trainer(struct rl_sft_state *s, struct kg_err *err)
{
    const struct rl_config *c = &s->c->run;
    const struct lm_trainer_options t = {.max_rows = (int)c->sft_rows,
                                         .max_seqs = (int)c->sft_rows / 8,
                                         .max_tokens = s->max_tokens};
    enum kg_code code = lm_threads_create(rl_config_threads(c), &s->threads, err);
    code = code != KG_OK ? code : open_model(s, err);
    return code != KG_OK ? code : lm_trainer_create(s->model, s->threads, &t, &s->trainer, err);
}

/* --- training --- */

static enum kg_code plan_steps(struct rl_sft_state *s, struct kg_err *err)
{
    const struct rl_config *c = &s->c->run;
    s->sft = (struct rl_sft_options){
        .seed = (uint64_t)c->seed,
        .rows = (int)c->sft_rows,
        .longest = s->max_tokens,
        .seqs = (int)c->sft_rows / 8,
        .micro = (int)s->c->micro,
        .steps = (int)c->sft_steps,
        .seconds = c->sft_seconds,
        .warmup = (int)c->sft_warmup,
        .lowest = LOWEST,
        .adamw = {(float)c->sft_rate, .9f, .95f, 1e-8f, (float)s->c->decay, (float)s->c->clip},
        .dropout = s->plan.adapter,
        .valid = s->valid.n > 0 ? &s->valid : NULL,
        .valid_every = (int)s->c->valid_every,
        .from = s->goes_on ? &s->from : NULL};
    return s->c->epochs > 0 ? rl_sft_steps(&s->train, &s->sft, s->c->epochs, &s->sft.steps, err)
                            : KG_OK;
}

struct view {
    struct rl_sft_state *s;
    struct kg_progress progress;
    struct kg_err *err;
    enum kg_code code;
    bool stopped;
    double valid; /* the last one */
};

static json_t *line_of(const struct rl_sft_stats *s)
{
    json_t *j = rl_log_sft(s);
    json_object_set_new(j, "valid", kg_json_real(s->valid));
    json_object_set_new(j, "epoch", json_integer((json_int_t)s->epoch));
    return j;
}

static void show(struct view *v, const struct rl_sft_stats *s)
{
    const struct rl_sft_options *o = &v->s->sft;
    char note[160], valid[40] = "";
    v->valid = isfinite(s->valid) ? s->valid : v->valid;
    if (isfinite(v->valid)) {
        snprintf(valid, sizeof valid, ", validation %.3f", v->valid);
    }
    snprintf(note, sizeof note, "step %d of %d, loss %.3f%s, %.1fk tokens/s", s->step, o->steps,
             s->loss, valid, (double)s->tokens / s->seconds / 1000);
    kg_progress_step(&v->progress, rl_loop_done(s->seconds, o->seconds, s->step, o->steps), note);
}

static bool after_step(void *user, const struct rl_sft_stats *s)
{
    struct view *v = user;
    struct rl_sft_state *state = v->s;
    int64_t every = state->c->save_every;
    int stop_at = state->o->stop_at;
    show(v, s);
    if (s->step % LOG_EVERY == 0 || isfinite(s->valid) || s->step == state->sft.steps) {
        v->code = rl_sft_log(state, line_of(s), v->err);
    }
    v->stopped = *state->o->cancel || (stop_at > 0 && s->step >= stop_at);
    bool last = s->step == state->sft.steps;
    if (v->code == KG_OK && !last && (v->stopped || (every > 0 && s->step % every == 0))) {
        v->code = rl_sft_save(state, s, v->err);
    }
    return v->code == KG_OK && !v->stopped;
}

static enum kg_code train(struct rl_sft_state *s, struct kg_err *err)
{
    struct view v = {.s = s, .err = err, .valid = (double)NAN};
    struct rl_sft_stats stats;
    kg_progress_init(&v.progress, s->o->terminal, "SFT", 1000);
    enum kg_code code = rl_sft_run(s->trainer, &s->train, &s->sft, after_step, &v, &stats, err);
    kg_progress_end(&v.progress);
    code = code != KG_OK ? code : v.code;
    if (code != KG_OK) {
        return code;
    }
    if (v.stopped && stats.step < s->sft.steps) {
        return kg_fail(err, KG_E_CANCELLED, "interrupted after step %d; --resume goes on",
                       stats.step);
    }
    fprintf(s->o->terminal, "%d steps, %.1f s, loss %.4f", stats.step, stats.seconds, stats.loss);
    if (isfinite(v.valid)) {
        fprintf(s->o->terminal, ", validation %.4f", v.valid);
    }
    fprintf(s->o->terminal, "\n");
    if (stats.left_out > 0) {
        fprintf(s->o->terminal, "%llu times a conversation was left out as too long\n",
                (unsigned long long)stats.left_out);
    }
    if (stats.skipped > 0) {
        fprintf(s->o->terminal, "%llu steps were skipped: their gradient was not finite\n",
                (unsigned long long)stats.skipped);
    }
    return KG_OK;
}

static enum kg_code prepare(struct rl_sft_state *s, struct kg_err *err)
{
    const struct rl_config *c = &s->c->run;
    s->max_tokens = least(c->ctx_max, c->sft_rows + 1);
    if (!s->plan.fresh) {
        if (rl_source_config(&s->plan.source, &s->shape, err) != KG_OK) {
            return err->code;
        }
        s->max_tokens = least(s->max_tokens, s->shape.max_pos);
    }
    enum kg_code code = rl_sft_open_data(s, err);
    s->shape = s->plan.fresh ? rl_config_model(c, s->talker.vocab) : s->shape;
    code = code != KG_OK ? code : check_memory(s, err);
    code = code != KG_OK ? code : make_trainer(s, err);
    code = code != KG_OK || !s->goes_on ? code : rl_sft_go_on(s, err);
    return code != KG_OK ? code : plan_steps(s, err);
}

enum kg_code rl_sft_job(const struct rl_sft_config *c, const struct rl_sft_job_options *o,
                        struct kg_err *err)
{
    struct rl_sft_state s = {.c = c, .o = o, .lock = -1};
    bool ended = false;
    enum kg_code code = rl_sft_config_check(c, &s.plan, err);
    code = code != KG_OK ? code : rl_sft_look(&s, &ended, err);
    if (code == KG_OK && ended) {
        fprintf(o->terminal, "%s: this run has ended\n", o->folder);
        close(s.lock); /* a run that goes on has it */
        return KG_OK;
    }
    code = code != KG_OK ? code : prepare(&s, err);
    code = code != KG_OK ? code : rl_sft_open_folder(&s, err);
    code = code != KG_OK ? code : train(&s, err);
    code = code != KG_OK ? code : rl_sft_finish(&s, err);
    if (s.metrics != NULL) {
        fclose(s.metrics);
    }
    if (s.lock >= 0) {
        close(s.lock);
    }
    lm_trainer_destroy(s.trainer);
    lm_model_destroy(s.model);
    lm_threads_destroy(s.threads);
    rl_sft_close_data(&s);
    return code;
}
