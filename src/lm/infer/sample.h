/* Draws a token from a row of logits. The draw depends on the row, the seed, the request and the
 * position, and on nothing else: not on the batch, threads or restarts. Thread safe.
 *
 * Gumbel-max: argmax of z/temperature + noise, ties by the smaller id. The noise of id j comes from
 * Philox4x32-10 with key = seed and counter = (j/4, position, request low, request high). */
#ifndef KG_LM_INFER_SAMPLE_H
#define KG_LM_INFER_SAMPLE_H

#include "lm/ops/ops.h"

struct lm_sampling {
    float temperature; /* 0: greedy, and log-probs are those of temperature 1 */
    int top_k;         /* 0: off; values equal to the k-th stay in */
    float top_p;       /* 0 or 1: off; of what top_k left */
    float min_p;       /* 0: off; least probability relative to the highest */
    int n_ids;         /* ids from here on are never drawn; 0: all may be */
    uint64_t seed;
};

struct lm_draw {
    int32_t token;
    lm_real logp; /* under the whole softmax at this temperature, whatever the filters are */
};

/* Numbers of scratch. */
size_t lm_sample_scratch(int vocab);

struct lm_draw lm_sample(const struct lm_ops *ops, const lm_real *z, int vocab,
                         const struct lm_sampling *s, uint64_t request, int position,
                         lm_real *scratch);

#endif
