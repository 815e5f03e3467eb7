#include "lm/model/config.h"

#include <math.h>

#include "lm/ops/ops.h"

static enum kg_code range(const char *name, int value, int low, int high, struct kg_err *err)
{
    if (value < low || value > high) {
        return kg_fail(err, KG_E_INPUT, "model configuration: %s is %d, must be %d to %d", name,
                       value, low, high);
    }
    return KG_OK;
}

enum kg_code lm_config_check(const struct lm_config *c, struct kg_err *err)
{
    const struct {
        const char *name;
        int value, low, high;
    } rows[] = {
        {"vocab_size", c->vocab, 1, 1 << 24},
        {"hidden_size", c->hidden, 1, 1 << 16},
        {"intermediate_size", c->inter, 1, 1 << 18},
        {"num_hidden_layers", c->layers, 1, 1024},
        {"num_attention_heads", c->heads, 1, 1024},
        {"num_key_value_heads", c->kv_heads, 1, 1024},
        {"head_dim", c->head_dim, 2, 1024},
        {"max_position_embeddings", c->max_pos, 1, 1 << 24},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum kg_code rc = range(rows[i].name, rows[i].value, rows[i].low, rows[i].high, err);
        if (rc != KG_OK) {
            return rc;
        }
    }
    if (c->heads % c->kv_heads != 0) {
        return kg_fail(err, KG_E_INPUT,
                       "model configuration: num_attention_heads %d is no multiple of "
                       "num_key_value_heads %d",
                       c->heads, c->kv_heads);
    }
    if (c->heads / c->kv_heads > LM_QROWS) {
        return kg_fail(err, KG_E_INPUT,
                       "model configuration: %d query heads share a key head, at most %d may",
                       c->heads / c->kv_heads, LM_QROWS);
    }
    if (c->head_dim % 2 != 0) {
        return kg_fail(err, KG_E_INPUT, "model configuration: head_dim %d is odd", c->head_dim);
    }
    if (!(c->rope_theta > 0) || !isfinite(c->rope_theta)) {
        return kg_fail(err, KG_E_INPUT, "model configuration: rope_theta must be above 0");
    }
    if (!(c->rms_eps > 0) || !isfinite(c->rms_eps)) {
        return kg_fail(err, KG_E_INPUT, "model configuration: rms_norm_eps must be above 0");
    }
    return KG_OK;
}
