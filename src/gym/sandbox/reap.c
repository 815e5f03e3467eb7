/* How a confined program ends: waiting, stopping, killing, and telling the kinds of death apart. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "gym/sandbox/cgroup.h"
#include "gym/sandbox/plan.h"

/* Limits of the wait for a stop. Where no filter forbids it, a process can undo a stop by sending
 * itself SIGCONT. It is given up when it has used so much CPU time in spite of the stop. A process
 * that gets no CPU is waited for, up to the second limit. */
#define STOP_CPU_NS     100000000
#define STOP_TIMEOUT_NS 10000000000
#define KILL_TIMEOUT_NS 5000000000 /* a killed task that stays hangs in the kernel */

/* Pauses between two checks whether it has stopped. They grow. On a busy CPU that both share, a
 * broker that woke every 60 us kept the process from running, and so from stopping, for up to 2.6
 * s. */
#define LOOK_LEAST_NS 10000
#define LOOK_MOST_NS  2000000

static bool has(const struct kg_sandbox *s, uint32_t step)
{
    return (s->isolation.has & step) != 0;
}

static int64_t cpu_of(const struct rusage *ru)
{
    int64_t us = ((int64_t)ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * 1000000 +
                 ru->ru_utime.tv_usec + ru->ru_stime.tv_usec;
    return us * 1000;
}

static void classify(struct kg_sandbox *s, int status, const struct rusage *ru)
{
    struct kg_exit *e = &s->exit;
    struct kg_cgroup_use use = kg_cgroup_read(s);
    bool killed = e->kind == KG_EXIT_KILLED;
    e->cpu_ns = use.cpu_ns >= 0 ? use.cpu_ns : cpu_of(ru);
    e->peak_bytes = use.peak_bytes >= 0 ? use.peak_bytes : (int64_t)ru->ru_maxrss * 1024;
    bool by_signal = WIFSIGNALED(status);
    e->code = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
    bool sigkill = by_signal ? e->code == SIGKILL : e->code == 128 + SIGKILL;
    if (use.oom && sigkill) {
        e->kind = KG_EXIT_OOM;
    } else if (killed && sigkill) {
        e->kind = KG_EXIT_KILLED;
    } else {
        e->kind = by_signal ? KG_EXIT_SIGNAL : KG_EXIT_CODE;
    }
    /* Pid 1 ignores SIGXCPU, so the hard limit's SIGKILL ends it. The kernel counts the limit in
     * ticks, which run ahead of rusage on a busy machine; hence half the limit. Otherwise only a
     * host without memory sends SIGKILL. */
    if (e->kind == KG_EXIT_SIGNAL && sigkill && s->cpu_limit_ns > 0 &&
        cpu_of(ru) >= s->cpu_limit_ns / 2) {
        e->code = SIGXCPU;
    }
}

bool kg_sandbox_poll(struct kg_sandbox *s)
{
    if (s->pid <= 0) {
        return true;
    }
    /* While it is a zombie, its number and that of its process group cannot be reused. */
    siginfo_t si = {0};
    if (!has(s, KG_STEP_PIDNS) && has(s, KG_STEP_SESSION) &&
        waitid(P_PID, (id_t)s->pid, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid != 0) {
        kill(-s->pid, SIGKILL);
    }
    int status = 0;
    struct rusage ru;
    memset(&ru, 0, sizeof ru);
    pid_t got = wait4(s->pid, &status, WNOHANG, &ru);
    if (got == 0 || (got < 0 && errno == EINTR)) {
        return false;
    }
    if (got < 0) { /* it was reaped elsewhere, so nothing is known */
        s->exit.kind = KG_EXIT_KILLED;
        s->exit.code = SIGKILL;
    } else {
        classify(s, status, &ru);
    }
    s->pid = -1;
    s->stopped = false;
    return true;
}

bool kg_sandbox_wait(struct kg_sandbox *s, int64_t deadline_ns)
{
    while (!kg_sandbox_poll(s)) {
        int64_t left = deadline_ns - kg_clock_ns();
        if (left <= 0) {
            return false;
        }
        /* Without a pidfd, check every 2 ms. */
        int64_t most = s->pidfd >= 0 ? 1000000000 : 2000000;
        left = left > most ? most : left;
        struct timespec t = {left / 1000000000, left % 1000000000};
        struct pollfd p = {.fd = s->pidfd, .events = POLLIN};
        ppoll(&p, 1, &t, NULL);
    }
    return true;
}

/* A sealed runner cannot fork, so stopping one process stops everything. */
static bool needs_freezer(const struct kg_sandbox *s)
{
    return s->profile != KG_PROFILE_RUN || !has(s, KG_STEP_SECCOMP);
}

/* Waits until it has stopped or ended, as *si says, or is given up. */
static bool stop(pid_t pid, siginfo_t *si)
{
    int64_t worked = kg_cgroup_cpu_of(pid), until = kg_clock_ns() + STOP_TIMEOUT_NS;
    int64_t look = LOOK_LEAST_NS;
    while (kill(pid, SIGSTOP) == 0) {
        if (waitid(P_PID, (id_t)pid, si, WSTOPPED | WEXITED | WNOWAIT | WNOHANG) == 0 &&
            si->si_pid != 0) {
            return true;
        }
        if (kg_clock_ns() > until || kg_cgroup_cpu_of(pid) - worked > STOP_CPU_NS) {
            return false;
        }
        /* On one core the process needs this core to stop. */
        nanosleep(&(struct timespec){0, look}, NULL);
        look = look < LOOK_MOST_NS ? look + look / 2 : look;
    }
    return false;
}

bool kg_sandbox_freeze(struct kg_sandbox *s)
{
    siginfo_t si = {0};
    if (s->stopped) {
        return true; /* a second stop is not reported, so waiting would never end */
    }
    if (s->pid <= 0 || !stop(s->pid, &si) ||
        (si.si_code != CLD_STOPPED && si.si_code != CLD_TRAPPED)) {
        return false;
    }
    waitid(P_PID, (id_t)s->pid, &si, WSTOPPED | WNOHANG); /* takes the report */
    s->stopped = true;
    if (needs_freezer(s)) {
        kg_cgroup_freeze(s, true);
    }
    return true;
}

bool kg_sandbox_thaw(struct kg_sandbox *s)
{
    if (s->pid <= 0) {
        return false;
    }
    if (s->stopped && needs_freezer(s)) {
        kg_cgroup_freeze(s, false);
    }
    s->stopped = false;
    return kill(s->pid, SIGCONT) == 0;
}

int64_t kg_sandbox_cpu_ns(const struct kg_sandbox *s)
{
    return s->ncgroup > 0 ? kg_cgroup_cpu_ns(s) : kg_cgroup_cpu_of(s->pid);
}

static void kill_all(struct kg_sandbox *s)
{
    if (s->exit.kind == KG_EXIT_RUNNING) {
        s->exit.kind = KG_EXIT_KILLED;
    }
    if (s->stopped && needs_freezer(s)) {
        kg_cgroup_freeze(s, false); /* tasks in a version 1 freezer cannot die */
    }
    if (has(s, KG_STEP_SESSION)) {
        kill(-s->pid, SIGKILL); /* its process group; namespace or cgroup catch the others */
    }
    kill(s->pid, SIGKILL);
}

void kg_sandbox_end(struct kg_sandbox *s)
{
    bool gone = true;
    if (s->pid > 0 && !kg_sandbox_poll(s)) {
        kill_all(s);
        /* Where a pid namespace ends with its first process, there is nothing left to list. */
        if (!has(s, KG_STEP_PIDNS)) {
            kg_cgroup_kill(s);
        }
        gone = kg_sandbox_wait(s, kg_clock_ns() + KILL_TIMEOUT_NS);
        s->pid = gone ? s->pid : -1;
    } else if (!has(s, KG_STEP_PIDNS)) {
        kg_cgroup_kill(s);
    }
    kg_cgroup_remove(s);
    kg_netns_release(s, gone);
    if (s->pidfd >= 0 && s->isolation.has != 0) {
        close(s->pidfd);
    }
    s->pidfd = -1;
}
