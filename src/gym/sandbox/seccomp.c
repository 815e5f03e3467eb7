/* Filters of system calls. Each is a list of allowed calls. Other calls return EPERM, so that a C
 * library falls back instead of dying. A generated program is kept for the life of the process,
 * because generating costs 0.3 to 0.8 ms and loading 0.02 ms.
 * A runner lives for one candidate only, so its program is generated when kgym is built
 * (src/runner/seal/print.c). Therefore this file needs only declarations and seccomp_load.c. */
#include "gym/sandbox/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#define ARCH_GET_XCOMP_SUPP 0x1021
#define ARCH_GET_XCOMP_PERM 0x1022
#define ARCH_REQ_XCOMP_PERM 0x1023

/* Flags of clone that make a namespace. The last is CLONE_NEWTIME, which clone cannot take. */
#define CLONE_NAMESPACES                                                                           \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)
#define CLONE_OF_A_THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)
#define OPEN_THAT_WRITES                                                                           \
    (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY))

/* Calls for every confined process: memory, locks of threads, its own signals, clocks, its own
 * descriptors. */
static const int common[] = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(close),
    SCMP_SYS(close_range),
    SCMP_SYS(fstat),
    SCMP_SYS(lseek),
    SCMP_SYS(mmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(brk),
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigpending),
    SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(rt_sigsuspend),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(pause),
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(times),
    SCMP_SYS(getrusage),
    SCMP_SYS(getrandom),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(gettid),
    SCMP_SYS(getpgrp),
    SCMP_SYS(getpgid),
    SCMP_SYS(getsid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(getrlimit),
    SCMP_SYS(getcpu),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_get_priority_max),
    SCMP_SYS(sched_get_priority_min),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(mincore),
    SCMP_SYS(msync),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

/* Reading files that mounts or Landlock let it see. openat is allowed with conditions. */
static const int reading[] = {
    SCMP_SYS(pread64), SCMP_SYS(preadv),     SCMP_SYS(newfstatat), SCMP_SYS(stat),
    SCMP_SYS(lstat),   SCMP_SYS(access),     SCMP_SYS(faccessat),  SCMP_SYS(readlink),
    SCMP_SYS(getcwd),  SCMP_SYS(readlinkat),
};

/* Before exec: further calls of a compiler, an assembler, a linker, a shell and a starting
 * runner. */
static const int tools[] = {
    SCMP_SYS(open),
    SCMP_SYS(openat),
    SCMP_SYS(creat),
    SCMP_SYS(execve),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(wait4),
    SCMP_SYS(waitid),
    SCMP_SYS(pipe),
    SCMP_SYS(pipe2),
    SCMP_SYS(dup),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    SCMP_SYS(fcntl),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(select),
    SCMP_SYS(pselect6),
    SCMP_SYS(pwrite64),
    SCMP_SYS(pwritev),
    SCMP_SYS(ftruncate),
    SCMP_SYS(truncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(fadvise64),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    SCMP_SYS(rename),
    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(rmdir),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(umask),
    SCMP_SYS(chdir),
    SCMP_SYS(fchdir),
    SCMP_SYS(getdents64),
    SCMP_SYS(utimensat),
    SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),
    SCMP_SYS(ioctl),
    SCMP_SYS(kill),
    SCMP_SYS(tgkill),
    SCMP_SYS(tkill),
    SCMP_SYS(setsid),
    SCMP_SYS(setpgid),
    SCMP_SYS(getgroups),
    SCMP_SYS(getresuid),
    SCMP_SYS(getresgid),
    SCMP_SYS(alarm),
    SCMP_SYS(prlimit64),
    SCMP_SYS(setrlimit),
    SCMP_SYS(arch_prctl),
    SCMP_SYS(prctl),
    SCMP_SYS(seccomp),
    SCMP_SYS(madvise),
    SCMP_SYS(mlock),
    SCMP_SYS(munlock),
    SCMP_SYS(sched_setaffinity),
    SCMP_SYS(mbind),
};

/* The judge after its set-up: it uses descriptors that it has, and makes and seals memory. */
static const int judge[] = {
    SCMP_SYS(recvmsg),   SCMP_SYS(sendmsg),   SCMP_SYS(recvfrom), SCMP_SYS(sendto),
    SCMP_SYS(poll),      SCMP_SYS(ppoll),     SCMP_SYS(fcntl),    SCMP_SYS(memfd_create),
    SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(madvise),  SCMP_SYS(mlock),
    SCMP_SYS(munlock),   SCMP_SYS(pread64),   SCMP_SYS(pwrite64),
};

/* Newer forms of allowed calls. ENOSYS makes the C library use the old form. */
static const int absent[] = {
    SCMP_SYS(clone3),     SCMP_SYS(statx),       SCMP_SYS(openat2),
    SCMP_SYS(faccessat2), SCMP_SYS(futex_waitv),
};

static int add_all(scmp_filter_ctx ctx, uint32_t action, const int *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        /* A negative number: this architecture does not have the call. */
        int rc = calls[i] < 0 ? 0 : seccomp_rule_add(ctx, action, calls[i], 0);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int allow_if(scmp_filter_ctx ctx, int call, struct scmp_arg_cmp cmp)
{
    return call < 0 ? 0 : seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, call, 1, &cmp);
}

/* madvise but for MADV_REMOVE (punches holes into shared files), MADV_MERGEABLE (a channel between
 * processes) and the injection of hardware errors. */
static int allow_madvise(scmp_filter_ctx ctx)
{
    static const int advice[] = {MADV_NORMAL,
                                 MADV_RANDOM,
                                 MADV_SEQUENTIAL,
                                 MADV_WILLNEED,
                                 MADV_DONTNEED,
                                 MADV_FREE,
                                 MADV_HUGEPAGE,
                                 MADV_NOHUGEPAGE,
                                 MADV_DONTDUMP,
                                 MADV_DODUMP,
                                 20 /* COLD */,
                                 22 /* POPULATE_READ */,
                                 23 /* POPULATE_WRITE */};
    for (size_t i = 0; i < ARRAY_LEN(advice); i++) {
        int rc = allow_if(ctx, SCMP_SYS(madvise),
                          SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffffu, (scmp_datum_t)advice[i]));
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int allow_values(scmp_filter_ctx ctx, int call, const int *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int rc =
            allow_if(ctx, call, SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, (scmp_datum_t)values[i]));
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

/* raise() and abort(), never for another process; this one cannot fork. SIGCONT is left out,
 * because it would undo a stop that the broker has just sent. */
static int allow_raise(scmp_filter_ctx ctx, uint32_t pid)
{
    int rc = 0;
    for (unsigned sig = 1; rc == 0 && sig <= 64; sig++) {
        if (sig != SIGCONT) {
            rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 2,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, pid),
                                  SCMP_A2(SCMP_CMP_EQ, sig));
        }
    }
    return rc;
}

/* The sealed runner; the candidate is loaded under this filter. */
static int rules_sealed(scmp_filter_ctx ctx, uint32_t pid)
{
    static const int names[] = {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA};
    static const int vector_state[] = {ARCH_GET_XCOMP_SUPP, ARCH_GET_XCOMP_PERM,
                                       ARCH_REQ_XCOMP_PERM};
    int rc = add_all(ctx, SCMP_ACT_ALLOW, reading, ARRAY_LEN(reading));
    rc = rc ? rc : allow_madvise(ctx);
    rc =
        rc ? rc : allow_if(ctx, SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, OPEN_THAT_WRITES, 0));
    rc = rc ? rc : allow_if(ctx, SCMP_SYS(open), SCMP_A1(SCMP_CMP_MASKED_EQ, OPEN_THAT_WRITES, 0));
    rc = rc ? rc
            : allow_if(ctx, SCMP_SYS(clone),
                       SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_OF_A_THREAD | CLONE_NAMESPACES,
                               CLONE_OF_A_THREAD));
    rc = rc ? rc : allow_raise(ctx, pid);
    rc = rc ? rc : allow_values(ctx, SCMP_SYS(prctl), names, ARRAY_LEN(names));
    rc = rc ? rc : allow_values(ctx, SCMP_SYS(arch_prctl), vector_state, ARRAY_LEN(vector_state));
    /* Allows to read a limit, not to set one. */
    rc = rc ? rc : allow_if(ctx, SCMP_SYS(prlimit64), SCMP_A2(SCMP_CMP_EQ, 0));
    return rc;
}

/* Tools and the start of a runner; or a Python runner, which does not seal itself further. */
static int rules_tools(scmp_filter_ctx ctx, enum kg_filter which)
{
    bool python = which == KG_FILTER_PYTHON || which == KG_FILTER_CUDA;
    int rc = add_all(ctx, SCMP_ACT_ALLOW, reading, ARRAY_LEN(reading));
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(tools); i++) {
        bool other = tools[i] == SCMP_SYS(prctl) || tools[i] == SCMP_SYS(seccomp) ||
                     tools[i] == SCMP_SYS(sched_setaffinity);
        rc = python && other ? 0 : add_all(ctx, SCMP_ACT_ALLOW, &tools[i], 1);
    }
    rc = rc || !python ? rc : kg_seccomp_python(ctx, which == KG_FILTER_CUDA);
    return rc ? rc
              : allow_if(ctx, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NAMESPACES, 0));
}

/* Exports through a pipe, because libseccomp can only write to a descriptor. A program is far below
 * 64 KB. */
static int export_program(scmp_filter_ctx ctx, struct sock_fprog *out)
{
    enum { MOST = 4096 };
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    struct sock_filter *code = malloc(MOST * sizeof *code);
    int rc = code == NULL ? -ENOMEM : seccomp_export_bpf(ctx, ends[1]);
    close(ends[1]);
    size_t have = 0;
    while (rc == 0 && have < MOST * sizeof *code) {
        ssize_t n = read(ends[0], (char *)code + have, MOST * sizeof *code - have);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            rc = n < 0 ? -errno : 0;
            break;
        }
        have += (size_t)n;
    }
    close(ends[0]);
    if (rc != 0 || have == 0 || have == MOST * sizeof *code) {
        free(code);
        return rc != 0 ? rc : -E2BIG;
    }
    out->len = (unsigned short)(have / sizeof *code);
    out->filter = code;
    return 0;
}

static int generate(enum kg_filter which, uint32_t pid, struct sock_fprog *out)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (ctx == NULL) {
        return -ENOMEM;
    }
    int rc = add_all(ctx, SCMP_ACT_ALLOW, common, ARRAY_LEN(common));
    rc = rc ? rc : add_all(ctx, SCMP_ACT_ERRNO(ENOSYS), absent, ARRAY_LEN(absent));
    if (rc == 0 && which == KG_FILTER_SEALED) {
        rc = rules_sealed(ctx, pid);
    } else if (rc == 0 && which == KG_FILTER_JUDGE) {
        rc = add_all(ctx, SCMP_ACT_ALLOW, judge, ARRAY_LEN(judge));
    } else if (rc == 0) {
        rc = rules_tools(ctx, which);
    }
    rc = rc ? rc : export_program(ctx, out);
    seccomp_release(ctx);
    return rc;
}

int kg_seccomp_program(enum kg_filter which, const struct sock_fprog **out)
{
    static struct sock_fprog cached[KG_FILTER_COUNT];
    if (cached[which].filter == NULL) {
        int rc = generate(which, (uint32_t)getpid(), &cached[which]);
        if (rc != 0) {
            return rc;
        }
    }
    *out = &cached[which];
    return 0;
}

int kg_seccomp_sealed_for(uint32_t pid, struct sock_fprog *out)
{
    return generate(KG_FILTER_SEALED, pid, out);
}

static int seal(enum kg_filter which)
{
    const struct sock_fprog *program;
    int rc = kg_seccomp_program(which, &program);
    return rc != 0 ? rc : kg_seccomp_seal(program);
}

int kg_seccomp_run(void)
{
    return seal(KG_FILTER_SEALED);
}

int kg_seccomp_profile(enum kg_profile profile)
{
    return seal(profile == KG_PROFILE_JUDGE ? KG_FILTER_JUDGE : KG_FILTER_TOOLS);
}
