/* A first-fit list of blocks over a range of offsets; see blocks.h. */
#include "probe/blocks.h"

#include <string.h>

static uint64_t up(uint64_t x)
{
    return (x + KG_BLOCKS_UNIT - 1) / KG_BLOCKS_UNIT * KG_BLOCKS_UNIT;
}

void kg_blocks_reset(struct kg_blocks *a, uint64_t from, uint64_t to)
{
    from = up(from);
    to = to / KG_BLOCKS_UNIT * KG_BLOCKS_UNIT;
    a->used = a->origin = 0;
    a->n = to > from ? 1 : 0;
    a->block[0] = (struct kg_block){from, to > from ? to - from : 0, false};
}

static void remove_at(struct kg_blocks *a, uint32_t i)
{
    memmove(&a->block[i], &a->block[i + 1], (a->n - i - 1) * sizeof a->block[0]);
    a->n--;
}

/* Splits entry i in two: its first bytes, and the rest. */
static void split(struct kg_blocks *a, uint32_t i, uint64_t bytes)
{
    struct kg_block *b = &a->block[i];
    memmove(b + 2, b + 1, (a->n - i - 1) * sizeof *b);
    b[1] = (struct kg_block){b->at + bytes, b->bytes - bytes, false};
    b->bytes = bytes;
    a->n++;
}

/* The first free block of so many bytes at or behind `from`; false: there is none. */
static bool take_from(struct kg_blocks *a, uint64_t from, uint64_t bytes, uint64_t *at)
{
    for (uint32_t i = 0; i < a->n; i++) {
        struct kg_block *b = &a->block[i];
        uint64_t before = from > b->at ? from - b->at : 0;
        bool room = !b->taken && b->bytes >= before && b->bytes - before >= bytes;
        bool exact = room && b->bytes - before == bytes;
        if (!room || a->n + (before > 0) + !exact > KG_BLOCKS_MOST) {
            continue;
        }
        if (before > 0) {
            split(a, i++, before);
        }
        if (!exact) {
            split(a, i, bytes);
        }
        a->block[i].taken = true;
        a->used += bytes;
        *at = a->block[i].at;
        return true;
    }
    return false;
}

bool kg_blocks_take(struct kg_blocks *a, uint64_t bytes, uint64_t *at)
{
    if (bytes > UINT64_MAX - KG_BLOCKS_UNIT) {
        return false;
    }
    bytes = bytes > 0 ? up(bytes) : KG_BLOCKS_UNIT;
    return take_from(a, up(a->origin), bytes, at) || take_from(a, 0, bytes, at);
}

bool kg_blocks_give(struct kg_blocks *a, uint64_t at)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->block[i].at != at || !a->block[i].taken) {
            continue;
        }
        a->block[i].taken = false;
        a->used -= a->block[i].bytes;
        if (i + 1 < a->n && !a->block[i + 1].taken) {
            a->block[i].bytes += a->block[i + 1].bytes;
            remove_at(a, i + 1);
        }
        if (i > 0 && !a->block[i - 1].taken) {
            a->block[i - 1].bytes += a->block[i].bytes;
            remove_at(a, i);
        }
        return true;
    }
    return false;
}
