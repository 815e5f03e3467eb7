/* Starting a role of the pool: the program `kgym`, executed anew. */
#ifndef KG_GYM_POOL_SPAWN_H
#define KG_GYM_POOL_SPAWN_H

#include <sys/types.h>

#include "base/err.h"

/* The hidden commands of `kgym`. */
#define KG_ROLE_SUPERVISOR "pool-supervisor"
#define KG_ROLE_WORKER     "pool-worker"
#define KG_ROLE_REMOTE     "pool-remote" /* in the supervisor's place where a service judges */
/* Descriptors of a role. */
#define KG_ROLE_SOCKET 3 /* to whoever started it */
#define KG_ROLE_SHARED 4 /* of a worker: memory that all workers of a device share */

struct kg_role {
    const char *program, *name;
    int shared;       /* descriptor for KG_ROLE_SHARED; -1: none */
    bool own_session; /* no signals from the caller's terminal */
};

/* The role inherits standard error (/dev/null where the caller has none), the environment and the
 * working folder, its socket and nothing else: no other descriptor, no memory, no signal handler,
 * no blocked signal. posix_spawn: no code runs between fork and exec. *sock: the caller's end,
 * closed on exec. KG_E_HOST: the program can't be executed. Thread safe. */
enum kg_code kg_role_start(const struct kg_role *role, pid_t *pid, int *sock,
                           struct kg_err *err) KG_MUST_USE;

/* A caller may have closed 0, 1 or 2 and print to them all the same: a descriptor of the pool must
 * be none of them. Returns fd, or a copy above 2, closed on exec, in whose favour fd is closed; -1:
 * none is left (errno). */
int kg_fd_above_stdio(int fd);

/* The program to execute: wanted, else $KGYM_PROGRAM, else `kgym` beside the file that holds this
 * code (the library or an executable), in ../ or ../bin of it, else of $PATH. KG_E_HOST names what
 * was tried. */
enum kg_code kg_role_program(const char *wanted, char *out, size_t cap,
                             struct kg_err *err) KG_MUST_USE;

#endif
