/* Loads a filter. This file is part of kgym, of the runner and of the probe. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gym/sandbox/seccomp.h"

/* TSYNC covers all threads. SPEC_ALLOW: without it, old kernels switch speculative stores off for
 * filtered tasks, and candidates would be timed slower than they are. */
int kg_seccomp_load(const struct sock_fprog *program)
{
    unsigned flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_TSYNC;
    long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    return rc == 0 ? 0 : rc > 0 ? -ESRCH : -errno; /* > 0: a thread could not follow */
}

int kg_seccomp_seal(const struct sock_fprog *program)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return -errno;
    }
    return kg_seccomp_load(program);
}
