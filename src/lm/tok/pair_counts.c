/* The heap is corrected when an entry comes up: one whose count has changed goes back. */
#include "lm/tok/pair_counts.h"

#include <stdlib.h>
#include <string.h>

void lm_pair_counts_deinit(struct lm_pair_counts *c)
{
    for (size_t i = 0; i < c->slots; i++) {
        free(c->pair[i].word);
    }
    free(c->pair);
    free(c->heap);
    free(c->grew);
    memset(c, 0, sizeof *c);
}

static struct lm_pair *slot_of(const struct lm_pair_counts *c, int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    size_t i = (size_t)(h >> 32) & (c->slots - 1);
    while (c->pair[i].left >= 0 && (c->pair[i].left != left || c->pair[i].right != right)) {
        i = (i + 1) & (c->slots - 1);
    }
    return &c->pair[i];
}

static bool grow_table(struct lm_pair_counts *c)
{
    struct lm_pair_counts more = *c;
    more.slots = c->slots == 0 ? 1024 : 2 * c->slots;
    more.pair = calloc(more.slots, sizeof *more.pair);
    if (more.pair == NULL) {
        return false;
    }
    for (size_t i = 0; i < more.slots; i++) {
        more.pair[i].left = -1;
    }
    for (size_t i = 0; i < c->slots; i++) {
        if (c->pair[i].left >= 0) {
            *slot_of(&more, c->pair[i].left, c->pair[i].right) = c->pair[i];
        }
    }
    free(c->pair);
    *c = more;
    return true;
}

static bool push_top(struct lm_pair_top **list, size_t *n, size_t *cap, struct lm_pair_top top)
{
    if (*n == *cap) {
        size_t more = *cap == 0 ? 256 : 2 * *cap;
        struct lm_pair_top *p = realloc(*list, more * sizeof *p);
        if (p == NULL) {
            return false;
        }
        *list = p;
        *cap = more;
    }
    (*list)[(*n)++] = top;
    return true;
}

static bool note_word(struct lm_pair *p, uint32_t word)
{
    if (p->words > 0 && p->word[p->words - 1] == word) {
        return true;
    }
    if (p->words == p->cap) {
        size_t more = p->cap == 0 ? 4 : 2 * p->cap;
        uint32_t *w = realloc(p->word, more * sizeof *w);
        if (w == NULL) {
            return false;
        }
        p->word = w;
        p->cap = more;
    }
    p->word[p->words++] = word;
    return true;
}

bool lm_pair_counts_add(struct lm_pair_counts *c, int32_t left, int32_t right, int64_t by,
                        uint32_t word)
{
    if (2 * c->n >= c->slots && !grow_table(c)) {
        return false;
    }
    struct lm_pair *p = slot_of(c, left, right);
    if (p->left < 0) {
        p->left = left;
        p->right = right;
        c->n++;
    }
    p->count += by;
    if (by <= 0) {
        return true;
    }
    if (!p->changed) {
        p->changed = true;
        struct lm_pair_top top = {.left = left, .right = right};
        if (!push_top(&c->grew, &c->grew_n, &c->grew_cap, top)) {
            return false;
        }
    }
    return note_word(p, word);
}

static bool before(const struct lm_pair_top *a, const struct lm_pair_top *b)
{
    return a->count != b->count ? a->count > b->count
           : a->left != b->left ? a->left < b->left
                                : a->right < b->right;
}

static bool push(struct lm_pair_counts *c, struct lm_pair_top top)
{
    if (!push_top(&c->heap, &c->heap_n, &c->heap_cap, top)) {
        return false;
    }
    size_t i = c->heap_n - 1;
    while (i > 0 && before(&top, &c->heap[(i - 1) / 2])) {
        c->heap[i] = c->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    c->heap[i] = top;
    return true;
}

static struct lm_pair_top pop(struct lm_pair_counts *c)
{
    struct lm_pair_top top = c->heap[0], last = c->heap[--c->heap_n];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < c->heap_n) {
        child += child + 1 < c->heap_n && before(&c->heap[child + 1], &c->heap[child]);
        if (!before(&c->heap[child], &last)) {
            break;
        }
        c->heap[i] = c->heap[child];
        i = child;
    }
    c->heap[i] = last;
    return top;
}

bool lm_pair_counts_settle(struct lm_pair_counts *c)
{
    bool ok = true;
    for (size_t i = 0; ok && i < c->grew_n; i++) {
        struct lm_pair *p = slot_of(c, c->grew[i].left, c->grew[i].right);
        p->changed = false;
        struct lm_pair_top top = {p->count, p->left, p->right};
        ok = p->count <= 0 || push(c, top);
    }
    c->grew_n = 0;
    return ok;
}

struct lm_pair *lm_pair_counts_take(struct lm_pair_counts *c, int64_t min_count)
{
    while (c->heap_n > 0) {
        struct lm_pair_top top = pop(c);
        struct lm_pair *p = slot_of(c, top.left, top.right);
        if (p->count == top.count) {
            return p->count >= min_count ? p : NULL;
        }
        top.count = p->count;
        if (top.count > 0 && !push(c, top)) {
            return NULL;
        }
    }
    return NULL;
}
