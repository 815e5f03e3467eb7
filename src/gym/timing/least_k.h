/* The least K of a core, shared by all workers of this user on this host and kept until it boots.
 *
 * T is 20 times the least K. A worker that begins on a busy host would learn a large K, and a large
 * T would take rewards for speed away. So what any worker has seen on a quiet core counts for all.
 * The file lies beside the timing lease, one for each core. It is a memory and no more: where it
 * cannot be read or written, or holds something else, a worker's own K counts. */
#ifndef KG_GYM_TIMING_LEAST_K_H
#define KG_GYM_TIMING_LEAST_K_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No window of a call is shorter than the first, and no K larger than the second is of use (ns). */
#define KG_LEAST_K_MIN 100
#define KG_LEAST_K_MAX 1000000

/* Path of a core's file. cpu -1: any core. cold: calls with cold buffers have a K of their own. */
void kg_least_k_path(int cpu, bool cold, char *out, size_t cap);
/* The lesser of mine and what the file holds, both in ns; the file holds it afterwards. mine 0:
 * nothing is known yet. 0: neither is known. Waits for nobody longer than 10 ms. */
int64_t kg_least_k(const char *path, int64_t mine);

#endif
