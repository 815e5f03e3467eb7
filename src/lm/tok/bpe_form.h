/* The parts of a tokenizer.json around its vocabulary: which normalizer, pre-tokenizer, decoder and
 * settings it has. One place says which are supported and how they are written. */
#ifndef KG_LM_TOK_BPE_FORM_H
#define KG_LM_TOK_BPE_FORM_H

#include "base/json.h"

/* j: the whole tokenizer.json. *pattern: malloc'd, the caller frees; NULL: no split. INPUT: not
 * supported; the message names the part. */
enum kg_code lm_bpe_form_read(const json_t *j, const char *source, bool *nfc, char **pattern,
                              struct kg_err *err) KG_MUST_USE;
/* The same parts for writing: version, normalizer, pre_tokenizer, ... as Qwen's files have them.
 * "added_tokens" is `added`; "model" holds the settings, then `vocab` and `merges`. Takes over the
 * three references. */
json_t *lm_bpe_form_make(bool nfc, const char *pattern, json_t *added, json_t *vocab,
                         json_t *merges);

#endif
