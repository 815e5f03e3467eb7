/* Philox4x32-10: a counter-based generator. The same counter and key give the same four words on
 * any machine and in any order of calls, so a draw can be named instead of remembered. It is no
 * secret generator: base/rng.h is. No state, no allocation, thread safe. Source: Salmon, Moraes,
 * Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
#ifndef KG_BASE_PHILOX_H
#define KG_BASE_PHILOX_H

#include <stdint.h>

/* counter [4], key [2] -> out [4]; 10 rounds. out may be counter. */
void kg_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
