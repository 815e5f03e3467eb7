/* Calls that a Python runner may make in addition to those of tools: torch's threads and shared
 * memory, Triton's compiler runs, CUDA's descriptors and memory policies. Only socket pairs are
 * allowed, no socket that leads out. prctl is allowed in parts: otherwise a runner could drop its
 * parent-death signal and outlive the broker. */
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "gym/sandbox/seccomp.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

static const int calls[] = {
    SCMP_SYS(sendmsg),         SCMP_SYS(recvmsg),
    SCMP_SYS(sendto),          SCMP_SYS(recvfrom),
    SCMP_SYS(shutdown),        SCMP_SYS(getsockopt),
    SCMP_SYS(epoll_create1),   SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),      SCMP_SYS(epoll_pwait),
    SCMP_SYS(eventfd2),        SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime), SCMP_SYS(setitimer),
    SCMP_SYS(getitimer),       SCMP_SYS(timer_create),
    SCMP_SYS(timer_settime),   SCMP_SYS(timer_delete),
    SCMP_SYS(memfd_create),    SCMP_SYS(link),
    SCMP_SYS(linkat),          SCMP_SYS(symlink),
    SCMP_SYS(symlinkat),       SCMP_SYS(flock),
    SCMP_SYS(fsync),           SCMP_SYS(fdatasync),
    SCMP_SYS(sync_file_range), SCMP_SYS(sendfile),
    SCMP_SYS(copy_file_range), SCMP_SYS(get_mempolicy),
    SCMP_SYS(set_mempolicy),   SCMP_SYS(mlock2),
    SCMP_SYS(mlockall),        SCMP_SYS(munlockall),
    SCMP_SYS(membarrier),      SCMP_SYS(sched_setscheduler),
    SCMP_SYS(setpriority),     SCMP_SYS(getpriority),
    SCMP_SYS(capget),          SCMP_SYS(getdents),
    SCMP_SYS(get_robust_list),
};

static const int of_prctl[] = {
    PR_SET_NAME,         PR_GET_NAME,       PR_SET_VMA,         PR_GET_DUMPABLE,
    PR_GET_PDEATHSIG,    PR_CAPBSET_READ,   PR_GET_SECCOMP,     PR_GET_NO_NEW_PRIVS,
    PR_SET_NO_NEW_PRIVS, PR_GET_TIMERSLACK, PR_SET_THP_DISABLE, PR_GET_THP_DISABLE,
};

/* libcuda opens local sockets when it starts. Their file names lead only to what is shown. Abstract
 * names end at the network namespace, or at Landlock's scope. */
static const int local[] = {
    SCMP_SYS(bind),    SCMP_SYS(listen),      SCMP_SYS(accept),     SCMP_SYS(accept4),
    SCMP_SYS(connect), SCMP_SYS(getsockname), SCMP_SYS(setsockopt), SCMP_SYS(getpeername),
};

static int allow_local(void *ctx)
{
    int rc =
        seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
    for (size_t i = 0; rc == 0 && i < sizeof local / sizeof *local; i++) {
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, local[i], 0);
    }
    return rc;
}

/* Who chooses cores, for itself or for a thread that it makes, is told 0 and stays on the core that
 * kgym chose: on the others somebody else is timed. EPERM would end honest kernels, whose libraries
 * pin threads. kg_pyrunner_pin sets the core of a GPU's runner from outside. */
static int pretend_affinity(void *ctx)
{
    return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(0), SCMP_SYS(sched_setaffinity), 0);
}

int kg_seccomp_python(void *ctx, bool cuda)
{
    int rc = cuda ? allow_local(ctx) : 0;
    rc = rc ? rc : pretend_affinity(ctx);
    rc = rc ? rc
            : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
                               SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
    for (size_t i = 0; rc == 0 && i < sizeof calls / sizeof *calls; i++) {
        rc = calls[i] < 0 ? 0 : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
    }
    for (size_t i = 0; rc == 0 && i < sizeof of_prctl / sizeof *of_prctl; i++) {
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, (scmp_datum_t)of_prctl[i]));
    }
    return rc;
}
