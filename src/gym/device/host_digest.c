/* The keyed digest of host memory. Its loops have constant lengths, so that the compiler turns them
 * into vector instructions. */
#include "gym/device/host_digest.h"

#include <string.h>

#define PRIME 0x9fb21c651e98df25u

void kg_host_digest_key_set(struct kg_host_digest_key *key, struct kg_key secret)
{
    struct kg_rng r;
    kg_rng_init(&r, secret, 0x6d6978);
    kg_rng_bytes(&r, key->w, sizeof key->w);
    kg_rng_deinit(&r);
}

void kg_host_digest_begin(struct kg_host_digest *m, const struct kg_host_digest_key *key)
{
    m->key = key;
    m->bytes = 0;
    memcpy(m->lane, key->w + KG_HOST_DIGEST_STRIPES, sizeof m->lane);
}

/* Adds one stripe of 64 bytes to the lanes. */
static inline void stripe(uint64_t lane[KG_HOST_DIGEST_LANES],
                          const uint64_t w[KG_HOST_DIGEST_LANES], const uint64_t *key)
{
    for (int k = 0; k < KG_HOST_DIGEST_LANES; k++) {
        uint64_t d = w[k] ^ key[k];
        lane[k] += (d & 0xffffffff) * (d >> 32) + w[k ^ 1];
    }
}

/* Mixes the lanes after each block. Without it, blocks could be exchanged unnoticed. */
static inline void scramble(uint64_t lane[KG_HOST_DIGEST_LANES], const uint64_t *key)
{
    for (int k = 0; k < KG_HOST_DIGEST_LANES; k++) {
        uint64_t x = lane[k];
        lane[k] = (x ^ x >> 47 ^ key[k]) * PRIME;
    }
}

static void block(struct kg_host_digest *m, const unsigned char *p)
{
    const uint64_t *key = m->key->w;
    uint64_t lane[KG_HOST_DIGEST_LANES], w[KG_HOST_DIGEST_LANES];
    memcpy(lane, m->lane, sizeof lane);
    for (int s = 0; s < KG_HOST_DIGEST_STRIPES; s++) {
        memcpy(w, p + (size_t)s * sizeof w, sizeof w);
        stripe(lane, w, key + s);
    }
    scramble(lane, key + KG_HOST_DIGEST_STRIPES);
    memcpy(m->lane, lane, sizeof lane);
}

void kg_host_digest_add(struct kg_host_digest *m, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    size_t at = 0;
    m->bytes += n;
    for (; at + KG_HOST_DIGEST_BLOCK <= n; at += KG_HOST_DIGEST_BLOCK) {
        block(m, p + at);
    }
    if (at < n) { /* the length is hashed too, so padding differs from content of zeros */
        unsigned char rest[KG_HOST_DIGEST_BLOCK] = {0};
        memcpy(rest, p + at, n - at);
        block(m, rest);
    }
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

struct kg_digest kg_host_digest_end(const struct kg_host_digest *m)
{
    struct kg_digest d;
    const uint64_t *key = m->key->w;
    for (int h = 0; h < 2; h++) {
        uint64_t x = m->bytes * PRIME ^ key[h];
        for (int k = 0; k < KG_HOST_DIGEST_LANES; k += 2) {
            uint64_t a = m->lane[k] ^ key[2 * h + k + 4], b = m->lane[k + 1] ^ key[2 * h + k + 5];
            x = (x ^ x >> 32) * PRIME + fold(a, b);
        }
        d.w[h] = (x ^ x >> 29) * PRIME ^ x >> 31;
    }
    return d;
}
