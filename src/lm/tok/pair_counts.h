/* How often each pair of neighbouring symbols occurs, in which words, and which is the most
 * frequent: the working memory of bpe_train.c. Not thread safe. */
#ifndef KG_LM_TOK_PAIR_COUNTS_H
#define KG_LM_TOK_PAIR_COUNTS_H

#include "base/err.h"

struct lm_pair {
    int32_t left, right;
    int64_t count;
    uint32_t *word; /* words that had the pair when it was counted; may repeat */
    size_t words, cap;
    bool changed; /* is in the list of pairs that grew */
};

struct lm_pair_top {
    int64_t count;
    int32_t left, right;
};

struct lm_pair_counts {
    struct lm_pair *pair; /* open hash table; left -1: free */
    size_t slots, n;
    struct lm_pair_top *heap; /* the most frequent first; entries may be out of date */
    size_t heap_n, heap_cap;
    struct lm_pair_top *grew;
    size_t grew_n, grew_cap;
};

/* Zeroed is empty. */
void lm_pair_counts_deinit(struct lm_pair_counts *c);
/* by may be negative; a positive one notes the word. False: memory. */
bool lm_pair_counts_add(struct lm_pair_counts *c, int32_t left, int32_t right, int64_t by,
                        uint32_t word);
/* Make what grew eligible for take. False: memory. */
bool lm_pair_counts_settle(struct lm_pair_counts *c);
/* The most frequent pair of at least min_count, which is no candidate afterwards; of equals the one
 * with the lower left, then right. Valid until the next add. NULL: none, or memory ran out. */
struct lm_pair *lm_pair_counts_take(struct lm_pair_counts *c, int64_t min_count);

#endif
