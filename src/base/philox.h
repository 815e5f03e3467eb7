/* Philox4x32-10: 128 random bits from a 128-bit counter and a 64-bit key, without state.
 * Equal counter and key give equal bits on every machine and in every order of calls, so a draw
 * can be repeated after a crash. It is no secret generator: use base/rng.h against a candidate.
 * Pure; no allocation; thread safe.
 * Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3". */
#ifndef KG_BASE_PHILOX_H
#define KG_BASE_PHILOX_H

#include <stdint.h>

/* counter [4], key [2], out [4]: words in the paper's order, 10 rounds. out may be counter. */
void kg_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
