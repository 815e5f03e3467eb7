/* A table with open addressing that is at most half full. */
#include "rl/judge/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 2048 /* slots */

size_t *rl_index_slot(const struct rl_index *x, const char *key)
{
    char head[17];
    if (x->slots == 0) {
        return NULL;
    }
    snprintf(head, sizeof head, "%.16s", key);
    size_t at = (size_t)strtoull(head, NULL, 16) % x->slots;
    while (x->slot[at] > 0 && strcmp(x->key(x->owner, x->slot[at] - 1), key) != 0) {
        at = (at + 1) % x->slots;
    }
    return &x->slot[at];
}

bool rl_index_grow(struct rl_index *x, size_t n)
{
    if (2 * n < x->slots) {
        return true;
    }
    size_t slots = x->slots == 0 ? LEAST : 2 * x->slots;
    size_t *slot = calloc(slots, sizeof *slot);
    if (slot == NULL) {
        return false;
    }
    free(x->slot);
    x->slot = slot;
    x->slots = slots;
    for (size_t i = 0; i < n; i++) {
        *rl_index_slot(x, x->key(x->owner, i)) = i + 1;
    }
    return true;
}

void rl_index_clear(struct rl_index *x)
{
    if (x->slots > 0) {
        memset(x->slot, 0, x->slots * sizeof *x->slot);
    }
}

void rl_index_deinit(struct rl_index *x)
{
    free(x->slot);
    x->slot = NULL;
    x->slots = 0;
}
