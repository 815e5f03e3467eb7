/* What shape a model has: the dense Qwen2 and Qwen3 families. Qwen2.x has qkv_bias, Qwen3 has
 * qk_norm. A plain value; no ownership, no allocation. */
#ifndef KG_LM_MODEL_CONFIG_H
#define KG_LM_MODEL_CONFIG_H

#include <stdbool.h>

#include "base/err.h"

struct lm_config {
    int vocab;    /* rows of the embedding; ids are 0..vocab-1 */
    int hidden;   /* width of the residual stream */
    int inter;    /* width of the feed-forward block */
    int layers;   /* number of blocks */
    int heads;    /* query heads */
    int kv_heads; /* key and value heads; divides heads */
    int head_dim; /* even */
    int max_pos;  /* most tokens of one sequence */
    float rope_theta, rms_eps;
    bool tied;     /* the head uses the embedding */
    bool qkv_bias; /* Qwen2.x */
    bool qk_norm;  /* Qwen3 */
};

/* Whether the engine can run such a model. Errors: KG_E_INPUT with the name of the field. */
enum kg_code lm_config_check(const struct lm_config *c, struct kg_err *err) KG_MUST_USE;

#endif
