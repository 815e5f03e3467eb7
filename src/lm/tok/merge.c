/* Symbols are a linked list over their first positions. An entry of the heap is stale when the pair
 * at its position has another rank now: ranks name pairs. */
#include "lm/tok/merge.h"

#include <stdlib.h>
#include <string.h>

enum { SCAN_BELOW = 16 };

struct lm_merge_entry {
    int32_t left, right, rank, id; /* rank -1: free */
};

bool lm_merges_init(struct lm_merges *m, size_t n)
{
    m->n = 0;
    m->slots = 16;
    while (m->slots < 2 * n) {
        m->slots *= 2;
    }
    m->entry = malloc(m->slots * sizeof *m->entry);
    for (size_t i = 0; m->entry != NULL && i < m->slots; i++) {
        m->entry[i].rank = -1;
    }
    return m->entry != NULL;
}

void lm_merges_deinit(struct lm_merges *m)
{
    free(m->entry);
    memset(m, 0, sizeof *m);
}

/* The slot that holds the pair, or the free one where it belongs. */
static struct lm_merge_entry *slot_of(const struct lm_merges *m, int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    size_t i = (size_t)(h >> 32) & (m->slots - 1);
    while (m->entry[i].rank >= 0 && (m->entry[i].left != left || m->entry[i].right != right)) {
        i = (i + 1) & (m->slots - 1);
    }
    return &m->entry[i];
}

bool lm_merges_add(struct lm_merges *m, int32_t left, int32_t right, int32_t rank, int32_t id)
{
    KG_ASSERT(2 * m->n < m->slots && rank >= 0);
    struct lm_merge_entry *e = slot_of(m, left, right);
    if (e->rank >= 0) {
        return false;
    }
    *e = (struct lm_merge_entry){left, right, rank, id};
    m->n++;
    return true;
}

bool lm_merges_find(const struct lm_merges *m, int32_t left, int32_t right, int32_t *rank,
                    int32_t *id)
{
    const struct lm_merge_entry *e = slot_of(m, left, right);
    *rank = e->rank;
    *id = e->id;
    return e->rank >= 0;
}

void lm_merge_room_deinit(struct lm_merge_room *room)
{
    free(room->next);
    free(room->prev);
    free(room->heap);
    memset(room, 0, sizeof *room);
}

static bool reserve(struct lm_merge_room *room, size_t n)
{
    if (n <= room->cap) {
        return true;
    }
    lm_merge_room_deinit(room);
    room->next = malloc(n * sizeof *room->next);
    room->prev = malloc(n * sizeof *room->prev);
    room->heap = malloc(3 * n * sizeof *room->heap); /* one at first, two more for each merge */
    room->cap = n;
    if (room->next == NULL || room->prev == NULL || room->heap == NULL) {
        lm_merge_room_deinit(room);
        return false;
    }
    return true;
}

static void push(struct lm_merge_room *room, uint64_t key)
{
    size_t i = room->heap_n++;
    while (i > 0 && room->heap[(i - 1) / 2] > key) {
        room->heap[i] = room->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    room->heap[i] = key;
}

static uint64_t pop(struct lm_merge_room *room)
{
    uint64_t top = room->heap[0], last = room->heap[--room->heap_n];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < room->heap_n) {
        child += child + 1 < room->heap_n && room->heap[child + 1] < room->heap[child];
        if (room->heap[child] >= last) {
            break;
        }
        room->heap[i] = room->heap[child];
        i = child;
    }
    room->heap[i] = last;
    return top;
}

static void push_pair(const struct lm_merges *m, struct lm_merge_room *room, const int32_t *ids,
                      int32_t at)
{
    int32_t rank, id;
    if (at >= 0 && room->next[at] >= 0 &&
        lm_merges_find(m, ids[at], ids[room->next[at]], &rank, &id)) {
        push(room, (uint64_t)(uint32_t)rank << 32 | (uint32_t)at);
    }
}

static void join(const struct lm_merges *m, struct lm_merge_room *room, int32_t *ids, int32_t at,
                 int32_t id)
{
    int32_t gone = room->next[at], after = room->next[gone];
    ids[at] = id;
    ids[gone] = -1; /* no pair begins here any more */
    room->next[at] = after;
    if (after >= 0) {
        room->prev[after] = at;
    }
    push_pair(m, room, ids, room->prev[at]);
    push_pair(m, room, ids, at);
}

static size_t merge_by_heap(const struct lm_merges *m, struct lm_merge_room *room, int32_t *ids,
                            size_t n)
{
    room->heap_n = 0;
    for (size_t i = 0; i < n; i++) {
        room->next[i] = i + 1 < n ? (int32_t)i + 1 : -1;
        room->prev[i] = (int32_t)i - 1;
    }
    for (size_t i = 0; i < n; i++) {
        push_pair(m, room, ids, (int32_t)i);
    }
    while (room->heap_n > 0) {
        uint64_t top = pop(room);
        int32_t at = (int32_t)(uint32_t)top, rank, id;
        if (ids[at] < 0 || room->next[at] < 0 ||
            !lm_merges_find(m, ids[at], ids[room->next[at]], &rank, &id) ||
            (uint64_t)rank != top >> 32) {
            continue;
        }
        join(m, room, ids, at, id);
    }
    size_t left = 0;
    for (int32_t i = 0; i >= 0; i = room->next[i]) {
        ids[left++] = ids[i];
    }
    return left;
}

static size_t merge_by_scan(const struct lm_merges *m, int32_t *ids, size_t n)
{
    for (;;) {
        int32_t best = INT32_MAX, best_id = -1, rank, id;
        size_t where = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            if (lm_merges_find(m, ids[i], ids[i + 1], &rank, &id) && rank < best) {
                best = rank;
                best_id = id;
                where = i;
            }
        }
        if (best_id < 0) {
            return n;
        }
        ids[where] = best_id;
        memmove(ids + where + 1, ids + where + 2, (n - where - 2) * sizeof *ids);
        n--;
    }
}

bool lm_merge_word(const struct lm_merges *m, struct lm_merge_room *room, int32_t *ids, size_t *n)
{
    KG_ASSERT(*n <= (size_t)1 << 30);
    if (*n < SCAN_BELOW) {
        *n = merge_by_scan(m, ids, *n);
        return true;
    }
    if (!reserve(room, *n)) {
        return false;
    }
    *n = merge_by_heap(m, room, ids, *n);
    return true;
}
