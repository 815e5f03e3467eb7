/* struct lm_bpe_def -> tokenizer.json, which the tokenizers library reads with the same ids. The
 * same contents always give the same bytes. */
#ifndef KG_LM_TOK_BPE_WRITE_H
#define KG_LM_TOK_BPE_WRITE_H

#include "lm/tok/bpe_def.h"

/* Atomically. HOST, IO, LIMIT. */
enum kg_code lm_bpe_write(const struct lm_bpe_def *d, const char *path,
                          struct kg_err *err) KG_MUST_USE;

#endif
