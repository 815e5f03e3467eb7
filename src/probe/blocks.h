/* The book-keeping of the allocator over OUT, without any device: which parts of a range of offsets
 * are taken.
 *
 * First fit in rising order; free neighbours are joined; blocks are multiples of KG_BLOCKS_UNIT. It
 * holds KG_BLOCKS_MOST parts at most, and refuses a request beyond that like one that does not fit.
 * PyTorch's caching allocator uses it, so requests are few and large. Not thread safe. */
#ifndef KG_PROBE_BLOCKS_H
#define KG_PROBE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define KG_BLOCKS_UNIT 512 /* PyTorch rounds blocks to it */
#define KG_BLOCKS_MOST 1024

struct kg_block {
    uint64_t at, bytes;
    bool taken;
};

struct kg_blocks {                         /* zeroed: empty, refuses every request */
    struct kg_block block[KG_BLOCKS_MOST]; /* in rising order, without gaps */
    uint32_t n;
    uint64_t used;
    uint64_t origin; /* where the search begins; 0 after a reset; may be changed at any time */
};

/* Forgets everything; [from, to) is free, its ends rounded inwards. */
void kg_blocks_reset(struct kg_blocks *a, uint64_t from, uint64_t to);
/* Takes a block; *at: its offset. False: no room. */
bool kg_blocks_take(struct kg_blocks *a, uint64_t bytes, uint64_t *at);
/* Frees the block at an offset. False: none begins there (from before a reset, or freed twice). */
bool kg_blocks_give(struct kg_blocks *a, uint64_t at);

#endif
