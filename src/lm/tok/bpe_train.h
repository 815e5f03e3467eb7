/* Training a byte-level vocabulary: the most frequent pair of neighbouring symbols becomes a token,
 * again and again. The result is the one of the tokenizers library's trainer for the same texts:
 * pairs are counted within pieces of the pre-split, and of equally frequent pairs the one with the
 * lower ids wins. So the same texts give the same file on any machine.
 * Ids: the 256 bytes in the order of their spelling (bytes.h), then the new tokens in the order of
 * their merges, then the added tokens. Not thread safe per object. Cost: about a second per 10 MB
 * of text; memory grows with the number of different words. */
#ifndef KG_LM_TOK_BPE_TRAIN_H
#define KG_LM_TOK_BPE_TRAIN_H

#include "lm/tok/bpe_def.h"

struct lm_bpe_trainer;

struct lm_bpe_train_options {
    size_t vocab;        /* tokens without the added ones: 256 and more; fewer if pairs run out */
    int64_t min_count;   /* a pair that occurs less often is no token; at least 1 */
    const char *pattern; /* of the pre-split, such as lm_presplit_qwen */
    bool nfc;
};

/* *out is destroyed by the caller. INPUT: the pattern is refused, or vocab is not 256 to
 * LM_BPE_MAX_IDS. */
enum kg_code lm_bpe_trainer_create(const struct lm_bpe_train_options *o,
                                   struct lm_bpe_trainer **out, struct kg_err *err) KG_MUST_USE;
void lm_bpe_trainer_destroy(struct lm_bpe_trainer *t); /* NULL is nothing */
/* Count the words of one text. LIMIT, HOST: memory. */
enum kg_code lm_bpe_trainer_add(struct lm_bpe_trainer *t, const char *text, size_t len,
                                struct kg_err *err) KG_MUST_USE;
/* Train on all that was added, once. *d is initialised by this call; on error it is empty. It has
 * no added tokens: see lm_bpe_add_qwen(). HOST: memory. */
enum kg_code lm_bpe_trainer_run(struct lm_bpe_trainer *t, struct lm_bpe_def *d,
                                struct kg_err *err) KG_MUST_USE;

/* The added tokens of Qwen2.5 (22) or Qwen3 (26), in their order, with ids from d->vocab on.
 * HOST: memory. */
enum kg_code lm_bpe_add_qwen(struct lm_bpe_def *d, bool qwen3, struct kg_err *err) KG_MUST_USE;

#endif
