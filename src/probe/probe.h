/* libkgym_probe: what a Python runner calls through ctypes (harness/kgym_harness/probe.py) before
 * any code of a candidate runs: the steps of the sandbox, which are those of src/gym/sandbox, the
 * mapping of what it was given, the futexes of the control block. Needs the C library only; knows
 * nothing of Python. Functions return 0 or -errno; a step of the sandbox that fails does not
 * return: it tells the broker and ends the process. One thread. */
#ifndef KG_PROBE_PROBE_H
#define KG_PROBE_PROBE_H

#include <stdint.h>

#include "gym/tensor/tensor_wire.h"

#define KG_PROBE_API __attribute__((visibility("default")))

/* In the process between: leave for new namespaces; tell the broker who was born there. */
KG_PROBE_API int kg_probe_leave(int plan_fd, int ctl_fd);
KG_PROBE_API int kg_probe_born(int ctl_fd, int pid);
/* In the runner: the ladder. fds[i] becomes descriptor i, -1 /dev/null; all others are closed. */
KG_PROBE_API int kg_probe_climb(int plan_fd, int ctl_fd, const int *fds, int nfds);

/* what: 0 control block, 1 IN (read-only), 2 OUT. Maps all of fd at the address of gym/run/wire.h
 * and closes fd. Returns the address, *bytes its size; 0 with errno. Nothing is mapped, and the
 * address returned all the same, where it has no bytes. */
KG_PROBE_API uint64_t kg_probe_map(int what, int fd, uint64_t *bytes);
/* Fatal signals are noted in the control block before they kill. */
KG_PROBE_API int kg_probe_catch_faults(struct kg_twire *w);
/* Until *word differs from value; returns what it is then. */
KG_PROBE_API uint32_t kg_probe_wait(_Atomic uint32_t *word, uint32_t value);
/* Store and wake all who wait. */
KG_PROBE_API void kg_probe_post(_Atomic uint32_t *word, uint32_t value);

#endif
