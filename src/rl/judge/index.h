/* Finds entries by their SHA-256: a hash table over entries that the owner keeps in an array. Plain
 * data; zero but for owner and key is an empty index. Not thread safe. */
#ifndef KG_RL_JUDGE_INDEX_H
#define KG_RL_JUDGE_INDEX_H

#include <stdbool.h>
#include <stddef.h>

struct rl_index {
    const void *owner;
    const char *(*key)(const void *owner, size_t i); /* of entry i, in hexadecimal */
    size_t *slot;                                    /* [slots] entry + 1; 0: free */
    size_t slots;
};

/* Makes room for entry n, once there are entries 0 to n - 1. False: memory; nothing is changed. */
bool rl_index_grow(struct rl_index *x, size_t n);
/* Where the number of this entry + 1 stands, or belongs where it is 0; NULL before the first
 * rl_index_grow. Valid until the next one. */
size_t *rl_index_slot(const struct rl_index *x, const char *key);
void rl_index_clear(struct rl_index *x); /* no entries; room stays */
void rl_index_deinit(struct rl_index *x);

#endif
