/* Open addressing at half load. */
#include "lm/tok/intern.h"

#include <stdlib.h>
#include <string.h>

void lm_intern_init(struct lm_intern *t, size_t max_bytes)
{
    memset(t, 0, sizeof *t);
    kg_buf_init(&t->bytes, max_bytes);
}

void lm_intern_deinit(struct lm_intern *t)
{
    kg_buf_deinit(&t->bytes);
    free(t->end);
    free(t->slot);
    memset(t, 0, sizeof *t);
}

const char *lm_intern_get(const struct lm_intern *t, size_t i, size_t *len)
{
    size_t begin = i == 0 ? 0 : t->end[i - 1];
    *len = t->end[i] - begin;
    return t->bytes.data + begin;
}

static uint64_t hash_of(const char *bytes, size_t len)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ (unsigned char)bytes[i]) * 1099511628211u;
    }
    return h ^ h >> 32;
}

/* The slot of a string, or the free one where it belongs. */
static size_t slot_of(const struct lm_intern *t, const char *bytes, size_t len)
{
    size_t i = (size_t)hash_of(bytes, len) & (t->slots - 1);
    for (;; i = (i + 1) & (t->slots - 1)) {
        size_t have;
        if (t->slot[i] == 0) {
            return i;
        }
        const char *there = lm_intern_get(t, t->slot[i] - 1, &have);
        if (have == len && memcmp(there, bytes, len) == 0) {
            return i;
        }
    }
}

static bool grow(struct lm_intern *t)
{
    size_t cap = t->cap == 0 ? 256 : 2 * t->cap;
    if (cap > UINT32_MAX / 2) {
        return false;
    }
    size_t *end = realloc(t->end, cap * sizeof *end);
    if (end == NULL) {
        return false;
    }
    t->end = end;
    uint32_t *slot = calloc(2 * cap, sizeof *slot);
    if (slot == NULL) {
        return false;
    }
    free(t->slot);
    t->slot = slot;
    t->cap = cap;
    t->slots = 2 * cap;
    for (size_t i = 0; i < t->n; i++) {
        size_t len;
        const char *bytes = lm_intern_get(t, i, &len);
        t->slot[slot_of(t, bytes, len)] = (uint32_t)i + 1;
    }
    return true;
}

size_t lm_intern_put(struct lm_intern *t, const char *bytes, size_t len)
{
    if (t->n == t->cap && !grow(t)) {
        return SIZE_MAX;
    }
    size_t at = slot_of(t, bytes, len);
    if (t->slot[at] != 0) {
        return t->slot[at] - 1;
    }
    kg_buf_add(&t->bytes, bytes, len);
    if (!kg_buf_ok(&t->bytes)) {
        return SIZE_MAX;
    }
    t->end[t->n] = t->bytes.len;
    t->slot[at] = (uint32_t)++t->n;
    return t->n - 1;
}
