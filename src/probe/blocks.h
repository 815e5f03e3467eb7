/* Which parts of a range of offsets are taken: the bookkeeping of the allocator over OUT, without
 * any device. First fit in rising order; neighbours that are free become one; blocks are multiples
 * of KG_BLOCKS_UNIT. Holds KG_BLOCKS_MOST parts at most: a request beyond that is refused like one
 * that does not fit. PyTorch's caching allocator sits on top, so requests are few and large. */
#ifndef KG_PROBE_BLOCKS_H
#define KG_PROBE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define KG_BLOCKS_UNIT 512 /* what PyTorch rounds blocks to */
#define KG_BLOCKS_MOST 1024

struct kg_block {
    uint64_t at, bytes;
    bool taken;
};

struct kg_blocks {                         /* zeroed: empty, refuses everything */
    struct kg_block block[KG_BLOCKS_MOST]; /* rising, without gaps */
    uint32_t n;
    uint64_t used;
    uint64_t origin; /* 0 after a reset; may be changed at any time */
};

/* Forget everything; [from, to) is free, its ends rounded inwards. */
void kg_blocks_reset(struct kg_blocks *a, uint64_t from, uint64_t to);
/* False: no room. */
bool kg_blocks_take(struct kg_blocks *a, uint64_t bytes, uint64_t *at);
/* False: nothing taken begins there (a block of before a reset, or given twice). */
bool kg_blocks_give(struct kg_blocks *a, uint64_t at);

#endif
