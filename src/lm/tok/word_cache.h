/* Words that were encoded lately and their ids: most words of a text come again. A word has one
 * place, and a newer word takes it. Not thread safe. */
#ifndef KG_LM_TOK_WORD_CACHE_H
#define KG_LM_TOK_WORD_CACHE_H

#include "base/err.h"

struct lm_word_cache;

/* NULL: memory. About 4 MB. */
struct lm_word_cache *lm_word_cache_create(void);
void lm_word_cache_destroy(struct lm_word_cache *c); /* NULL is nothing */
/* The ids of word [len], *n of them; NULL: not there. They live until the next put. */
const int32_t *lm_word_cache_get(const struct lm_word_cache *c, const char *word, size_t len,
                                 size_t *n);
/* Keeps short words only: of at most 27 bytes and 8 ids. */
void lm_word_cache_put(struct lm_word_cache *c, const char *word, size_t len, const int32_t *ids,
                       size_t n);

#endif
