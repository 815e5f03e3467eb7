/* Private to device/: the digest of the host device.
 *
 * It is keyed with a secret that no runner sees, so two contents of the same length collide only by
 * chance (128 bits). Bytes come in any number of parts; each but the last must be a multiple of
 * KG_HOST_DIGEST_BLOCK. Cost: about the speed of memory. Pure functions.
 * Source of the step: the accumulator of XXH3 (multiply halves of data ^ key, add the data
 * crosswise). AES stretches the key. */
#ifndef KG_GYM_DEVICE_HOST_DIGEST_H
#define KG_GYM_DEVICE_HOST_DIGEST_H

#include "gym/device/device.h"

#define KG_HOST_DIGEST_LANES   8
#define KG_HOST_DIGEST_STRIPES 16
#define KG_HOST_DIGEST_BLOCK   (KG_HOST_DIGEST_LANES * 8 * KG_HOST_DIGEST_STRIPES)

struct kg_host_digest_key {
    uint64_t w[KG_HOST_DIGEST_LANES + KG_HOST_DIGEST_STRIPES + 4];
};

struct kg_host_digest {
    const struct kg_host_digest_key *key;
    uint64_t lane[KG_HOST_DIGEST_LANES];
    uint64_t bytes;
};

/* Order of calls: key_set once, then begin, add for each part, end. key must outlive the digest. */
void kg_host_digest_key_set(struct kg_host_digest_key *key, struct kg_key secret);
void kg_host_digest_begin(struct kg_host_digest *m, const struct kg_host_digest_key *key);
void kg_host_digest_add(struct kg_host_digest *m, const void *bytes, size_t n);
struct kg_digest kg_host_digest_end(const struct kg_host_digest *m);

#endif
