/* Reads a runner's state from /proc, and brings the runner to rest after a call. */
#include "gym/run/rest.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "gym/run/drain.h"

/* How long a runner may neither block nor use its CPU before it is stopped by force. It is a pause
 * and not a yield, because a yield stays within the session's scheduling group. Pauses grow: a
 * runner that waits for its core waits longer if others wake often. */
#define MOST_PAUSES   100
#define PAUSE_NS      10000
#define PAUSE_MOST_NS 1000000

bool kg_rest_stat(const struct kg_runner *r, struct kg_task_stat *out)
{
    char text[768];
    ssize_t n = pread(r->stat_fd, text, sizeof text - 1, 0);
    if (n <= 0) {
        return false;
    }
    text[n] = 0;
    char *at = strrchr(text, ')'); /* the candidate chose the name before it */
    if (!at || at[1] == 0) {
        return false;
    }
    at += 2;
    out->state = *at;
    /* Fields of proc(5) from 4 on: minflt is 10, majflt 12, num_threads 20. */
    int64_t field[21] = {0};
    at++;
    for (int i = 4; i <= 20; i++) {
        field[i] = strtoll(at, &at, 10);
    }
    out->faults = field[10] + field[12];
    out->threads = (int)field[20];
    /* A first thread that has left is a zombie while other threads go on. */
    return (out->state != 'Z' && out->state != 'X') || out->threads > 1;
}

/* True if the runner is blocked in a futex wait without a timeout for the next call. Any other
 * sleep may end by itself: the runner could then change the outputs, or use the core during
 * another's call. Where /proc/PID/syscall cannot be read it returns false, and every runner is
 * stopped in the same way. */
static bool waits_for_go(const struct kg_runner *r)
{
    char text[256];
    ssize_t n = r->syscall_fd < 0 ? -1 : pread(r->syscall_fd, text, sizeof text - 1, 0);
    if (n <= 0) {
        return false;
    }
    text[n] = 0;
    long long number;
    unsigned long long word, op, value, timeout;
    return sscanf(text, "%lld %llx %llx %llx %llx", &number, &word, &op, &value, &timeout) == 5 &&
           number == SYS_futex && word == KG_ADDR_CTRL + offsetof(struct kg_wire, go) &&
           op == FUTEX_WAIT && timeout == 0;
}

int64_t kg_rest_cpu_ns(const struct kg_runner *r)
{
    struct timespec ts;
    if (clock_gettime(r->cpu_clock, &ts) != 0) {
        return 0;
    }
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Time on a core, time without one, and turns on it; all 0 where nobody counts. */
static int64_t delay_of(int fd)
{
    char text[96];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    long long ran, delay, turns;
    text[n > 0 ? n : 0] = 0;
    return sscanf(text, "%lld %lld %lld", &ran, &delay, &turns) == 3 && turns > 0 ? delay : -1;
}

int64_t kg_rest_delay_ns(const struct kg_runner *r)
{
    int64_t own = delay_of(r->sched_fd[0]), broker = delay_of(r->sched_fd[1]);
    return own < 0 || broker < 0 ? -1 : own + broker;
}

void kg_rest_settle(struct kg_runner *r, struct kg_call_report *report, struct kg_task_stat *at)
{
    int64_t from = kg_rest_cpu_ns(r), pause_ns = PAUSE_NS;
    int64_t delay = report->delayed_ns < 0 ? -1 : kg_rest_delay_ns(r);
    report->delayed_ns = delay < 0 ? -1 : delay - report->delayed_ns;
    for (int i = 0; kg_rest_stat(r, at); i++) {
        bool lingers = kg_rest_cpu_ns(r) - from > KG_TAIL_SLACK_NS || i == MOST_PAUSES;
        bool sleeps = at->state == 'S';
        if (sleeps && at->threads == 1 && waits_for_go(r)) {
            break;
        }
        if (sleeps || at->threads > 1 || lingers) {
            r->frozen = true; /* the stop takes effect soon */
            report->unstopped = !kg_sandbox_freeze(&r->sandbox) && !kg_sandbox_poll(&r->sandbox);
            break;
        }
        const struct timespec pause = {.tv_sec = 0, .tv_nsec = pause_ns};
        nanosleep(&pause, NULL); /* the runner may need this core to fall asleep */
        pause_ns = pause_ns < PAUSE_MOST_NS ? pause_ns + pause_ns / 2 : pause_ns;
    }
    kg_drain_settle(r->drain);
    report->threads = at->threads;
    r->idle_from_cpu_ns = kg_rest_cpu_ns(r);
    report->tail_cpu_ns = r->idle_from_cpu_ns - from;
    if (report->tail_cpu_ns < 0) {
        report->tail_cpu_ns = 0; /* it ended, and its clock with it */
    }
}
