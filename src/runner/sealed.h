/* The runner's system call filter, made when kgym is built (src/runner/seal/print.c): instructions,
 * and those of them whose constant is the number of the process. */
#ifndef KG_RUNNER_SEALED_H
#define KG_RUNNER_SEALED_H

#include <linux/filter.h>

extern const struct sock_filter kg_runner_sealed[];
extern const unsigned short kg_runner_sealed_len;
extern const unsigned short kg_runner_sealed_pids[];
extern const unsigned short kg_runner_sealed_npids;

#endif
