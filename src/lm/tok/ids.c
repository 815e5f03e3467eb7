/* Doubling arrays of the same length. */
#include "lm/tok/ids.h"

#include <stdlib.h>
#include <string.h>

void lm_ids_init(struct lm_ids *ids)
{
    memset(ids, 0, sizeof *ids);
}

void lm_ids_deinit(struct lm_ids *ids)
{
    free(ids->id);
    free(ids->mask);
    memset(ids, 0, sizeof *ids);
}

void lm_ids_reset(struct lm_ids *ids)
{
    ids->n = 0;
    ids->failed = false;
}

static bool grow(struct lm_ids *ids, size_t n)
{
    size_t cap = ids->cap == 0 ? 64 : ids->cap;
    while (cap < n) {
        cap *= 2;
    }
    int32_t *id = realloc(ids->id, cap * sizeof *id);
    ids->id = id == NULL ? ids->id : id;
    uint8_t *mask = id == NULL ? NULL : realloc(ids->mask, cap);
    ids->mask = mask == NULL ? ids->mask : mask;
    ids->cap = mask == NULL ? ids->cap : cap;
    return mask != NULL;
}

void lm_ids_add(struct lm_ids *ids, const int32_t *id, size_t n)
{
    if (n == 0 || ids->failed) {
        return;
    }
    if (n > ids->cap - ids->n && !grow(ids, ids->n + n)) {
        ids->failed = true;
        return;
    }
    memcpy(ids->id + ids->n, id, n * sizeof *id);
    memset(ids->mask + ids->n, 0, n);
    ids->n += n;
}

void lm_ids_set_mask(struct lm_ids *ids, size_t from, bool counts)
{
    if (from < ids->n) {
        memset(ids->mask + from, counts, ids->n - from);
    }
}
