/* Tiny models and made-up rows for tests of the engine. Works in the f64 build too, so all of it is
 * inline. */
#ifndef KG_TESTS_LM_MODEL_H
#define KG_TESTS_LM_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "lm/lm.h"

static inline uint32_t lm_test_bits(uint32_t stream, uint32_t i)
{
    const uint32_t key[2] = {17, stream}, counter[4] = {i, 0, 0, 0};
    uint32_t x[4];
    kg_philox4x32(counter, key, x);
    return x[0];
}

static inline lm_real lm_test_number(uint32_t stream, uint32_t i)
{
    return (lm_real)(lm_test_bits(stream, i) * 0x1p-31 - 1);
}

/* Qwen2: bias, tied. */
static inline struct lm_config lm_test_qwen2(void)
{
    return (struct lm_config){.vocab = 53,
                              .hidden = 24,
                              .inter = 40,
                              .layers = 2,
                              .heads = 4,
                              .kv_heads = 2,
                              .head_dim = 6,
                              .max_pos = 400,
                              .rope_theta = 1e4f,
                              .rms_eps = 1e-6f,
                              .tied = true,
                              .qkv_bias = true};
}

/* Qwen3: norms of queries and keys, a head of its own. */
static inline struct lm_config lm_test_qwen3(void)
{
    struct lm_config c = lm_test_qwen2();
    c.layers = 3;
    c.head_dim = 10;
    c.heads = 3;
    c.kv_heads = 1;
    c.tied = false;
    c.qkv_bias = false;
    c.qk_norm = true;
    return c;
}

/* Weights large enough that nothing is nearly uniform; norms and biases are not 1 and 0. */
static inline void lm_test_stir(struct lm_model *m)
{
    for (int i = 0; i < m->base.n_tensors; i++) {
        struct lm_tensor *t = &m->base.tensors[i];
        for (size_t j = 0; j < t->count; j++) {
            lm_real x = lm_test_number((uint32_t)i, (uint32_t)j);
            t->data[j] = t->rank == 2 ? x * (lm_real)0.4 : t->data[j] + x * (lm_real)0.3;
        }
    }
    lm_model_pack(m);
}

/* B of every adapter gets numbers too: it begins as 0. */
static inline void lm_test_stir_adapter(struct lm_model *m)
{
    for (int i = 0; i < m->lora->params.n_tensors; i++) {
        struct lm_tensor *t = &m->lora->params.tensors[i];
        for (size_t j = 0; j < t->count; j++) {
            t->data[j] = lm_test_number(900 + (uint32_t)i, (uint32_t)j) * (lm_real)0.3;
        }
    }
    lm_model_pack(m);
}

#define LM_TEST_ROWS 512

struct lm_test_rows {
    struct lm_rows rows;
    int32_t start[16], ids[LM_TEST_ROWS], target[LM_TEST_ROWS];
    lm_real c[LM_TEST_ROWS], eta[LM_TEST_ROWS], logp[LM_TEST_ROWS], ent[LM_TEST_ROWS];
};

/* Sequences of these lengths; every fifth row has no target. */
static inline void lm_test_fill(struct lm_test_rows *r, int vocab, const int *lengths, int n)
{
    memset(r, 0, sizeof *r);
    for (int s = 0; s < n; s++) {
        r->start[s + 1] = r->start[s] + lengths[s];
    }
    for (int i = 0; i < r->start[n]; i++) {
        r->ids[i] = (int32_t)(lm_test_bits(1000, (uint32_t)i) % (uint32_t)vocab);
        r->target[i] =
            i % 5 == 4 ? -1 : (int32_t)(lm_test_bits(1001, (uint32_t)i) % (uint32_t)vocab);
        r->c[i] = lm_test_number(1002, (uint32_t)i);
        r->eta[i] = lm_test_number(1003, (uint32_t)i) * (lm_real)0.5;
    }
    r->rows = (struct lm_rows){n, r->start, r->ids, r->target, 0.75f, false, 0};
}

#endif
