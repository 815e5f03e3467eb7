/* The first step of encoding: a regular expression cuts text into pieces, and no token crosses a
 * cut. The pattern is the one of the tokenizer.json, matched by PCRE2. Pieces are the matches and
 * what lies between them, so nothing is lost.
 * The tokenizers library matches with another engine, so only what both read alike is accepted, and
 * \s is written out: PCRE2's includes U+180E, the other's does not. A pattern is refused, by name,
 * if it has another escape than \p \P \s \S \d \D \r \n \t \x or one before punctuation, if it can
 * match the empty text, or if it has anchors, nested classes or named classes.
 * Not thread safe: one struct lm_presplit for each thread. */
#ifndef KG_LM_TOK_PRESPLIT_H
#define KG_LM_TOK_PRESPLIT_H

#include "base/buf.h"

#define LM_PRESPLIT_MAX_PATTERN 4096 /* bytes */

/* Of Qwen2, Qwen2.5 and Qwen3: words, single digits, runs of signs, line ends, spaces. */
extern const char lm_presplit_qwen[];
/* Of GPT-2, which a tokenizer.json means by ByteLevel with use_regex. */
extern const char lm_presplit_gpt2[];

struct lm_presplit;

/* *out is destroyed by the caller. source is for messages. INPUT: not a pattern, or refused. */
enum kg_code lm_presplit_create(const char *pattern, const char *source, struct lm_presplit **out,
                                struct kg_err *err) KG_MUST_USE;
void lm_presplit_destroy(struct lm_presplit *p); /* NULL is nothing */
/* The piece that begins at `at` < len ends before *end. text is valid UTF-8. LIMIT: the pattern
 * takes too long on this text. */
enum kg_code lm_presplit_next(struct lm_presplit *p, const char *text, size_t len, size_t at,
                              size_t *end, struct kg_err *err) KG_MUST_USE;
/* What PCRE2 gets for a pattern; for tests. INPUT as above. */
enum kg_code lm_presplit_rewrite(const char *pattern, const char *source, struct kg_buf *out,
                                 struct kg_err *err) KG_MUST_USE;

#endif
