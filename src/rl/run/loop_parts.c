/* Makes what the loop works with: sampler, engine, step, adapter, reference policy. */
#include "rl/run/loop.h"

static struct lm_trainer_options trainer_options(const struct rl_run *run, bool score_only)
{
    const struct rl_config *c = run->config;
    int sft = (int)c->sft_rows, seqs = sft / 8, live = rl_config_shape(c).live;
    return (struct lm_trainer_options){.max_rows = sft > (int)c->rows ? sft : (int)c->rows,
                                       .max_seqs = seqs > live ? seqs : live,
                                       .max_tokens = (int)c->ctx_max,
                                       .score_only = score_only};
}

enum kg_code rl_loop_open_engine(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    struct rl_shape shape = rl_config_shape(c);
    struct rl_sampler_options o;
    const struct lm_engine_options e = {.max_seqs = shape.live, .max_tokens = (int)c->ctx_max};
    enum kg_code code = rl_sampler_parse(c->sampler, &o, err);
    code = code != KG_OK ? code
                         : rl_sampler_open(&run->sampler, &o, (uint64_t)c->seed, run->model, err);
    code = code != KG_OK
               ? code
               : lm_engine_create(run->sampler.actor, run->threads, &e, &run->engine, err);
    run->policy = (struct rl_engine_policy){
        .engine = run->engine,
        .turn = {.sampling = {.temperature = (float)c->temperature,
                              .seed = rl_engine_seed((uint64_t)c->seed)},
                 .max_tokens = (int)c->resp_max,
                 .stop = {run->talker.end, run->talker.chat.start_id, run->talker.chat.pad_id},
                 .n_stop = 3}};
    return code;
}

enum kg_code rl_loop_open_step(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    struct rl_shape shape = rl_config_shape(c);
    struct rl_step_options o = {
        .seed = (uint64_t)c->seed,
        .methods = run->methods,
        .adamw = {(float)c->rate, .9f, .95f, 1e-8f, (float)c->decay, (float)c->clip},
        .max_rows = (int)c->rows,
        .max_seqs = shape.live,
        .walks = shape.walks,
        .max_tokens = (int)c->ctx_max,
        .same_bits = run->sampler.o.kind == RL_SAMPLER_ENGINE,
        .dropout = c->lora_r > 0 && c->lora_dropout > 0,
        .adapter = c->lora_r > 0,
        .temperature = (float)c->temperature,
        .over = (enum rl_oversample)c->over,
        .refills = (uint32_t)c->refill_rounds,
        .best = c->trainer != RL_TRAINER_PG,
        .epochs = c->trainer == RL_TRAINER_SFT ? (int)c->bestof_epochs : 1,
        .pays_coverage = rl_config_pays_coverage(c),
        .early_stop = c->early_stop,
        .reference = run->scorer};
    rl_config_bestof(c, &o.bestof);
    return rl_step_create(run->trainer, &o, &run->step, err);
}

/* The adapter is trained alone, so trainer, sampler and engine are made anew around it. */
static enum kg_code add_adapter(struct rl_run *run, struct kg_err *err)
{
    struct lm_lora_config lora;
    const struct lm_trainer_options t = trainer_options(run, false);
    enum kg_code code = rl_lora_parse(run->config, &lora, err);
    lm_engine_destroy(run->engine);
    lm_trainer_destroy(run->trainer);
    rl_sampler_close(&run->sampler);
    run->engine = NULL;
    run->trainer = NULL;
    code = code != KG_OK ? code : lm_lora_add(run->model, &lora, (uint64_t)run->config->seed, err);
    code =
        code != KG_OK ? code : lm_trainer_create(run->model, run->threads, &t, &run->trainer, err);
    return code != KG_OK ? code : rl_loop_open_engine(run, err);
}

static enum kg_code add_reference(struct rl_run *run, struct kg_err *err)
{
    const struct lm_trainer_options t = trainer_options(run, true);
    enum kg_code code =
        run->reference != NULL ? KG_OK : rl_model_copy(run->model, &run->reference, err);
    return code != KG_OK ? code
                         : lm_trainer_create(run->reference, run->threads, &t, &run->scorer, err);
}

enum kg_code rl_loop_prepare(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    bool kl = c->kl_loss > 0 || c->kl_reward > 0;
    enum kg_code code = KG_OK;
    if (c->lora_r > 0 && run->model->lora == NULL) {
        code = add_adapter(run, err);
    }
    if (code == KG_OK && kl && run->scorer == NULL) {
        code = add_reference(run, err);
    }
    if (code == KG_OK && run->step == NULL) {
        code = rl_loop_open_step(run, err);
    }
    return code;
}
