/* Private to device/: the pattern of poison and guards on host memory. Pure. */
#ifndef KG_GYM_DEVICE_POISON_PATTERN_H
#define KG_GYM_DEVICE_POISON_PATTERN_H

#include "gym/device/device.h"

/* The word as bytes that start `by` places into it show it. */
uint64_t kg_pattern_phase(uint64_t word, unsigned by);
/* Both: the phase is that of the address. */
void kg_pattern_fill(void *dst, uint64_t bytes, uint64_t word);
bool kg_pattern_same(const void *p, uint64_t bytes, uint64_t word);

/* Elements that hold the pattern, over a tensor that comes in parts, each but the last a multiple
 * of 8 bytes; floating ones each, others in runs of at least 16 bytes or as a whole. */
struct kg_pattern {
    uint64_t word; /* phase 0 is the tensor's first byte */
    size_t size;   /* of an element */
    uint64_t least, run, count, n;
};
void kg_pattern_begin(struct kg_pattern *l, enum kg_tdtype dtype, uint64_t word);
void kg_pattern_add(struct kg_pattern *l, const void *part, size_t bytes);
uint64_t kg_pattern_end(const struct kg_pattern *l);

#endif
