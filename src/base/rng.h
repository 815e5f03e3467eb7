/* Keyed random bits: AES-128 in counter mode (libcrypto). A kernel cannot invert it, and the same
 * key and stream give the same bits anywhere, which is what replay needs. Secrets come from
 * kg_rng_secret(). Not thread safe per object. Cost: 0.2 ms per MB (AES-NI, 4.7 GB/s), a quarter of
 * it where the processor has VAES.
 * Source for the choice: a hash such as xorshift or Philox can be recomputed by a kernel in the
 * shadow of its own memory traffic; AES-CTR cannot without the key. */
#ifndef KG_BASE_RNG_H
#define KG_BASE_RNG_H

#include "base/aes_wide.h"
#include "base/err.h"

struct kg_key {
    uint64_t w[2];
};

struct kg_rng {
    void *ctx; /* of libcrypto; NULL: wide is used */
    struct kg_aes_wide wide;
    unsigned char block[512];
    size_t at; /* next unread byte of block */
};

/* stream separates independent sequences under one key. */
void kg_rng_init(struct kg_rng *r, struct kg_key key, uint64_t stream);
void kg_rng_deinit(struct kg_rng *r);
void kg_rng_bytes(struct kg_rng *r, void *out, size_t n);
uint64_t kg_rng_u64(struct kg_rng *r);
uint64_t kg_rng_below(struct kg_rng *r, uint64_t n); /* 0..n-1 without bias; n > 0 */
double kg_rng_unit(struct kg_rng *r);                /* [0,1), 53 bits */
/* The number of a random bit of all, which is not 0. None comes again before all have come: *dealt
 * keeps those that have, 0 at first. */
int kg_rng_deal(struct kg_rng *r, uint32_t all, uint32_t *dealt);
/* A subkey: same (key, label, number) -> same subkey; reveals nothing about key. */
struct kg_key kg_key_derive(struct kg_key key, const char *label, uint64_t number);
/* From the operating system; KG_E_HOST if it has none. */
enum kg_code kg_rng_secret(struct kg_key *out, struct kg_err *err) KG_MUST_USE;
void kg_key_hex(struct kg_key key, char out[33]);
bool kg_key_parse(const char *hex, struct kg_key *out); /* exactly 32 hex digits */

#endif
