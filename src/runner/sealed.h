/* The runner's filter of system calls, which src/runner/seal/print.c generates when kgym is built:
 * instructions, and the indices of those whose constant is the process's number. */
#ifndef KG_RUNNER_SEALED_H
#define KG_RUNNER_SEALED_H

#include <linux/filter.h>

extern const struct sock_filter kg_runner_sealed[];
extern const unsigned short kg_runner_sealed_len;
extern const unsigned short kg_runner_sealed_pids[];
extern const unsigned short kg_runner_sealed_npids;

#endif
