/* The filters, call by call, each in a process that seals itself. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "gym/sandbox/seccomp.h"

enum { ALLOWED = 0, PRETENDED = -1 };

struct call {
    const char *name;
    long number;
    long a[6];
    int want; /* errno, ALLOWED, or PRETENDED: 0, and nothing is done */
};

/* In a child: seal, make every call, report the first surprise through the exit status. */
static void expect_calls(int (*seal)(void), const struct call *calls, size_t n)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (seal() != 0) {
            _exit(255);
        }
        for (size_t i = 0; i < n; i++) {
            const struct call *c = &calls[i];
            errno = 0;
            long rc = syscall(c->number, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
            /* Allowed: whatever the kernel says, but not the filter's EPERM. */
            bool good = c->want == ALLOWED     ? rc >= 0 || (errno != EPERM && errno != ENOSYS)
                        : c->want == PRETENDED ? rc == 0
                                               : rc == -1 && errno == c->want;
            if (!good) {
                _exit((int)i + 1);
            }
        }
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        int i = WIFEXITED(status) ? WEXITSTATUS(status) - 1 : -1;
        fail_msg("call %s: status %x", i >= 0 && (size_t)i < n ? calls[i].name : "?", status);
    }
}

#define ALLOW(name, ...)                                                                           \
    {                                                                                              \
#name, SYS_##name, {__VA_ARGS__ }, ALLOWED                                                 \
    }
#define REFUSE(name, ...)                                                                          \
    {                                                                                              \
#name, SYS_##name, {__VA_ARGS__ }, EPERM                                                   \
    }
#define ABSENT(name, ...)                                                                          \
    {                                                                                              \
#name, SYS_##name, {__VA_ARGS__ }, ENOSYS                                                  \
    }

static void test_the_sealed_runner_can_compute(void **state)
{
    (void)state;
    static struct timespec t, none;
    static char buf[64];
    static uint32_t word = 1;
    const struct call calls[] = {
        ALLOW(mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        ALLOW(mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        ALLOW(brk, 0),
        ALLOW(futex, (long)&word, FUTEX_WAKE, 1),
        ALLOW(futex, (long)&word, FUTEX_WAIT, 0),
        ALLOW(clock_gettime, CLOCK_MONOTONIC, (long)&t),
        ALLOW(nanosleep, (long)&none, 0),
        ALLOW(sched_yield, 0),
        ALLOW(getpid, 0),
        ALLOW(gettid, 0),
        ALLOW(getrandom, (long)buf, 8, 0),
        ALLOW(openat, AT_FDCWD, (long)"/etc/ld.so.cache", O_RDONLY | O_CLOEXEC),
        ALLOW(newfstatat, AT_FDCWD, (long)"/", (long)buf, 0),
        ALLOW(write, 2, (long)"", 0),
        ALLOW(sched_getaffinity, 0, sizeof buf, (long)buf),
        ALLOW(prctl, PR_SET_NAME, (long)"kernel"),
        ALLOW(prlimit64, 0, RLIMIT_STACK, 0, (long)buf),
        ALLOW(rt_sigprocmask, SIG_BLOCK, 0, 0, 8),
        ALLOW(uname, (long)(char[400]){0}),
    };
    expect_calls(kg_seccomp_run, calls, sizeof calls / sizeof *calls);
}

static void test_the_sealed_runner_can_do_nothing_else(void **state)
{
    (void)state;
    static char buf[64];
    static struct rlimit limit = {1, 1};
    const long fork_flags = SIGCHLD;
    const struct call calls[] = {
        REFUSE(fork, 0),
        REFUSE(vfork, 0),
        REFUSE(clone, fork_flags),
        REFUSE(clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD),
        REFUSE(clone,
               CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_NEWNET),
        ABSENT(clone3, (long)buf, 64),
        REFUSE(execve, (long)"/bin/true", 0, 0),
        REFUSE(execveat, -1, (long)"/bin/true", 0, 0, 0),
        REFUSE(openat, AT_FDCWD, (long)"/tmp/kgym-x", O_WRONLY | O_CREAT, 0600),
        REFUSE(openat, AT_FDCWD, (long)"/tmp", O_RDWR | O_TMPFILE, 0600),
        REFUSE(openat, AT_FDCWD, (long)"/dev/null", O_WRONLY),
        REFUSE(open, (long)"/dev/null", O_RDWR),
        REFUSE(unlink, (long)"/tmp/kgym-x"),
        REFUSE(ftruncate, 2, 0),
        REFUSE(pwrite64, 2, (long)buf, 1, 0),
        REFUSE(fallocate, 2, 0, 0, 1),
        REFUSE(socket, AF_UNIX, SOCK_STREAM, 0),
        REFUSE(socket, AF_INET, SOCK_STREAM, 0),
        REFUSE(socketpair, AF_UNIX, SOCK_STREAM, 0, (long)buf),
        REFUSE(sendmsg, 2, (long)buf, 0),
        REFUSE(ptrace, 0, 0, 0, 0),
        REFUSE(process_vm_readv, 1, 0, 0, 0, 0, 0),
        REFUSE(process_vm_writev, 1, 0, 0, 0, 0, 0),
        REFUSE(kill, 1, 0),
        REFUSE(tkill, 1, 0),
        REFUSE(tgkill, 1, 1, 0),
        REFUSE(pidfd_open, 1, 0),
        REFUSE(pidfd_send_signal, 0, 9, 0, 0),
        REFUSE(sched_setaffinity, 0, sizeof buf, (long)buf),
        REFUSE(sched_setscheduler, 0, 0, (long)buf),
        REFUSE(setpriority, 0, 0, -5),
        REFUSE(setrlimit, RLIMIT_CORE, (long)&limit),
        REFUSE(prlimit64, 0, RLIMIT_CORE, (long)&limit, 0),
        REFUSE(io_uring_setup, 1, (long)buf),
        REFUSE(perf_event_open, (long)buf, 0, -1, -1, 0),
        REFUSE(bpf, 0, (long)buf, 8),
        REFUSE(userfaultfd, 0),
        REFUSE(memfd_create, (long)"x", 0),
        REFUSE(timer_create, CLOCK_MONOTONIC, 0, (long)buf),
        REFUSE(setitimer, 0, (long)buf, 0),
        REFUSE(alarm, 1),
        REFUSE(timerfd_create, CLOCK_MONOTONIC, 0),
        REFUSE(eventfd2, 0, 0),
        REFUSE(shmget, 0, 4096, 0600),
        REFUSE(shmat, 0, 0, 0),
        REFUSE(msgget, 0, 0600),
        REFUSE(semget, 0, 1, 0600),
        REFUSE(mq_open, (long)"/x", 0),
        REFUSE(unshare, CLONE_NEWUSER),
        REFUSE(setns, 0, 0),
        REFUSE(mount, 0, (long)"/", 0, 0, 0),
        REFUSE(chroot, (long)"/"),
        REFUSE(setuid, 0),
        REFUSE(personality, 0),
        REFUSE(keyctl, 0, 0, 0, 0, 0),
        REFUSE(prctl, PR_SET_DUMPABLE, 1),
        REFUSE(prctl, PR_SET_PDEATHSIG, 0),
        REFUSE(prctl, PR_SET_SECCOMP, 2, (long)buf),
        REFUSE(seccomp, 1, 0, (long)buf),
        REFUSE(madvise, (long)buf, 4096, MADV_REMOVE),
        REFUSE(madvise, (long)buf, 4096, MADV_MERGEABLE),
        REFUSE(remap_file_pages, 0, 0, 0, 0, 0),
        REFUSE(getdents64, 0, (long)buf, 64),
        REFUSE(ioctl, 0, 0x5401, (long)buf),
        REFUSE(dup, 0),
        REFUSE(fcntl, 0, F_DUPFD, 0),
    };
    expect_calls(kg_seccomp_run, calls, sizeof calls / sizeof *calls);
}

/* Flags in the upper half of a register must not slip past a comparison, nor other numbers. */
static void test_upper_halves_and_foreign_numbers(void **state)
{
    (void)state;
    const long high = 1L << 40;
    const struct call calls[] = {
        REFUSE(openat, AT_FDCWD, (long)"/dev/null", high | O_WRONLY),
        REFUSE(prctl, high | PR_SET_DUMPABLE, 1),
        {"no such call", 1000, {0}, EPERM},
    };
    expect_calls(kg_seccomp_run, calls, sizeof calls / sizeof *calls);
}

static void *in_thread(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

/* As a kernel does it: through the C library, under the seal. */
static int sealed_threads_and_raise(void)
{
    int ran = 0;
    pthread_t t;
    signal(SIGUSR1, SIG_IGN);
    if (kg_seccomp_run() != 0 || pthread_create(&t, NULL, in_thread, &ran) != 0 ||
        pthread_join(t, NULL) != 0 || ran != 1 || raise(SIGUSR1) != 0) {
        return 1;
    }
    if (syscall(SYS_tgkill, getpid(), gettid(), SIGCONT) != -1 || errno != EPERM ||
        syscall(SYS_tgkill, getpid(), gettid(), SIGCONT | 1l << 32) != -1 || errno != EPERM) {
        return 4; /* it would take back the broker's stop */
    }
    if (fork() != -1 || errno != EPERM || system("true") == 0 || popen("true", "r") != NULL) {
        return 2;
    }
    return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == -1 ? 0 : 3; /* not even asking */
}

static void test_threads_work_and_processes_do_not(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(sealed_threads_and_raise());
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static int seal_judge(void)
{
    return kg_seccomp_profile(KG_PROFILE_JUDGE);
}

static void test_the_judge_talks_and_computes_only(void **state)
{
    (void)state;
    static char buf[64];
    const struct call calls[] = {
        ALLOW(memfd_create, (long)"x", 0),
        ALLOW(sendmsg, 2, (long)buf, 0),
        ALLOW(mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        REFUSE(openat, AT_FDCWD, (long)"/etc/passwd", O_RDONLY),
        REFUSE(execve, (long)"/bin/true", 0, 0),
        REFUSE(socket, AF_UNIX, SOCK_STREAM, 0),
        REFUSE(clone, SIGCHLD),
        REFUSE(kill, 1, 0),
        REFUSE(ptrace, 0, 0, 0, 0),
    };
    expect_calls(seal_judge, calls, sizeof calls / sizeof *calls);
}

static int seal_tools(void)
{
    return kg_seccomp_profile(KG_PROFILE_COMPILE);
}

static void test_tools_cannot_leave_their_namespaces(void **state)
{
    (void)state;
    static char buf[64];
    const struct call calls[] = {
        ALLOW(openat, AT_FDCWD, (long)"/dev/null", O_WRONLY),
        ALLOW(pipe2, (long)buf, 0),
        REFUSE(unshare, CLONE_NEWUSER),
        REFUSE(clone, CLONE_NEWUSER | SIGCHLD),
        ABSENT(clone3, (long)buf, 64),
        REFUSE(socket, AF_UNIX, SOCK_STREAM, 0),
        REFUSE(ptrace, 0, 0, 0, 0),
        REFUSE(mount, 0, (long)"/", 0, 0, 0),
        REFUSE(bpf, 0, (long)buf, 8),
        REFUSE(symlink, (long)"/etc/passwd", (long)"/tmp/kgym-x"),
        REFUSE(link, (long)"/etc/passwd", (long)"/tmp/kgym-x"),
        REFUSE(mknod, (long)"/tmp/kgym-x", S_IFIFO, 0),
    };
    expect_calls(seal_tools, calls, sizeof calls / sizeof *calls);
}

static int seal_python(void)
{
    const struct sock_fprog *program;
    return kg_seccomp_program(KG_FILTER_PYTHON, &program) != 0 || kg_seccomp_seal(program) != 0;
}

static int seal_cuda(void)
{
    const struct sock_fprog *program;
    return kg_seccomp_program(KG_FILTER_CUDA, &program) != 0 || kg_seccomp_seal(program) != 0;
}

/* It is told 0 for a set without a core, which the kernel refuses: nothing is done. */
static void test_python_asks_for_cores_in_vain(void **state)
{
    (void)state;
    static char none[128];
    const struct call calls[] = {
        {"sched_setaffinity", SYS_sched_setaffinity, {0, sizeof none, (long)none}, PRETENDED},
    };
    expect_calls(seal_python, calls, 1);
    expect_calls(seal_cuda, calls, 1);
}

/* What the build put into the runner is what this library says, but for the number of the process.
 */
static void test_the_runner_holds_this_filter(void **state)
{
    (void)state;
    char path[512], line[256];
    snprintf(path, sizeof path, "%s/runner-sealed.c", getenv("KGYM_BUILD"));
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    struct sock_fprog want;
    assert_int_equal(kg_seccomp_sealed_for(77, &want), 0);
    unsigned n = 0, own = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        unsigned code, jt, jf, k;
        if (sscanf(line, " {0x%x, %u, %u, 0x%x}", &code, &jt, &jf, &k) != 4) {
            continue;
        }
        assert_true(n < want.len);
        const struct sock_filter *w = &want.filter[n++];
        assert_true(code == w->code && jt == w->jt && jf == w->jf);
        own += k != w->k && w->k == 77;
        assert_true(k == w->k || w->k == 77);
    }
    fclose(f);
    assert_int_equal(n, want.len);
    assert_int_equal(own, 1);
    free(want.filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sealed_runner_can_compute),
        cmocka_unit_test(test_the_sealed_runner_can_do_nothing_else),
        cmocka_unit_test(test_upper_halves_and_foreign_numbers),
        cmocka_unit_test(test_threads_work_and_processes_do_not),
        cmocka_unit_test(test_the_judge_talks_and_computes_only),
        cmocka_unit_test(test_tools_cannot_leave_their_namespaces),
        cmocka_unit_test(test_python_asks_for_cores_in_vain),
        cmocka_unit_test(test_the_runner_holds_this_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
