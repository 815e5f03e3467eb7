/* SHA-256 (libcrypto) as lower-case hex, for content addresses and record identity. */
#ifndef KG_BASE_HASH_H
#define KG_BASE_HASH_H

#include "base/err.h"

#define KG_SHA256_HEX 65 /* 64 digits and NUL */

void kg_sha256_hex(const void *bytes, size_t n, char out[KG_SHA256_HEX]);

/* Hash of several parts, each preceded by its length so that no two splits collide. */
struct kg_sha256 {
    void *ctx;
};
void kg_sha256_begin(struct kg_sha256 *h);
void kg_sha256_part(struct kg_sha256 *h, const void *bytes, size_t n);
void kg_sha256_end(struct kg_sha256 *h, char out[KG_SHA256_HEX]); /* also frees */

#endif
