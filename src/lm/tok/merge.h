/* Byte-pair merging of one piece of text: the pair of neighbours with the lowest rank becomes one
 * symbol, the leftmost first among equals, until no pair has a rank.
 * Cost: O(n log n) for n symbols by a heap; a plain scan for few. */
#ifndef KG_LM_TOK_MERGE_H
#define KG_LM_TOK_MERGE_H

#include "base/err.h"

/* Merges by their pair of symbols: an open hash table. Read only after the last add: many threads
 * may look up. */
struct lm_merges {
    struct lm_merge_entry *entry;
    size_t slots, n;
};

/* Room for n merges. False: memory. */
bool lm_merges_init(struct lm_merges *m, size_t n);
void lm_merges_deinit(struct lm_merges *m);
/* rank: 0 is merged first. False: this pair is there already. At most the n of init. */
bool lm_merges_add(struct lm_merges *m, int32_t left, int32_t right, int32_t rank, int32_t id);
/* False: the pair does not merge. */
bool lm_merges_find(const struct lm_merges *m, int32_t left, int32_t right, int32_t *rank,
                    int32_t *id);

/* Working memory, kept from word to word; zeroed is empty. One thread at a time. */
struct lm_merge_room {
    int32_t *next, *prev;
    uint64_t *heap; /* rank << 32 | position of the left symbol */
    size_t cap, heap_n;
};

void lm_merge_room_deinit(struct lm_merge_room *room);
/* ids [*n] in place; *n becomes less or stays. At most 2^30 symbols. False: memory. */
bool lm_merge_word(const struct lm_merges *m, struct lm_merge_room *room, int32_t *ids, size_t *n);

#endif
