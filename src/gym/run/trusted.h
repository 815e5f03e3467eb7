/* A trusted process of the gym's own: forked by the broker, pinned, confined, and driven by
 * messages over a socket pair. What it does with them is its own file's business. */
#ifndef KG_GYM_RUN_TRUSTED_H
#define KG_GYM_RUN_TRUSTED_H

#include <sys/types.h>

#include "base/err.h"

#define KG_TRUSTED_SOCKET 3
#define KG_TRUSTED_FDS    8 /* that one message may carry */

/* --- the child's side, in this order --- */
/* Dies with the broker; keeps the socket, as KG_TRUSTED_SOCKET, and standard error; default
 * signals, but deaf to the terminal's interrupt; name: of the process; role: of its log lines. */
void kg_trusted_enter(int sock, int cpu, pid_t broker, const char *name, const char *role);
/* The crypto library reads its configuration at first use: before files are out of reach. */
void kg_trusted_warm_up(void);
/* The judge's system calls and nothing else, for good; no core dumps. */
bool kg_trusted_confine(void);

/* --- both sides --- */
/* One message of at most cap bytes: its length, 0 at the end, -1 on error. *nfds descriptors, the
 * caller's now; more than KG_TRUSTED_FDS are never accepted. */
ssize_t kg_trusted_receive(int sock, void *buf, size_t cap, int fds[KG_TRUSTED_FDS], int *nfds);
bool kg_trusted_send(int sock, const void *msg, size_t n, const int *fds, int nfds);

/* --- the broker's side --- */
/* 1: something to read, or the end; 0: silence until deadline_ns (monotonic), or *cancelled. */
int kg_trusted_poll(int sock, int64_t deadline_ns, const volatile int *cancelled);
/* Kill, wait, close; *pid and *sock become -1. why: how it ended. */
void kg_trusted_reap(pid_t *pid, int *sock, char *why, size_t cap);

#endif
