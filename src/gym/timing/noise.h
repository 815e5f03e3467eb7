/* How well a host or a device keeps time: the result of a null test, the reference against itself
 * by the protocol that times candidates. */
#ifndef KG_GYM_TIMING_NOISE_H
#define KG_GYM_TIMING_NOISE_H

#include "gym/timing/stats.h"

struct kg_noise {
    struct kg_ratio ratio; /* 1 within its interval on a quiet host */
    int64_t k_ns, k_p10_ns, k_p90_ns, reference_ns;
    int64_t shortest_ns; /* T; 0: the caller knows it (a GPU) */
    const char *problem; /* borrowed, or static */
};

#endif
