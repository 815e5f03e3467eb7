/* How a byte-level vocabulary spells bytes: each of the 256 bytes is one character, so that any
 * token is a text without spaces. Bytes 33-126, 161-172 and 174-255 stand for themselves; the other
 * 68 are U+0100, U+0101, ... in order. Thread safe.
 * Source: the table of GPT-2's encoder, which all byte-level tokenizer.json files use. */
#ifndef KG_LM_TOK_BYTES_H
#define KG_LM_TOK_BYTES_H

#include "base/buf.h"

/* The character of a byte. */
uint32_t lm_bytes_char(unsigned char byte);
/* The byte of a character; -1: it stands for none. */
int lm_bytes_of(uint32_t cp);
/* Append the spelling of bytes [n], UTF-8. */
void lm_bytes_spell(const char *bytes, size_t n, struct kg_buf *out);
/* Append the bytes that text spells. False: a character stands for no byte (out has the part
 * before it). */
bool lm_bytes_unspell(const char *text, size_t n, struct kg_buf *out);

#endif
