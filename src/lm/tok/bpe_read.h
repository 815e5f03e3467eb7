/* tokenizer.json of Hugging Face -> struct lm_bpe_def. Accepts byte-level BPE as Qwen and GPT-2
 * have it; merges as "a b" or ["a", "b"]. It refuses, by name, what would give other ids: other
 * models, normalizers but NFC, other pre-tokenizers, unknown tokens, dropout, prefixes and
 * suffixes, ignore_merges, post-processors that add tokens, added tokens that strip or match
 * normalized text. "truncation" and "padding" are settings of one call and are not read. */
#ifndef KG_LM_TOK_BPE_READ_H
#define KG_LM_TOK_BPE_READ_H

#include "lm/tok/bpe_def.h"

#define LM_BPE_MAX_FILE_BYTES (256u << 20)

/* *d is initialised by this call; on error it is empty and needs no deinit. source is for messages.
 * INPUT: malformed or refused; the message names the part and the entry. */
enum kg_code lm_bpe_parse(const char *text, size_t len, const char *source, struct lm_bpe_def *d,
                          struct kg_err *err) KG_MUST_USE;
enum kg_code lm_bpe_read(const char *path, struct lm_bpe_def *d, struct kg_err *err) KG_MUST_USE;

#endif
