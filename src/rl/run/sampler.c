/* Copies of the learner's weights that rollouts are drawn with. */
#include "rl/run/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rl/methods/streams.h"

/* Source: measured with the demo's model; noise of a third of SIGMA on its weights gives log-probs
 * that differ from the learner's with a standard deviation of about SIGMA. */
#define NOISE_SCALE (1.f / 3)

/* The number behind a word: "stale 4". False: another word, or no number. */
static bool number_of(const char *text, const char *word, double *out)
{
    size_t n = strlen(word);
    char *end = NULL;
    if (strncmp(text, word, n) != 0 || text[n] != ' ') {
        return false;
    }
    *out = strtod(text + n + 1, &end);
    return end > text + n + 1 && *end == '\0';
}

enum kg_code rl_sampler_parse(const char *text, struct rl_sampler_options *out, struct kg_err *err)
{
    double x = 0;
    *out = (struct rl_sampler_options){.kind = RL_SAMPLER_ENGINE};
    if (strcmp(text, "engine") == 0) {
        return KG_OK;
    }
    if (strcmp(text, "bf16-weights") == 0) {
        out->kind = RL_SAMPLER_BF16;
        return KG_OK;
    }
    if (number_of(text, "stale", &x) && x >= 2 && x <= 1e6 && x == floor(x)) {
        *out = (struct rl_sampler_options){.kind = RL_SAMPLER_STALE, .every = (uint32_t)x};
        return KG_OK;
    }
    if (number_of(text, "noise", &x) && x > 0 && x <= 10) {
        *out = (struct rl_sampler_options){.kind = RL_SAMPLER_NOISE, .sigma = (float)x};
        return KG_OK;
    }
    return kg_fail(err, KG_E_USAGE,
                   "sampler: `%.40s` is none of engine, bf16-weights, stale K (from 2), noise "
                   "SIGMA (to 10)",
                   text);
}

enum kg_code rl_model_copy(const struct lm_model *m, struct lm_model **out, struct kg_err *err)
{
    enum kg_code code = lm_model_create(&m->cfg, 0, out, err);
    if (code == KG_OK && m->lora != NULL) {
        code = lm_lora_add(*out, &m->lora->cfg, 0, err);
        if (code != KG_OK) {
            lm_model_destroy(*out);
            *out = NULL;
            return code;
        }
        memcpy((*out)->lora->params.w, m->lora->params.w,
               m->lora->params.n * sizeof *m->lora->params.w);
    }
    if (code == KG_OK) {
        memcpy((*out)->base.w, m->base.w, m->base.n * sizeof *m->base.w);
        lm_model_pack(*out);
    }
    return code;
}

enum kg_code rl_sampler_open(struct rl_sampler *s, const struct rl_sampler_options *o,
                             uint64_t seed, struct lm_model *learner, struct kg_err *err)
{
    *s = (struct rl_sampler){.o = *o, .seed = seed, .learner = learner, .actor = learner};
    if (o->kind == RL_SAMPLER_ENGINE) {
        return KG_OK;
    }
    if (rl_model_copy(learner, &s->actor, err) != KG_OK) {
        s->actor = NULL;
        return err->code;
    }
    const struct lm_params *p = lm_model_trained(s->actor);
    size_t most = 1;
    for (int i = 0; i < p->n_tensors; i++) {
        most = p->tensors[i].count > most ? p->tensors[i].count : most;
    }
    s->scratch = malloc(most * sizeof *s->scratch);
    if (s->scratch == NULL) {
        rl_sampler_close(s);
        return kg_fail(err, KG_E_HOST, "sampler: no memory for %zu numbers", most);
    }
    return KG_OK;
}

void rl_sampler_close(struct rl_sampler *s)
{
    if (s->actor != s->learner) {
        lm_model_destroy(s->actor);
    }
    free(s->scratch);
    *s = (struct rl_sampler){0};
}

static float bf16(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    b = (b + 0x7fffu + (b >> 16 & 1)) & 0xffff0000u; /* weights are finite */
    memcpy(&x, &b, sizeof x);
    return x;
}

static void add_noise(struct rl_sampler *s, const struct lm_tensor *t, uint32_t step, uint32_t i)
{
    double sum = 0;
    for (size_t k = 0; k < t->count; k++) {
        sum += (double)t->data[k] * (double)t->data[k];
    }
    float scale = NOISE_SCALE * s->o.sigma * (float)sqrt(sum / (double)t->count);
    uint64_t seed = rl_draw_bits(s->seed, RL_STREAM_SAMPLER, step, 0, 0);
    lm_model_fill_normal(s->scratch, t->count, scale, seed, i);
    for (size_t k = 0; k < t->count; k++) {
        t->data[k] += s->scratch[k];
    }
}

static void copy(struct rl_sampler *s)
{
    const struct lm_params *from = lm_model_trained(s->learner), *to = lm_model_trained(s->actor);
    memcpy(to->w, from->w, from->n * sizeof *to->w);
}

void rl_sampler_refresh(struct rl_sampler *s, uint32_t step)
{
    if (s->o.kind == RL_SAMPLER_ENGINE ||
        (s->o.kind == RL_SAMPLER_STALE && step % s->o.every != 0)) {
        return;
    }
    copy(s);
    const struct lm_params *p = lm_model_trained(s->actor);
    for (int i = 0; i < p->n_tensors && s->o.kind == RL_SAMPLER_NOISE; i++) {
        add_noise(s, &p->tensors[i], step, (uint32_t)i);
    }
    for (size_t k = 0; k < p->n && s->o.kind == RL_SAMPLER_BF16; k++) {
        p->w[k] = bf16(p->w[k]);
    }
    lm_model_pack(s->actor);
}

void rl_sampler_exact(struct rl_sampler *s)
{
    if (s->o.kind != RL_SAMPLER_ENGINE) {
        copy(s);
        lm_model_pack(s->actor);
    }
}

enum kg_code rl_lora_parse(const struct rl_config *c, struct lm_lora_config *out,
                           struct kg_err *err)
{
    static const char *const part[LM_PARTS] = {"q", "k", "v", "o", "gate", "up", "down"};
    const char *at = strcmp(c->lora_targets, "all") == 0 ? "q,k,v,o,gate,up,down" : c->lora_targets;
    *out = (struct lm_lora_config){
        .r = (int)c->lora_r, .alpha = (float)c->lora_alpha, .dropout = (float)c->lora_dropout};
    while (*at != '\0') {
        size_t n = strcspn(at, ",");
        int i = 0;
        while (i < LM_PARTS && (strlen(part[i]) != n || strncmp(part[i], at, n) != 0)) {
            i++;
        }
        if (i == LM_PARTS) {
            return kg_fail(err, KG_E_USAGE,
                           "lora.targets: `%.*s` is none of q, k, v, o, gate, up, down", (int)n,
                           at);
        }
        out->targets |= 1u << i;
        at += n + (at[n] == ',');
    }
    return out->targets != 0 ? KG_OK : kg_fail(err, KG_E_USAGE, "lora.targets: names no part");
}
