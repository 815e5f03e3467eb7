/* Writes, checks and counts the pattern of poison and guards in host memory. */
#include "gym/device/poison_pattern.h"

#include <string.h>

#define BLOCK 256 /* words */
#define RUN   16  /* bytes */

uint64_t kg_pattern_phase(uint64_t word, unsigned by)
{
    unsigned bits = by % 8 * 8;
    return bits == 0 ? word : word >> bits | word << (64 - bits);
}

void kg_pattern_fill(void *dst, uint64_t bytes, uint64_t word)
{
    uint64_t w = kg_pattern_phase(word, (unsigned)((uintptr_t)dst & 7)), i = 0;
    unsigned char *p = dst;
    for (; i + 8 <= bytes; i += 8) {
        memcpy(p + i, &w, 8);
    }
    memcpy(p + i, &w, (size_t)(bytes - i));
}

bool kg_pattern_same(const void *src, uint64_t bytes, uint64_t word)
{
    uint64_t w = kg_pattern_phase(word, (unsigned)((uintptr_t)src & 7)), i = 0, unlike = 0, x = w;
    const unsigned char *p = src;
    for (; i + 8 <= bytes; i += 8) {
        memcpy(&x, p + i, 8);
        unlike |= x ^ w;
    }
    x = w;
    memcpy(&x, p + i, (size_t)(bytes - i));
    return (unlike | (x ^ w)) == 0;
}

void kg_pattern_begin(struct kg_pattern *l, enum kg_tdtype dtype, uint64_t word)
{
    *l = (struct kg_pattern){.word = word, .size = kg_tdtype_bytes(dtype)};
    l->least = kg_tdtype_floating(dtype) ? 1 : RUN / l->size;
}

/* True if any element of the block may hold the pattern. It searches a zero lane in data ^ word,
 * all lanes at once. A borrow between lanes can cause a false yes, never a false no. */
static bool block_has(const unsigned char *p, uint64_t word, size_t size)
{
    uint64_t low = size == 1   ? 0x0101010101010101u
                   : size == 2 ? 0x0001000100010001u
                   : size == 4 ? 0x0000000100000001u
                               : 1;
    uint64_t high = low << (size * 8 - 1), found = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        uint64_t x;
        memcpy(&x, p + i * 8, 8);
        x ^= word;
        found |= (x - low) & ~x & high;
    }
    return found != 0;
}

/* Counts one element; integers count once their run is long enough. */
static void one(struct kg_pattern *l, const unsigned char *p, size_t at)
{
    uint64_t want = kg_pattern_phase(l->word, (unsigned)(at & 7));
    l->n++;
    if (memcmp(p + at, &want, l->size) != 0) {
        l->run = 0;
        return;
    }
    l->run++;
    l->count += l->run == l->least ? l->least : l->run > l->least ? 1 : 0;
}

void kg_pattern_add(struct kg_pattern *l, const void *part, size_t bytes)
{
    const unsigned char *p = part;
    for (size_t at = 0; at < bytes; at += l->size) {
        bool whole = at % (BLOCK * 8) == 0 && bytes - at >= BLOCK * 8;
        if (whole && !block_has(p + at, l->word, l->size)) {
            l->n += BLOCK * 8 / l->size;
            l->run = 0;
            at += BLOCK * 8 - l->size;
            continue;
        }
        one(l, p, at);
    }
}

uint64_t kg_pattern_end(const struct kg_pattern *l)
{
    return l->run == l->n && l->run < l->least ? l->n : l->count;
}
