/* A thread that reads a runner's pipes and watches for its death. */
#include "gym/run/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Most bytes in a pipe when the process has ended (fs.pipe-max-size, default 1 MB). */
#define LAST_BYTES (1 << 20)
/* Longest wait for the thread to empty the pipes. */
#define MOST_PAUSES 1000
#define PAUSE_NS    10000

struct kg_drain {
    pthread_t thread;
    int pipe[2], pidfd, stop;
    size_t keep;
    struct kg_wire *wire;
    atomic_bool dead;
    struct kg_output out[2]; /* tail is a ring until kg_drain_stop */
};

static void keep_bytes(struct kg_drain *d, struct kg_output *o, const char *bytes, size_t n)
{
    uint64_t at = o->bytes;
    for (size_t i = 0; i < n; i++, at++) {
        if (at < d->keep) {
            o->head[o->head_len++] = bytes[i];
        } else if (d->keep > 0) {
            o->tail[(at - d->keep) % d->keep] = bytes[i];
        }
    }
    o->bytes = at;
}

/* Reads once. False: the stream has ended. */
static bool read_some(struct kg_drain *d, int i, size_t *got)
{
    char bytes[4096];
    ssize_t n = read(d->pipe[i], bytes, sizeof bytes);
    *got = n > 0 ? (size_t)n : 0;
    keep_bytes(d, &d->out[i], bytes, *got);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void wake_waiters(struct kg_drain *d)
{
    atomic_store(&d->dead, true);
    if (d->wire) {
        syscall(SYS_futex, &d->wire->done, FUTEX_WAKE, 1, NULL, NULL, 0);
        syscall(SYS_futex, &d->wire->state, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static void *run(void *arg)
{
    struct kg_drain *d = arg;
    struct pollfd p[4] = {{.fd = d->pipe[0], .events = POLLIN},
                          {.fd = d->pipe[1], .events = POLLIN},
                          {.fd = d->pidfd, .events = POLLIN},
                          {.fd = d->stop, .events = POLLIN}};
    size_t got;
    while (poll(p, 4, -1) >= 0 || errno == EINTR) {
        for (int i = 0; i < 2; i++) {
            if (p[i].revents != 0 && !read_some(d, i, &got)) {
                p[i].fd = -1;
            }
        }
        if (p[2].revents != 0) {
            wake_waiters(d);
            p[2].fd = -1;
        }
        if (p[3].revents != 0) {
            break;
        }
    }
    for (int i = 0; i < 2; i++) {
        size_t left = LAST_BYTES;
        while (p[i].fd >= 0 && left > 0 && read_some(d, i, &got) && got > 0) {
            left -= got < left ? got : left;
        }
    }
    return NULL;
}

static void discard(struct kg_drain *d)
{
    int fds[] = {d->pipe[0], d->pipe[1], d->pidfd, d->stop};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    free(d);
}

enum kg_code kg_drain_start(const int pipes[2], int pidfd, int64_t keep, struct kg_wire *wire,
                            struct kg_drain **out, struct kg_err *err)
{
    struct kg_drain *d = calloc(1, sizeof *d);
    if (!d) {
        close(pipes[0]);
        close(pipes[1]);
        return kg_fail(err, KG_E_LIMIT, "runner: no memory for its output");
    }
    size_t most = sizeof d->out[0].head;
    d->keep = keep < 0 ? 0 : (size_t)keep < most ? (size_t)keep : most;
    d->wire = wire;
    d->pidfd = pidfd >= 0 ? fcntl(pidfd, F_DUPFD_CLOEXEC, 3) : -1;
    d->stop = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        d->pipe[i] = pipes[i];
        fcntl(pipes[i], F_SETFL, O_NONBLOCK);
    }
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* SIGINT and others are for the main thread */
    int failed = d->stop < 0 ? errno : pthread_create(&d->thread, NULL, run, d);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed != 0) {
        discard(d);
        return kg_fail(err, KG_E_HOST, "runner: cannot watch its output: %s", strerror(failed));
    }
    *out = d;
    return KG_OK;
}

bool kg_drain_dead(const struct kg_drain *d)
{
    return atomic_load(&d->dead);
}

void kg_drain_settle(const struct kg_drain *d)
{
    for (int tries = 0; tries < MOST_PAUSES; tries++) {
        int left[2] = {0, 0};
        ioctl(d->pipe[0], FIONREAD, &left[0]);
        ioctl(d->pipe[1], FIONREAD, &left[1]);
        if (left[0] + left[1] == 0) {
            return;
        }
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    }
}

/* Copies the ring to a tail that begins with its oldest byte. */
static void unroll(const struct kg_drain *d, const struct kg_output *o, struct kg_output *out)
{
    *out = *o;
    uint64_t beyond = o->bytes - o->head_len;
    out->tail_len = beyond < d->keep ? (size_t)beyond : d->keep;
    size_t start = beyond > d->keep ? (size_t)(beyond % d->keep) : 0;
    for (size_t i = 0; i < out->tail_len; i++) {
        out->tail[i] = o->tail[(start + i) % d->keep];
    }
}

void kg_drain_stop(struct kg_drain *d, struct kg_output out[2])
{
    if (!d) {
        return;
    }
    uint64_t one = 1;
    while (write(d->stop, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(d->thread, NULL);
    for (int i = 0; i < 2; i++) {
        unroll(d, &d->out[i], &out[i]);
    }
    discard(d);
}
