/* The contents of a byte-level tokenizer.json as plain data: vocabulary, merges, added tokens,
 * pattern. bpe_read.h fills it from a file, bpe_train.h from texts; bpe_write.h writes it and bpe.h
 * encodes with it. Owner: the caller of init. */
#ifndef KG_LM_TOK_BPE_DEF_H
#define KG_LM_TOK_BPE_DEF_H

#include "base/buf.h"

#define LM_BPE_MAX_IDS   (1 << 24)
#define LM_BPE_MAX_ADDED 65536

struct lm_bpe_merge {
    int32_t left, right, id;
};

struct lm_bpe_added {
    int32_t id;
    char *content; /* len bytes of UTF-8 and a NUL */
    size_t len;
    bool special; /* dropped by decoders that are asked to; never made from plain text */
};

struct lm_bpe_def {
    size_t vocab;               /* ids 0..vocab-1 have bytes of their own */
    size_t *token_end;          /* [vocab]: token i is bytes token_end[i-1]..token_end[i] */
    struct kg_buf bytes;        /* of all tokens, in the order of ids */
    int32_t byte_id[256];       /* the token of one byte */
    struct lm_bpe_merge *merge; /* in the order of rank */
    size_t merges;
    struct lm_bpe_added *added; /* by id */
    size_t n_added;
    char *pattern; /* of the pre-split; NULL: text is not split */
    bool nfc;
};

void lm_bpe_def_init(struct lm_bpe_def *d);
void lm_bpe_def_deinit(struct lm_bpe_def *d);
/* The bytes of token id < vocab. */
const char *lm_bpe_def_token(const struct lm_bpe_def *d, int32_t id, size_t *len);
/* Append an added token. False: memory. */
bool lm_bpe_def_add(struct lm_bpe_def *d, int32_t id, const char *content, size_t len,
                    bool special);
/* By id; ids differ, and so do contents. INPUT: they do not, or one is empty. */
enum kg_code lm_bpe_def_sort_added(struct lm_bpe_def *d, const char *source,
                                   struct kg_err *err) KG_MUST_USE;
/* Is this id one of added? NULL: no. After sorting. */
const struct lm_bpe_added *lm_bpe_def_find_added(const struct lm_bpe_def *d, int32_t id);

#endif
