/* Packed rows: several sequences, one after the other, each from position 0. The same struct serves
 * scoring, supervised training and policy gradients. A plain view; the caller owns the arrays. */
#ifndef KG_LM_TRAIN_ROWS_H
#define KG_LM_TRAIN_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct lm_rows {
    int n_seq;
    const int32_t *start; /* [n_seq+1]; sequence s has rows start[s]..start[s+1]-1; start[0] = 0 */
    const int32_t *ids;   /* [rows] the token at each row */
    const int32_t
        *target; /* [rows] the token that row must predict, or -1: its logits are not wanted */
    float temperature;     /* logits are divided by it; the sampler's, so that log-probs agree */
    bool dropout;          /* of adapters; the log-probs are then not those of the sampler */
    uint64_t dropout_seed; /* another one in each step */
};

#endif
