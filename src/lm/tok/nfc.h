/* Unicode text as a tokenizer wants it: valid UTF-8, and NFC (composed characters) where its file
 * says so. Thread safe. Cost: one pass where no character is U+0300 or above; otherwise utf8proc,
 * whose sorting of combining marks takes quadratic time in the length of one run of them. */
#ifndef KG_LM_TOK_NFC_H
#define KG_LM_TOK_NFC_H

#include "base/buf.h"

/* Append text; each broken part of it becomes U+FFFD, as kg_utf8_next() tells them apart. */
void lm_utf8_repair(const char *text, size_t n, struct kg_buf *out);
/* Append the NFC form of valid UTF-8. LIMIT: out is full; HOST: memory. */
enum kg_code lm_nfc(const char *text, size_t n, struct kg_buf *out, struct kg_err *err) KG_MUST_USE;

#endif
