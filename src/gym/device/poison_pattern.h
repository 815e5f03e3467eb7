/* Private to device/: the pattern of poison and guards on host memory. Pure functions. */
#ifndef KG_GYM_DEVICE_POISON_PATTERN_H
#define KG_GYM_DEVICE_POISON_PATTERN_H

#include "gym/device/device.h"

/* The word as it appears at an address that is `by` modulo 8. */
uint64_t kg_pattern_phase(uint64_t word, unsigned by);
/* Fill, and compare: the byte at address a is byte (a & 7) of the word. */
void kg_pattern_fill(void *dst, uint64_t bytes, uint64_t word);
bool kg_pattern_same(const void *p, uint64_t bytes, uint64_t word);

/* Counts elements that hold the pattern. The tensor comes in parts, each but the last a multiple of
 * 8 bytes. Floating elements count each; others count in runs of at least 16 bytes, or where the
 * whole tensor is one run. */
struct kg_pattern {
    uint64_t word; /* in the phase of the tensor's first byte */
    size_t size;   /* of an element */
    uint64_t least, run, count, n;
};
void kg_pattern_begin(struct kg_pattern *l, enum kg_tdtype dtype, uint64_t word);
void kg_pattern_add(struct kg_pattern *l, const void *part, size_t bytes);
uint64_t kg_pattern_end(const struct kg_pattern *l);

#endif
