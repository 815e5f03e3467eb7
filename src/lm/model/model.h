/* The weights of a model, and the table of their names. Weights are f32 in one block, in the order
 * and under the names of Hugging Face's Qwen2 and Qwen3 checkpoints; a linear layer is [out, in].
 * The forward reads packed copies: whoever changes weights calls lm_model_pack() before the next
 * forward. An optional adapter (lora.h) lies beside the base, unmerged.
 *
 * The model owns all of it. Reading is thread safe; lm_model_pack() is not. */
#ifndef KG_LM_MODEL_MODEL_H
#define KG_LM_MODEL_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "lm/model/config.h"
#include "lm/ops/ops.h"

struct lm_tensor {
    char name[96];
    int rank;      /* 1 or 2 */
    int shape[2];  /* outermost first */
    size_t count;  /* numbers */
    lm_real *data; /* inside the block */
    bool decay;    /* weight decay applies: no norm, no bias */
};

struct lm_params {
    lm_real *w; /* [n], the tensors one after the other */
    size_t n;
    struct lm_tensor *tensors;
    int n_tensors;
};

enum lm_linear_kind { LM_QKV, LM_O, LM_GATE_UP, LM_DOWN, LM_LINEARS };
enum lm_part {
    LM_Q_PROJ,
    LM_K_PROJ,
    LM_V_PROJ,
    LM_O_PROJ,
    LM_GATE_PROJ,
    LM_UP_PROJ,
    LM_DOWN_PROJ,
    LM_PARTS
};

struct lm_linear {
    int n, k;        /* out, in */
    lm_real *w;      /* [n, k] */
    lm_real *bias;   /* [n] or NULL */
    lm_real *panels; /* packed transpose: [(n+31)/32][k][32] */
};

struct lm_layer {
    lm_real *norm1, *norm2;   /* [hidden] */
    lm_real *q_norm, *k_norm; /* [head_dim] or NULL */
    struct lm_linear linear[LM_LINEARS];
};

struct lm_lora;

struct lm_model {
    struct lm_config cfg;
    const struct lm_ops *ops;
    struct lm_params base;
    struct lm_layer *layers;
    lm_real *embed; /* [vocab, hidden] */
    lm_real *norm;  /* [hidden] */
    struct lm_linear head;
    lm_real *cos, *sin;   /* [max_pos, head_dim/2] */
    lm_real *panels;      /* all packed copies */
    struct lm_lora *lora; /* NULL: none */
    uint64_t version;     /* lm_model_pack() adds one */
};

/* Weights normal with standard deviation .02 by Philox of seed, norms 1, biases 0; packed.
 * Errors: KG_E_INPUT (configuration), KG_E_HOST (memory). */
enum kg_code lm_model_create(const struct lm_config *cfg, uint64_t seed, struct lm_model **out,
                             struct kg_err *err) KG_MUST_USE;
void lm_model_destroy(struct lm_model *m);

/* The tensor of that name, of the base or the adapter, or NULL. */
const struct lm_tensor *lm_model_find(const struct lm_model *m, const char *name);

/* What training changes: the adapter if there is one, else the base. */
struct lm_params *lm_model_trained(struct lm_model *m);

/* Makes the packed copies anew from the weights, and a new version. */
void lm_model_pack(struct lm_model *m);

/* First output row of a part within its linear layer, and its rows. */
void lm_model_part(const struct lm_config *cfg, enum lm_part part, enum lm_linear_kind *kind,
                   int *first, int *rows);

/* Packs the transpose of w [n, k], times f. */
void lm_model_pack_panels(const lm_real *w, int n, int k, lm_real f, lm_real *panels);
size_t lm_model_panel_size(int n, int k);

/* Numbers of normal distribution (0, sigma) by Philox of (seed, stream). */
void lm_model_fill_normal(lm_real *w, size_t n, lm_real sigma, uint64_t seed, uint32_t stream);

#endif
