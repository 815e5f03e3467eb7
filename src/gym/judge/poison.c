/* Poison: a value in every element of an output before a call, by which unwritten elements are
 * found. */
#include <string.h>

#include "gym/judge/state.h"

#define RUN   4 /* so many neighbouring integers must hold the poison to count */
#define BLOCK 1024

/* Floats: a quiet NaN with a random payload, which arithmetic does not produce by chance. Its
 * lowest two bits are 01: neither the NaN of an invalid operation (payload 0) nor a mask of ones,
 * which a vector comparison makes, can be it. Integers: random, and far below any index or count.
 */
uint64_t kg_judge_poison_word(enum kg_dtype dtype, struct kg_key nonce, int arg)
{
    struct kg_rng r;
    kg_rng_init(&r, nonce, 1000 + (uint64_t)arg);
    uint64_t w = kg_rng_u64(&r);
    kg_rng_deinit(&r);
    switch (dtype) {
    case KG_F32:
        return (w & 0x803ffffd) | 0x7fc00001;
    case KG_F64:
        return (w & 0x8007fffffffffffd) | 0x7ff8000000000001;
    case KG_I32:
        return (w & 0x3fffffff) | 0x80000000;
    case KG_I64:
        return (w & 0x3fffffffffffffff) | 0x8000000000000000;
    }
    return w;
}

void kg_judge_poison_set(enum kg_dtype dtype, uint64_t word, void *dst, size_t n)
{
    if (kg_dtype_bytes(dtype) == 4) {
        uint32_t *d = dst, w = (uint32_t)word;
        for (size_t i = 0; i < n; i++) {
            d[i] = w;
        }
        return;
    }
    uint64_t *d = dst;
    for (size_t i = 0; i < n; i++) {
        d[i] = word;
    }
}

static bool holds(bool narrow, const void *src, size_t i, uint64_t word)
{
    return narrow ? ((const uint32_t *)src)[i] == (uint32_t)word
                  : ((const uint64_t *)src)[i] == word;
}

/* The length is constant, so the compiler vectorises the loop. */
static bool block_has(bool narrow, const void *src, size_t at, uint64_t word)
{
    uint32_t found = 0, w = (uint32_t)word;
    if (narrow) {
        const uint32_t *s = (const uint32_t *)src + at;
        for (int i = 0; i < BLOCK; i++) {
            found |= s[i] == w;
        }
        return found != 0;
    }
    const uint64_t *s = (const uint64_t *)src + at;
    uint64_t wide = 0;
    for (int i = 0; i < BLOCK; i++) {
        wide |= s[i] == word;
    }
    return wide != 0;
}

bool kg_judge_poison_copy(enum kg_dtype dtype, uint64_t word, void *dst, const void *src, size_t n)
{
    size_t bytes = kg_dtype_bytes(dtype), i = 0;
    bool narrow = bytes == 4, found = false;
    for (; n - i >= BLOCK; i += BLOCK) {
        memcpy((char *)dst + i * bytes, (const char *)src + i * bytes, BLOCK * bytes);
        found = block_has(narrow, dst, i, word) || found;
    }
    memcpy((char *)dst + i * bytes, (const char *)src + i * bytes, (n - i) * bytes);
    for (; i < n; i++) {
        found = holds(narrow, dst, i, word) || found;
    }
    return found;
}

uint64_t kg_judge_poison_count(enum kg_dtype dtype, uint64_t word, const void *src, size_t n,
                               uint64_t *first)
{
    bool narrow = kg_dtype_bytes(dtype) == 4, real = dtype == KG_F32 || dtype == KG_F64;
    size_t least = real ? 1 : n < RUN ? n : RUN, run = 0;
    uint64_t count = 0;
    *first = 0;
    for (size_t i = 0; i < n; i++) {
        if (run == 0 && i % BLOCK == 0 && n - i >= BLOCK && !block_has(narrow, src, i, word)) {
            i += BLOCK - 1;
            continue;
        }
        run = holds(narrow, src, i, word) ? run + 1 : 0;
        if (run >= least) {
            *first = count == 0 ? i + 1 - least : *first;
            count += run == least ? least : 1;
        }
    }
    return count;
}
