/* Start, confinement and end of trusted processes, and the waits on their sockets. */
#include "gym/run/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/rng.h"
#include "gym/sandbox/sandbox.h"

#define SLICE_MS 50   /* a request to cancel is noticed within this time */
#define MOST_MS  1000 /* and a pause of this process within this time */

enum kg_code kg_trusted_fork(const char *what, pid_t *pid, int *sock, struct kg_err *err)
{
    int pair[2];
    *pid = *sock = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        return kg_fail(err, KG_E_HOST, "no socket for %s: %s", what, strerror(errno));
    }
    *pid = fork();
    if (*pid < 0) {
        kg_fail(err, KG_E_HOST, "cannot fork %s: %s", what, strerror(errno));
        close(pair[0]);
        close(pair[1]);
        return err->code;
    }
    bool child = *pid == 0;
    *sock = pair[child];
    close(pair[!child]);
    return KG_OK;
}

static void keep_only(int sock)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
    }
    if (sock != KG_TRUSTED_SOCKET) {
        dup2(sock, KG_TRUSTED_SOCKET);
    }
    close_range(KG_TRUSTED_SOCKET + 1, ~0u, 0);
}

static void reset_signals(void)
{
    sigset_t none;
    for (int k = 1; k < NSIG; k++) {
        signal(k, SIG_DFL);
    }
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void pin(int cpu)
{
    cpu_set_t set;
    if (cpu >= 0) {
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
}

void kg_trusted_enter(int sock, int cpu, pid_t broker, const char *name, const char *role)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != broker) {
        _exit(1); /* the broker died before the line above */
    }
    prctl(PR_SET_NAME, name);
    kg_log_role(role);
    keep_only(sock);
    reset_signals();
    pin(cpu);
}

void kg_trusted_warm_up(void)
{
    struct kg_rng r;
    char hex[KG_SHA256_HEX];
    kg_rng_init(&r, kg_key_derive((struct kg_key){{0, 0}}, "warm up", 0), 0);
    (void)kg_rng_u64(&r);
    kg_rng_deinit(&r);
    kg_sha256_hex("", 0, hex);
}

bool kg_trusted_confine(void)
{
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return false;
    }
    return kg_seccomp_profile(KG_PROFILE_JUDGE) == 0;
}

void kg_trusted_spin(int sock, int64_t ns)
{
    struct pollfd p = {sock, POLLIN, 0};
    int64_t end = kg_clock_ns() + ns;
    while (poll(&p, 1, 0) == 0 && kg_clock_ns() < end) {
        __builtin_ia32_pause();
    }
}

int kg_trusted_poll(int sock, int64_t deadline_ns, const volatile int *cancelled)
{
    for (;;) {
        struct pollfd p = {sock, POLLIN, 0};
        int64_t now = kg_clock_ns(), left = (deadline_ns - now) / 1000000;
        int64_t slice = cancelled != NULL ? SLICE_MS : MOST_MS;
        int wait = (int)(left < slice ? left : slice);
        if (left <= 0 || (cancelled != NULL && *cancelled)) {
            return poll(&p, 1, 0) > 0;
        }
        if (poll(&p, 1, wait) > 0) {
            return 1;
        }
        deadline_ns += kg_clock_lost(now, (int64_t)wait * 1000000);
    }
}

void kg_trusted_reap(pid_t *pid, int *sock, char *why, size_t cap)
{
    int status = 0;
    pid_t got;
    kill(*pid, SIGKILL); /* it closed its socket, so it is dying or useless */
    do {
        got = waitpid(*pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    if (got == *pid && WIFSIGNALED(status)) {
        snprintf(why, cap, "killed by signal %d", WTERMSIG(status));
    } else if (got == *pid) {
        snprintf(why, cap, "exit status %d", WEXITSTATUS(status));
    } else {
        snprintf(why, cap, "reaped elsewhere");
    }
    close(*sock);
    *sock = -1;
    *pid = -1;
}
