/* A low-rank adapter beside the base: y = W x + s B (A x), with s = alpha/r (PEFT's meaning).
 * Tensors and names are those of PEFT. Base and adapter are never merged: the adapter's product
 * continues the chain of the base's, so B = 0 gives the bits of the base alone.
 * Owned by its model. */
#ifndef KG_LM_MODEL_LORA_H
#define KG_LM_MODEL_LORA_H

#include "lm/model/model.h"

struct lm_lora_config {
    int r;
    float alpha;
    float dropout;    /* 0..1, of the adapter's input, in training forwards that ask for it */
    unsigned targets; /* bit 1 << enum lm_part */
};

struct lm_adapter {
    int first, n, k;               /* output rows of the linear layer: first..first+n-1; inputs */
    lm_real *a, *b;                /* A [r, k], B [n, r]; NULL: no adapter here */
    lm_real *a_panels, *sb_panels; /* packed transposes of A and of s*B */
    lm_real *sb;                   /* s*B [n, r] */
};

struct lm_lora {
    struct lm_lora_config cfg;
    lm_real s;
    struct lm_params params;
    struct lm_adapter *adapters; /* [layers][LM_PARTS] */
    lm_real *packed;
    int layers;
};

/* Gives the model an adapter: A uniform in +-1/sqrt(inputs) by Philox of seed, B = 0; packed.
 * Errors: KG_E_USAGE (r, dropout, no target, or there is one already), KG_E_HOST. */
enum kg_code lm_lora_add(struct lm_model *m, const struct lm_lora_config *cfg, uint64_t seed,
                         struct kg_err *err) KG_MUST_USE;
void lm_lora_destroy(struct lm_lora *l); /* NULL is allowed */
void lm_lora_pack(struct lm_lora *l);
struct lm_params *lm_lora_params(struct lm_lora *l); /* NULL of NULL */

#endif
