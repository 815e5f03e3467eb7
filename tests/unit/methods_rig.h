/* Steps of a run with made-up verdicts: the real sampler, trainer and step, made from keys as
 * `kgym train` makes them, but no gym. Everything is static: each test program has its own. */
#ifndef METHODS_RIG_H
#define METHODS_RIG_H

#include "loop_rig.h"

#include <math.h>

#include "rl/run/loop.h"

#define MROWS 2048

struct bench {
    struct rl_config config;
    struct rl_run run;
    struct rl_verdict verdict[256];
    struct rl_step_stats stats[4];
    float *weights; /* [n] after the last step: base, then adapter */
    size_t n;
};

static struct loop loop;
static float *fresh; /* weights of the model before any step */

static int bench_setup(void **state)
{
    (void)state;
    loop_open(&loop, MROWS, 64);
    fresh = malloc(loop.model->base.n * sizeof *fresh);
    memcpy(fresh, loop.model->base.w, loop.model->base.n * sizeof *fresh);
    return 0;
}

static int bench_teardown(void **state)
{
    (void)state;
    free(fresh);
    loop_close(&loop);
    return 0;
}

/* keys: "a=b", NULL-terminated. The model is a fresh copy. */
static void bench_open(struct bench *b, const char *const *keys)
{
    static const char *const usual[] = {
        "rl.groups=2",     "rl.rollouts=4", "rl.rows=2048",     "sft.rows=512",    "resp_max=12",
        "ctx_max=128",     "rl.lr=0.01",    "gym_preset=train", "model.hidden=32", "threads=1",
        "refill_rounds=0", "prs=no",        "reuse=no",         "model.heads=2",   NULL};
    struct rl_run *run = &b->run;
    *b = (struct bench){0};
    rl_config_defaults(&b->config);
    for (int i = 0; usual[i] != NULL; i++) {
        loop_ok(rl_config_pair(&b->config, usual[i], "test", &loop_err));
    }
    for (int i = 0; keys[i] != NULL; i++) {
        loop_ok(rl_config_pair(&b->config, keys[i], "test", &loop_err));
    }
    *run = (struct rl_run){.config = &b->config, .talker = loop.talker, .threads = loop.threads};
    loop_ok(rl_config_methods(&b->config, &run->methods, &loop_err));
    struct rl_shape shape = rl_config_shape(&b->config);
    const struct lm_trainer_options t = {
        .max_rows = MROWS, .max_seqs = 64, .max_tokens = (int)b->config.ctx_max};
    memcpy(loop.model->base.w, fresh, loop.model->base.n * sizeof *fresh);
    loop_ok(rl_model_copy(loop.model, &run->model, &loop_err));
    loop_ok(lm_trainer_create(run->model, run->threads, &t, &run->trainer, &loop_err));
    loop_ok(rl_loop_open_engine(run, &loop_err));
    loop_ok(rl_loop_prepare(run, &loop_err));
    loop_ok(rl_rollouts_create(shape.walks, (int)b->config.ctx_max, shape.live, &run->rollouts,
                               &loop_err));
}

static void bench_close(struct bench *b)
{
    struct rl_run *run = &b->run;
    free(b->weights);
    rl_step_destroy(run->step);
    rl_rollouts_destroy(run->rollouts);
    lm_trainer_destroy(run->scorer);
    lm_model_destroy(run->reference);
    lm_engine_destroy(run->engine);
    rl_sampler_close(&run->sampler);
    lm_trainer_destroy(run->trainer);
    lm_model_destroy(run->model);
}

static void bench_begin_walk(struct bench *b, uint32_t step, const struct rl_chain *chain, int i)
{
    struct rl_run *run = &b->run;
    struct rl_shape shape = rl_config_shape(&b->config);
    struct rl_walk *w = &run->rollouts->walk[i];
    struct lm_ids ids;
    lm_ids_init(&ids);
    loop_ok(rl_talker_prompt(&loop.talker, chain, &ids, &loop_err));
    *w = (struct rl_walk){.chain = *chain,
                          .group = (uint32_t)i / shape.rollouts,
                          .rollout = (uint32_t)i % shape.rollouts + 1,
                          .end = RL_WALK_DONE,
                          .ids = run->rollouts->ids + i * (int)b->config.ctx_max,
                          .mu = run->rollouts->mu + i * (int)b->config.ctx_max,
                          .n = (int)ids.n,
                          .turns = 1};
    memcpy(w->ids, ids.id, ids.n * sizeof *w->ids);
    w->turn[0] = (struct rl_turn){.first = w->n, .finish = LM_STOP, .verdict = &b->verdict[i]};
    w->turn[0].index = rl_row_index(w->group, w->rollout, 1, shape.rollouts, 1);
    uint64_t request = rl_request_id(step, w->turn[0].index);
    loop_ok(lm_engine_submit(run->engine, ids.id, (int)ids.n, &run->policy.turn, 1, &request,
                             &w->conversation, &loop_err));
    lm_ids_deinit(&ids);
}

/* A verdict that depends on the reply alone: about half are right, at different speeds and
 * coverages. */
static void bench_judge(struct bench *b, int i)
{
    const struct rl_walk *w = &b->run.rollouts->walk[i];
    uint32_t h = 7;
    for (int k = w->turn[0].first; k < w->n; k++) {
        h = h * 31 + (uint32_t)w->ids[k];
    }
    struct rl_verdict *v = &b->verdict[i];
    *v = (struct rl_verdict){.name = "wrong", .coverage = (double)NAN};
    if (h % 2 == 0) {
        *v = (struct rl_verdict){.name = "ok",
                                 .correct = true,
                                 .speedup = 1 + h / 2 % 10 * .1,
                                 .coverage = h / 20 % 10 * .1};
        v->speedup_lo = v->speedup - .05;
        v->reward = 1 + v->speedup;
    }
}

/* Samples groups of the step behind those that are there. */
static void bench_sample(struct bench *b, uint32_t step, uint32_t first, uint32_t groups)
{
    struct rl_run *run = &b->run;
    struct rl_shape shape = rl_config_shape(&b->config);
    struct rl_chain chain;
    struct lm_event e[256];
    int from = (int)(first * shape.rollouts), to = (int)((first + groups) * shape.rollouts);
    loop_ok(rl_chain_parse("relu_softmax", &chain, &loop_err));
    run->rollouts->n = to;
    for (int i = from; i < to; i++) {
        bench_begin_walk(b, step, &chain, i);
    }
    while (lm_engine_busy(run->engine)) {
        int n = lm_engine_step(run->engine, e, 256);
        for (int k = 0; k < n; k++) {
            struct rl_walk *w = &run->rollouts->walk[(uint32_t)e[k].request];
            w->ids[w->n] = e[k].token;
            w->mu[w->n++] = e[k].logp;
            w->turn[0].length++;
        }
    }
    for (int i = from; i < to; i++) {
        lm_engine_release(run->engine, run->rollouts->walk[i].conversation);
        bench_judge(b, i);
    }
}

static void bench_step(struct bench *b, uint32_t step)
{
    rl_sampler_refresh(&b->run.sampler, step);
    bench_sample(b, step, 0, rl_config_shape(&b->config).first);
    loop_ok(rl_step_learn(b->run.step, b->run.rollouts, step, &b->stats[step], &loop_err));
    b->run.updates += b->stats[step].updated;
}

/* Two steps, and the weights after them. */
static inline void bench_run(struct bench *b, const char *const *keys)
{
    bench_open(b, keys);
    const struct lm_model *m = b->run.model;
    for (uint32_t step = 0; step < 2; step++) {
        bench_step(b, step);
    }
    size_t more = m->lora != NULL ? m->lora->params.n : 0;
    b->n = m->base.n + more;
    b->weights = malloc(b->n * sizeof *b->weights);
    memcpy(b->weights, m->base.w, m->base.n * sizeof *b->weights);
    if (more > 0) {
        memcpy(b->weights + m->base.n, m->lora->params.w, more * sizeof *b->weights);
    }
}

#endif
