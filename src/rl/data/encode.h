/* Conversations become ids and masks: a corpus. A context is put together as rollouts do it (prompt
 * with the header of the reply, reply, feedback with the next header), so a reply is trained behind
 * the ids behind which it is sampled. The mask is 1 for a trained reply and the id that ends it.
 * And what keeps validation apart from training. Not thread safe. */
#ifndef KG_RL_DATA_ENCODE_H
#define KG_RL_DATA_ENCODE_H

#include "rl/data/corpus.h"
#include "rl/data/data.h"

struct rl_encode_options {
    int max_tokens; /* of a conversation */
    bool cut;       /* longer ones end with the last whole reply that fits; false: left out */
};

struct rl_encode_counts {
    uint64_t cut;      /* conversations that lost turns */
    uint64_t left_out; /* too long, without a trained reply that fits */
};

/* talker: its chat template and tokenizer. *out is destroyed by the caller; on error it is empty.
 * Errors: KG_E_INPUT (nothing is left), KG_E_HOST, those of the tokenizer. */
enum kg_code rl_encode(const struct rl_data *d, const struct rl_talker *talker,
                       const struct rl_encode_options *o, struct rl_corpus *out,
                       struct rl_encode_counts *counts, struct kg_err *err) KG_MUST_USE;

/* Trains a tokenizer of so many merges on the texts, and opens a talker with it. Errors: those of
 * lm/tok/bpe_train.h, KG_E_HOST. */
enum kg_code rl_encode_tokenizer(const struct rl_data *d, int merges, int feedback,
                                 struct rl_talker *out, struct kg_err *err) KG_MUST_USE;

/* Moves the documents of held-out problems behind the others; *n: how many are not held out. A
 * problem is held out with a chance of `share` that its key and the seed decide, so all documents
 * of a problem are on one side, in every corpus. The order within each side stays. Errors:
 * KG_E_HOST (memory). */
enum kg_code rl_corpus_hold_out(struct rl_corpus *c, uint64_t seed, double share, size_t *n,
                                struct kg_err *err) KG_MUST_USE;

/* Documents of b whose problem a has too. Errors: KG_E_HOST. */
enum kg_code rl_corpus_overlap(const struct rl_corpus *a, const struct rl_corpus *b, size_t *n,
                               struct kg_err *err) KG_MUST_USE;

#endif
