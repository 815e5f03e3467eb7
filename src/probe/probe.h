/* libkgym_probe: functions that a Python runner calls through ctypes
 * (harness/kgym_harness/probe.py) before any code of a candidate runs.
 *
 * They take the steps of the sandbox (src/gym/sandbox), map the regions, and wait on the control
 * block's futexes. The library needs only the C library, and knows nothing of Python. Functions
 * return 0 or -errno. A failed step of the sandbox does not return: it tells the broker and ends
 * the process. One thread. */
#ifndef KG_PROBE_PROBE_H
#define KG_PROBE_PROBE_H

#include <stdint.h>

#include "gym/tensor/tensor_wire.h"

#define KG_PROBE_API __attribute__((visibility("default")))

/* In the child between: leave enters new namespaces; born tells the broker the program's pid. */
KG_PROBE_API int kg_probe_leave(int plan_fd, int ctl_fd);
KG_PROBE_API int kg_probe_born(int ctl_fd, int pid);
/* In the runner: takes the steps. fds[i] becomes descriptor i, -1 /dev/null; all others are
 * closed. */
KG_PROBE_API int kg_probe_climb(int plan_fd, int ctl_fd, const int *fds, int nfds);

/* Maps all of fd at the address that gym/run/wire.h gives, and closes fd. what: 0 control block, 1
 * IN (read-only), 2 OUT. Returns the address; *bytes: its size. 0: errno is set. An empty file is
 * not mapped, and the address is returned all the same. */
KG_PROBE_API uint64_t kg_probe_map(int what, int fd, uint64_t *bytes);
/* Notes fatal signals in the control block before they kill. */
KG_PROBE_API int kg_probe_catch_faults(struct kg_twire *w);
/* Waits until *word differs from value; returns the new value. */
KG_PROBE_API uint32_t kg_probe_wait(_Atomic uint32_t *word, uint32_t value);
/* Stores value and wakes all that wait. */
KG_PROBE_API void kg_probe_post(_Atomic uint32_t *word, uint32_t value);

#endif
