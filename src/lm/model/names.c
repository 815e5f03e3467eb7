/* Names and shapes of a model's tensors, in the order of the block of weights. Query, key and value
 * rows follow each other, and so do gate and up, because the forward takes them as one matrix. */
#include "lm/model/names.h"

#include <stdio.h>
#include <string.h>

const char *const lm_part_names[LM_PARTS] = {
    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj",
};

struct list {
    struct lm_tensor *t;
    int n;
    size_t total;
};

static void put(struct list *l, const char *name, int rows, int columns, bool decay)
{
    struct lm_tensor *t = &l->t[l->n++];
    *t = (struct lm_tensor){.rank = columns > 0 ? 2 : 1, .shape = {rows, columns}, .decay = decay};
    snprintf(t->name, sizeof t->name, "%s", name);
    t->count = (size_t)rows * (size_t)(columns > 0 ? columns : 1);
    l->total += t->count;
}

static void put_layer(struct list *l, int layer, const char *what, int rows, int columns)
{
    char name[96];
    snprintf(name, sizeof name, "model.layers.%d.%s", layer, what);
    put(l, name, rows, columns, columns > 0);
}

static void put_block(struct list *l, const struct lm_config *c, int i)
{
    int q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
    put_layer(l, i, "input_layernorm.weight", c->hidden, 0);
    put_layer(l, i, "self_attn.q_proj.weight", q, c->hidden);
    put_layer(l, i, "self_attn.k_proj.weight", kv, c->hidden);
    put_layer(l, i, "self_attn.v_proj.weight", kv, c->hidden);
    if (c->qkv_bias) {
        put_layer(l, i, "self_attn.q_proj.bias", q, 0);
        put_layer(l, i, "self_attn.k_proj.bias", kv, 0);
        put_layer(l, i, "self_attn.v_proj.bias", kv, 0);
    }
    if (c->qk_norm) {
        put_layer(l, i, "self_attn.q_norm.weight", c->head_dim, 0);
        put_layer(l, i, "self_attn.k_norm.weight", c->head_dim, 0);
    }
    put_layer(l, i, "self_attn.o_proj.weight", c->hidden, q);
    put_layer(l, i, "post_attention_layernorm.weight", c->hidden, 0);
    put_layer(l, i, "mlp.gate_proj.weight", c->inter, c->hidden);
    put_layer(l, i, "mlp.up_proj.weight", c->inter, c->hidden);
    put_layer(l, i, "mlp.down_proj.weight", c->hidden, c->inter);
}

int lm_names_count(const struct lm_config *c)
{
    return 2 + !c->tied + c->layers * (9 + 3 * c->qkv_bias + 2 * c->qk_norm);
}

size_t lm_names_fill(const struct lm_config *c, struct lm_tensor *t)
{
    struct list l = {.t = t};
    put(&l, "model.embed_tokens.weight", c->vocab, c->hidden, true);
    for (int i = 0; i < c->layers; i++) {
        put_block(&l, c, i);
    }
    put(&l, "model.norm.weight", c->hidden, 0, false);
    if (!c->tied) {
        put(&l, "lm_head.weight", c->vocab, c->hidden, true);
    }
    return l.total;
}
