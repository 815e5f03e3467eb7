/* Putting a filter in force. Compiled into kgym and into the runner. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gym/sandbox/seccomp.h"

/* TSYNC: all threads. SPEC_ALLOW: old kernels otherwise switch speculative stores off for filtered
 * tasks, and a kernel would be timed slower than its users would see it. */
int kg_seccomp_load(const struct sock_fprog *program)
{
    unsigned flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_TSYNC;
    long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    return rc == 0 ? 0 : rc > 0 ? -ESRCH : -errno; /* > 0: a thread that could not follow */
}

int kg_seccomp_seal(const struct sock_fprog *program)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return -errno;
    }
    return kg_seccomp_load(program);
}
