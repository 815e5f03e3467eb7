/* Weights, their packed copies, and the table of angles. */
#include "lm/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "lm/model/lora.h"
#include "lm/model/names.h"

size_t lm_model_panel_size(int n, int k)
{
    return ((size_t)n + LM_PANEL - 1) / LM_PANEL * LM_PANEL * (size_t)k;
}

void lm_model_pack_panels(const lm_real *w, int n, int k, lm_real f, lm_real *panels)
{
    for (int first = 0; first < n; first += LM_PANEL) {
        int width = n - first < LM_PANEL ? n - first : LM_PANEL;
        for (int i = 0; i < k; i++) {
            for (int j = 0; j < LM_PANEL; j++) {
                *panels++ = j < width ? f * w[(size_t)(first + j) * (size_t)k + (size_t)i] : 0;
            }
        }
    }
}

static void pack(struct lm_linear *l)
{
    lm_model_pack_panels(l->w, l->n, l->k, 1, l->panels);
}

void lm_model_pack(struct lm_model *m)
{
    for (int i = 0; i < m->cfg.layers; i++) {
        for (int j = 0; j < LM_LINEARS; j++) {
            pack(&m->layers[i].linear[j]);
        }
    }
    pack(&m->head);
    if (m->lora != NULL) {
        lm_lora_pack(m->lora);
    }
    m->version++;
}

void lm_model_part(const struct lm_config *cfg, enum lm_part part, enum lm_linear_kind *kind,
                   int *first, int *rows)
{
    static const enum lm_linear_kind kinds[LM_PARTS] = {LM_QKV,     LM_QKV,     LM_QKV, LM_O,
                                                        LM_GATE_UP, LM_GATE_UP, LM_DOWN};
    int q = cfg->heads * cfg->head_dim, kv = cfg->kv_heads * cfg->head_dim;
    const int firsts[LM_PARTS] = {0, q, q + kv, 0, 0, cfg->inter, 0};
    const int counts[LM_PARTS] = {q, kv, kv, cfg->hidden, cfg->inter, cfg->inter, cfg->hidden};
    *kind = kinds[part];
    *first = firsts[part];
    *rows = counts[part];
}

void lm_model_fill_normal(lm_real *w, size_t n, lm_real sigma, uint64_t seed, uint32_t stream)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (size_t i = 0; i < n; i += 2) {
        const uint32_t counter[4] = {(uint32_t)(i / 2), (uint32_t)((i / 2) >> 32), stream,
                                     0x696e6974};
        uint32_t x[4];
        kg_philox4x32(counter, key, x);
        double u = ((double)x[0] + .5) * 0x1p-32, v = ((double)x[1] + .5) * 0x1p-32;
        double r = sqrt(-2 * log(u)) * (double)sigma;
        w[i] = (lm_real)(float)(r * cos(2 * M_PI * v));
        if (i + 1 < n) {
            w[i + 1] = (lm_real)(float)(r * sin(2 * M_PI * v));
        }
    }
}

static void fill(struct lm_model *m, uint64_t seed)
{
    for (int i = 0; i < m->base.n_tensors; i++) {
        struct lm_tensor *t = &m->base.tensors[i];
        if (t->rank == 2) {
            lm_model_fill_normal(t->data, t->count, (lm_real)0.02, seed, (uint32_t)i);
        } else if (strstr(t->name, "norm") != NULL) {
            for (size_t j = 0; j < t->count; j++) {
                t->data[j] = 1;
            }
        }
    }
}

static void fill_angles(struct lm_model *m)
{
    int half = m->cfg.head_dim / 2;
    for (int i = 0; i < half; i++) {
        /* the inverse frequency is f32 in transformers, and so is the angle */
        float inverse = (float)(1 / pow((double)m->cfg.rope_theta, 2.0 * i / m->cfg.head_dim));
        for (int p = 0; p < m->cfg.max_pos; p++) {
            float angle = (float)p * inverse;
            m->cos[(size_t)p * (size_t)half + (size_t)i] = (lm_real)(float)cos((double)angle);
            m->sin[(size_t)p * (size_t)half + (size_t)i] = (lm_real)(float)sin((double)angle);
        }
    }
}

static size_t set_linear(struct lm_linear *l, int n, int k, lm_real *w, lm_real *bias,
                         lm_real *panels)
{
    *l = (struct lm_linear){n, k, w, bias, panels};
    return lm_model_panel_size(n, k);
}

/* Points each layer at its tensors and its panels. */
static void bind(struct lm_model *m, lm_real *panels)
{
    const struct lm_config *c = &m->cfg;
    struct lm_tensor *t = m->base.tensors;
    int q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
    size_t at = 0;
    m->embed = (t++)->data;
    for (int i = 0; i < c->layers; i++) {
        struct lm_layer *l = &m->layers[i];
        l->norm1 = (t++)->data;
        lm_real *w = t->data, *bias = c->qkv_bias ? t[3].data : NULL;
        t += c->qkv_bias ? 6 : 3;
        at += set_linear(&l->linear[LM_QKV], q + 2 * kv, c->hidden, w, bias, panels + at);
        l->q_norm = c->qk_norm ? (t++)->data : NULL;
        l->k_norm = c->qk_norm ? (t++)->data : NULL;
        at += set_linear(&l->linear[LM_O], c->hidden, q, (t++)->data, NULL, panels + at);
        l->norm2 = (t++)->data;
        at +=
            set_linear(&l->linear[LM_GATE_UP], 2 * c->inter, c->hidden, t->data, NULL, panels + at);
        t += 2;
        at += set_linear(&l->linear[LM_DOWN], c->hidden, c->inter, (t++)->data, NULL, panels + at);
    }
    m->norm = (t++)->data;
    lm_real *head = c->tied ? m->embed : t->data;
    set_linear(&m->head, c->vocab, c->hidden, head, NULL, panels + at);
}

static lm_real *numbers(size_t n)
{
    lm_real *p = NULL;
    if (n > SIZE_MAX / sizeof *p / 2 ||
        posix_memalign((void **)&p, 64, (n + 64) * sizeof *p) != 0) {
        return NULL;
    }
    memset(p, 0, (n + 64) * sizeof *p);
    return p;
}

static bool allocate(struct lm_model *m)
{
    const struct lm_config *c = &m->cfg;
    size_t angles = (size_t)c->max_pos * (size_t)c->head_dim / 2;
    m->base.n_tensors = lm_names_count(c);
    m->base.tensors = calloc((size_t)m->base.n_tensors, sizeof *m->base.tensors);
    m->layers = calloc((size_t)c->layers, sizeof *m->layers);
    m->cos = numbers(angles);
    m->sin = numbers(angles);
    if (m->base.tensors == NULL || m->layers == NULL || m->cos == NULL || m->sin == NULL) {
        return false;
    }
    m->base.n = lm_names_fill(c, m->base.tensors);
    m->base.w = numbers(m->base.n);
    if (m->base.w == NULL) {
        return false;
    }
    size_t at = 0;
    for (int i = 0; i < m->base.n_tensors; i++) {
        m->base.tensors[i].data = m->base.w + at;
        at += m->base.tensors[i].count;
    }
    size_t panels = 0;
    for (int i = 0; i < c->layers; i++) {
        int q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
        panels += lm_model_panel_size(q + 2 * kv, c->hidden) + lm_model_panel_size(c->hidden, q);
        panels +=
            lm_model_panel_size(2 * c->inter, c->hidden) + lm_model_panel_size(c->hidden, c->inter);
    }
    m->panels = numbers(panels + lm_model_panel_size(c->vocab, c->hidden));
    if (m->panels == NULL) {
        return false;
    }
    bind(m, m->panels);
    return true;
}

enum kg_code lm_model_create(const struct lm_config *cfg, uint64_t seed, struct lm_model **out,
                             struct kg_err *err)
{
    enum kg_code rc = lm_config_check(cfg, err);
    if (rc != KG_OK) {
        return rc;
    }
    struct lm_model *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "model: no memory");
    }
    m->cfg = *cfg;
    m->ops = lm_ops_best();
    if (!allocate(m)) {
        lm_model_destroy(m);
        return kg_fail_memory(err, KG_E_HOST,
                              "model: no memory for the weights of %d layers of width %d",
                              cfg->layers, cfg->hidden);
    }
    fill(m, seed);
    fill_angles(m);
    lm_model_pack(m);
    *out = m;
    return KG_OK;
}

void lm_model_destroy(struct lm_model *m)
{
    if (m == NULL) {
        return;
    }
    lm_lora_destroy(m->lora);
    free(m->base.w);
    free(m->base.tensors);
    free(m->layers);
    free(m->cos);
    free(m->sin);
    free(m->panels);
    free(m);
}

const struct lm_tensor *lm_model_find(const struct lm_model *m, const char *name)
{
    const struct lm_params *both[2] = {&m->base, lm_lora_params(m->lora)};
    for (int i = 0; i < 2; i++) {
        for (int j = 0; both[i] != NULL && j < both[i]->n_tensors; j++) {
            if (strcmp(both[i]->tensors[j].name, name) == 0) {
                return &both[i]->tensors[j];
            }
        }
    }
    return NULL;
}

struct lm_params *lm_model_trained(struct lm_model *m)
{
    return m->lora != NULL ? lm_lora_params(m->lora) : &m->base;
}
