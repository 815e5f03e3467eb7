/* A direct-mapped table: one cache line or so for each word. */
#include "lm/tok/word_cache.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 65536, MAX_BYTES = 27, MAX_IDS = 8 };

struct slot {
    uint8_t len, n; /* len 0: free */
    char word[MAX_BYTES];
    int32_t ids[MAX_IDS];
};

struct lm_word_cache {
    struct slot slot[SLOTS];
};

struct lm_word_cache *lm_word_cache_create(void)
{
    return calloc(1, sizeof(struct lm_word_cache));
}

void lm_word_cache_destroy(struct lm_word_cache *c)
{
    free(c);
}

/* FNV-1a, folded */
static size_t place_of(const char *word, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ (unsigned char)word[i]) * 16777619u;
    }
    return (h ^ h >> 16) % SLOTS;
}

const int32_t *lm_word_cache_get(const struct lm_word_cache *c, const char *word, size_t len,
                                 size_t *n)
{
    if (len == 0 || len > MAX_BYTES) {
        return NULL;
    }
    const struct slot *s = &c->slot[place_of(word, len)];
    if (s->len != len || memcmp(s->word, word, len) != 0) {
        return NULL;
    }
    *n = s->n;
    return s->ids;
}

void lm_word_cache_put(struct lm_word_cache *c, const char *word, size_t len, const int32_t *ids,
                       size_t n)
{
    if (len == 0 || len > MAX_BYTES || n > MAX_IDS) {
        return;
    }
    struct slot *s = &c->slot[place_of(word, len)];
    s->len = (uint8_t)len;
    s->n = (uint8_t)n;
    memcpy(s->word, word, len);
    memcpy(s->ids, ids, n * sizeof *ids);
}
