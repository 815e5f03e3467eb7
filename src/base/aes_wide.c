/* AES-CTR with AVX-512 instructions (VAES): 4 blocks per register. rng.c uses it for long draws
 * where the processor has it. */
#include "base/aes_wide.h"

#include <string.h>

#if defined __x86_64__

#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

#define WIDE   __attribute__((target("aes,vaes,avx512f,avx512bw")))
#define ROUNDS 10
#define LANES  8 /* registers under way, 4 blocks each */

/* Not every compiler has a word for it. */
static bool has_vaes(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & bit_VAES);
}

/* A virtual machine takes 20 us and more for a CPUID, so the answer is kept. */
bool kg_aes_wide_there(void)
{
    static _Atomic int known; /* 0: not asked yet, 1: no, 2: yes */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        bool there = has_vaes() && __builtin_cpu_supports("avx512f") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("aes");
        answer = there ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

/* One step of the key schedule (FIPS 197, section 5.2); t: what aeskeygenassist made of key. */
WIDE static __m128i next_key(__m128i key, __m128i t)
{
    t = _mm_shuffle_epi32(t, 0xff);
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
    return _mm_xor_si128(key, t);
}

WIDE void kg_aes_wide_init(struct kg_aes_wide *a, const unsigned char key[16], uint64_t stream)
{
    __m128i k[ROUNDS + 1];
    k[0] = _mm_loadu_si128((const __m128i *)(const void *)key);
    k[1] = next_key(k[0], _mm_aeskeygenassist_si128(k[0], 0x01));
    k[2] = next_key(k[1], _mm_aeskeygenassist_si128(k[1], 0x02));
    k[3] = next_key(k[2], _mm_aeskeygenassist_si128(k[2], 0x04));
    k[4] = next_key(k[3], _mm_aeskeygenassist_si128(k[3], 0x08));
    k[5] = next_key(k[4], _mm_aeskeygenassist_si128(k[4], 0x10));
    k[6] = next_key(k[5], _mm_aeskeygenassist_si128(k[5], 0x20));
    k[7] = next_key(k[6], _mm_aeskeygenassist_si128(k[6], 0x40));
    k[8] = next_key(k[7], _mm_aeskeygenassist_si128(k[7], 0x80));
    k[9] = next_key(k[8], _mm_aeskeygenassist_si128(k[8], 0x1b));
    k[10] = next_key(k[9], _mm_aeskeygenassist_si128(k[9], 0x36));
    memcpy(a->round, k, sizeof a->round);
    a->stream = stream;
    a->number = 0;
}

/* Of blocks number .. number + 4 LANES - 1. */
WIDE __attribute__((always_inline)) static inline void
encrypt(const __m512i key[ROUNDS + 1], uint64_t stream, uint64_t number, __m512i out[LANES])
{
    const __m512i reverse =
        _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const long long s = (long long)stream, n = (long long)number;
    __m512i block = _mm512_set_epi64(s, n + 3, s, n + 2, s, n + 1, s, n);
    const __m512i four = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
#pragma GCC unroll 8
    for (int k = 0; k < LANES; k++) {
        out[k] = _mm512_xor_si512(_mm512_shuffle_epi8(block, reverse), key[0]);
        block = _mm512_add_epi64(block, four);
    }
#pragma GCC unroll 9
    for (int r = 1; r < ROUNDS; r++) {
#pragma GCC unroll 8
        for (int k = 0; k < LANES; k++) {
            out[k] = _mm512_aesenc_epi128(out[k], key[r]);
        }
    }
#pragma GCC unroll 8
    for (int k = 0; k < LANES; k++) {
        out[k] = _mm512_aesenclast_epi128(out[k], key[ROUNDS]);
    }
}

WIDE void kg_aes_wide_blocks(struct kg_aes_wide *a, unsigned char *out, size_t blocks)
{
    __m512i key[ROUNDS + 1], text[LANES];
    for (int r = 0; r <= ROUNDS; r++) {
        __m128i k;
        memcpy(&k, a->round[r], sizeof k);
        key[r] = _mm512_broadcast_i32x4(k);
    }
    while (blocks > 0) {
        size_t part = blocks < sizeof text / 16 ? blocks : sizeof text / 16;
        encrypt(key, a->stream, a->number, text);
        memcpy(out, text, part * 16);
        out += part * 16;
        a->number += part;
        blocks -= part;
    }
}

#else

bool kg_aes_wide_there(void)
{
    return false;
}

void kg_aes_wide_init(struct kg_aes_wide *a, const unsigned char key[16], uint64_t stream)
{
    (void)key;
    *a = (struct kg_aes_wide){.stream = stream};
}

void kg_aes_wide_blocks(struct kg_aes_wide *a, unsigned char *out, size_t blocks)
{
    (void)a;
    memset(out, 0, blocks * 16); /* never called */
}

#endif
