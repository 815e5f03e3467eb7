/* Tensors of an adapter and their packed copies. */
#include "lm/model/lora.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "lm/model/names.h"

static struct lm_adapter *adapter(struct lm_lora *l, int layer, int part)
{
    return &l->adapters[layer * LM_PARTS + part];
}

static size_t packed_size(const struct lm_adapter *a, int r)
{
    return lm_model_panel_size(r, a->k) + lm_model_panel_size(a->n, r) + (size_t)a->n * (size_t)r;
}

void lm_lora_pack(struct lm_lora *l)
{
    int r = l->cfg.r;
    for (int i = 0; i < l->layers * LM_PARTS; i++) {
        struct lm_adapter *a = &l->adapters[i];
        if (a->a == NULL) {
            continue;
        }
        lm_model_pack_panels(a->a, r, a->k, 1, a->a_panels);
        lm_model_pack_panels(a->b, a->n, r, l->s, a->sb_panels);
        for (int j = 0; j < a->n * r; j++) {
            a->sb[j] = l->s * a->b[j];
        }
    }
}

static void fill_uniform(lm_real *w, size_t n, double bound, uint64_t seed, uint32_t stream)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (size_t i = 0; i < n; i++) {
        const uint32_t counter[4] = {(uint32_t)(i / 4), 0, stream, 0x6c6f7261};
        uint32_t x[4];
        kg_philox4x32(counter, key, x);
        w[i] = (lm_real)(float)((((double)x[i % 4] + .5) * 0x1p-31 - 1) * bound);
    }
}

static void name_tensor(struct lm_tensor *t, int layer, int part, const char *what, int rows,
                        int columns)
{
    *t = (struct lm_tensor){.rank = 2, .shape = {rows, columns}, .decay = true};
    snprintf(t->name, sizeof t->name, "base_model.model.model.layers.%d.%s.%s.weight", layer,
             lm_part_names[part], what);
    t->count = (size_t)rows * (size_t)columns;
}

/* Shapes and names of all; data stays NULL. Returns the numbers of tensors and of packed copies. */
static size_t plan(struct lm_lora *l, const struct lm_model *m, size_t *packed)
{
    size_t total = 0;
    struct lm_tensor *t = l->params.tensors;
    for (int layer = 0; layer < l->layers; layer++) {
        for (int part = 0; part < LM_PARTS; part++) {
            struct lm_adapter *a = adapter(l, layer, part);
            enum lm_linear_kind kind;
            if ((l->cfg.targets & 1u << part) == 0) {
                continue;
            }
            lm_model_part(&m->cfg, (enum lm_part)part, &kind, &a->first, &a->n);
            a->k = m->layers[layer].linear[kind].k;
            name_tensor(t++, layer, part, "lora_A", l->cfg.r, a->k);
            name_tensor(t++, layer, part, "lora_B", a->n, l->cfg.r);
            total += t[-1].count + t[-2].count;
            *packed += packed_size(a, l->cfg.r);
        }
    }
    l->params.n_tensors = (int)(t - l->params.tensors);
    l->params.n = total;
    return total;
}

static void bind(struct lm_lora *l, uint64_t seed)
{
    lm_real *w = l->params.w, *packed = l->packed;
    struct lm_tensor *t = l->params.tensors;
    for (int i = 0; i < l->layers * LM_PARTS; i++) {
        struct lm_adapter *a = &l->adapters[i];
        if (a->n == 0) {
            continue;
        }
        a->a = t[0].data = w;
        a->b = t[1].data = w + t[0].count;
        w += t[0].count + t[1].count;
        a->a_panels = packed;
        a->sb_panels = a->a_panels + lm_model_panel_size(l->cfg.r, a->k);
        a->sb = a->sb_panels + lm_model_panel_size(a->n, l->cfg.r);
        packed += packed_size(a, l->cfg.r);
        fill_uniform(a->a, t[0].count, 1 / sqrt((double)a->k), seed, (uint32_t)i);
        t += 2;
    }
}

static enum kg_code check(const struct lm_model *m, const struct lm_lora_config *c,
                          struct kg_err *err)
{
    if (m->lora != NULL) {
        return kg_fail(err, KG_E_USAGE, "adapter: the model has one already");
    }
    if (c->r < 1 || c->r > 4096) {
        return kg_fail(err, KG_E_USAGE, "adapter: r is %d, must be 1 to 4096", c->r);
    }
    if (!(c->dropout >= 0 && c->dropout < 1)) {
        return kg_fail(err, KG_E_USAGE, "adapter: dropout must be at least 0 and below 1");
    }
    if (c->targets == 0 || c->targets >= 1u << LM_PARTS) {
        return kg_fail(err, KG_E_USAGE, "adapter: no such targets");
    }
    return KG_OK;
}

enum kg_code lm_lora_add(struct lm_model *m, const struct lm_lora_config *cfg, uint64_t seed,
                         struct kg_err *err)
{
    enum kg_code rc = check(m, cfg, err);
    if (rc != KG_OK) {
        return rc;
    }
    struct lm_lora *l = calloc(1, sizeof *l);
    size_t packed = 0, places = (size_t)m->cfg.layers * LM_PARTS;
    if (l != NULL) {
        l->cfg = *cfg;
        l->s = (lm_real)(cfg->alpha / (float)cfg->r);
        l->layers = m->cfg.layers;
        l->adapters = calloc(places, sizeof *l->adapters);
        l->params.tensors = calloc(2 * places, sizeof *l->params.tensors);
        if (l->adapters != NULL && l->params.tensors != NULL) {
            l->params.w = calloc(plan(l, m, &packed) + 64, sizeof *l->params.w);
            l->packed = calloc(packed + 64, sizeof *l->packed);
        }
    }
    if (l == NULL || l->adapters == NULL || l->params.w == NULL || l->packed == NULL) {
        lm_lora_destroy(l);
        return kg_fail_memory(err, KG_E_HOST, "adapter: no memory");
    }
    bind(l, seed);
    m->lora = l;
    lm_model_pack(m);
    return KG_OK;
}

void lm_lora_destroy(struct lm_lora *l)
{
    if (l == NULL) {
        return;
    }
    free(l->adapters);
    free(l->params.tensors);
    free(l->params.w);
    free(l->packed);
    free(l);
}

struct lm_params *lm_lora_params(struct lm_lora *l)
{
    return l == NULL ? NULL : &l->params;
}
