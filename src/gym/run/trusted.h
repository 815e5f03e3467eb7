/* A trusted process of the gym's own: forked by the broker, pinned, confined, and driven by
 * messages over a socket pair. What it does with them is its own file's business. */
#ifndef KG_GYM_RUN_TRUSTED_H
#define KG_GYM_RUN_TRUSTED_H

#include <sys/types.h>

#include "base/err.h"

#define KG_TRUSTED_SOCKET 3

/* --- the child's side, in this order --- */
/* Dies with the broker; keeps the socket, as KG_TRUSTED_SOCKET, and standard error; default
 * signals, but deaf to the terminal's interrupt; name: of the process; role: of its log lines. */
void kg_trusted_enter(int sock, int cpu, pid_t broker, const char *name, const char *role);
/* The crypto library reads its configuration at first use: before files are out of reach. */
void kg_trusted_warm_up(void);
/* The judge's system calls and nothing else, for good; no core dumps. */
bool kg_trusted_confine(void);

/* --- both sides --- */
/* Looks for something to read, without sleeping, for so long at most. */
void kg_trusted_spin(int sock, int64_t ns);

/* --- the broker's side --- */
/* As fork(): *pid is 0 in the child, which goes on to kg_trusted_enter; *sock is this side's end.
 * what: for messages. After an error both are -1. */
enum kg_code kg_trusted_fork(const char *what, pid_t *pid, int *sock,
                             struct kg_err *err) KG_MUST_USE;
/* 1: something to read, or the end; 0: silence until deadline_ns (monotonic), or *cancelled. */
int kg_trusted_poll(int sock, int64_t deadline_ns, const volatile int *cancelled);
/* Kill, wait, close; *pid and *sock become -1. why: how it ended. */
void kg_trusted_reap(pid_t *pid, int *sock, char *why, size_t cap);

#endif
