/* Trusted processes of the gym: forked by the broker, pinned, confined, and driven by messages over
 * a socket pair. The judges are such processes. One thread. */
#ifndef KG_GYM_RUN_TRUSTED_H
#define KG_GYM_RUN_TRUSTED_H

#include <sys/types.h>

#include "base/err.h"

#define KG_TRUSTED_SOCKET 3

/* The child's side calls these three in this order. */
/* Takes the process over. It dies with the broker. It keeps only the socket, as KG_TRUSTED_SOCKET,
 * and standard error. Signals are as at start, but the terminal's interrupt is ignored. name: of
 * the process; role: of its log lines. */
void kg_trusted_enter(int sock, int cpu, pid_t broker, const char *name, const char *role);
/* Uses the crypto library once. Its first use reads a configuration file, which confinement
 * forbids. */
void kg_trusted_warm_up(void);
/* Allows the judge's system calls only, for good; no core dumps. False: the filter could not be
 * set. */
bool kg_trusted_confine(void);

/* Both sides. */
/* Polls for something to read, without sleeping, for ns at most. */
void kg_trusted_spin(int sock, int64_t ns);

/* The broker's side. */
/* As fork(): *pid is 0 in the child, which goes on to kg_trusted_enter. *sock is this side's end.
 * what: for messages. After an error both are -1. KG_E_HOST: no process or socket. */
enum kg_code kg_trusted_fork(const char *what, pid_t *pid, int *sock,
                             struct kg_err *err) KG_MUST_USE;
/* Waits. 1: something to read, or the end; 0: nothing until deadline_ns (monotonic), or
 * *cancelled. A pause of this process moves the deadline. */
int kg_trusted_poll(int sock, int64_t deadline_ns, const volatile int *cancelled);
/* Kills and reaps the process, closes the socket; *pid and *sock become -1. why [cap]: how it
 * ended. */
void kg_trusted_reap(pid_t *pid, int *sock, char *why, size_t cap);

#endif
