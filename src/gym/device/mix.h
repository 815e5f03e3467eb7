/* Private to device/: the digest of the host device. Keyed with a secret that no runner sees; two
 * contents of the same length collide by chance only (128 bits). Source for the step: the
 * accumulator of XXH3 (multiply halves of data ^ key, add the data crosswise), with the key
 * stretched by AES. Bytes come in any number of parts, each but the last a multiple of
 * KG_MIX_BLOCK. Cost: about the speed of memory. */
#ifndef KG_GYM_DEVICE_MIX_H
#define KG_GYM_DEVICE_MIX_H

#include "gym/device/device.h"

#define KG_MIX_LANES   8
#define KG_MIX_STRIPES 16
#define KG_MIX_BLOCK   (KG_MIX_LANES * 8 * KG_MIX_STRIPES)

struct kg_mix_key {
    uint64_t w[KG_MIX_LANES + KG_MIX_STRIPES + 4];
};

struct kg_mix {
    const struct kg_mix_key *key;
    uint64_t lane[KG_MIX_LANES];
    uint64_t bytes;
};

void kg_mix_key_set(struct kg_mix_key *key, struct kg_key secret);
void kg_mix_begin(struct kg_mix *m, const struct kg_mix_key *key);
void kg_mix_add(struct kg_mix *m, const void *bytes, size_t n);
struct kg_digest kg_mix_end(const struct kg_mix *m);

#endif
