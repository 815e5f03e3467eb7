/* The broker's handle on one runner: a confined process that holds one loaded object.
 *
 * The runner is frozen between calls: it blocks in a futex that only the broker wakes, or is
 * stopped. All times are the broker's. docs/protocol.md has the sequence of a call. A handle has
 * one owner, and may not be moved while it is open. Each handle has a thread that reads the pipes.
 * It never allocates, so a fork beside it is safe if the child does not allocate before exec. */
#ifndef KG_GYM_RUN_RUNNER_H
#define KG_GYM_RUN_RUNNER_H

#include <time.h>

#include "gym/run/region.h"
#include "gym/sandbox/sandbox.h"

/* How to start a runner. All strings and regions are the caller's, and must outlive the call. */
struct kg_runner_spec {
    const char *program;   /* path of kgym-runner */
    const char *object;    /* the shared object to load */
    const char *kgops_dir; /* folder of libkgops.so; visible read-only */
    const char *entry;
    const struct kg_region *in, *out;
    struct kg_limits limits;
    int64_t output_bytes; /* bytes of head and of tail kept, of each stream */
    /* Core to pin to; -1: none. */
    int cpu;
    uint32_t without; /* steps of the sandbox to leave out; for tests only */
    /* Non-zero ends all waits with KG_RUN_TIMEOUT; NULL: never. */
    const volatile int *cancelled;
};

enum kg_run_status {
    KG_RUN_OK,
    KG_RUN_LOAD_FAILED, /* dlopen failed (unresolved symbol, bad object); see note */
    KG_RUN_NO_ENTRY,
    KG_RUN_DIED, /* see sandbox.exit */
    KG_RUN_TIMEOUT,
    KG_RUN_ACTIVE,   /* it used CPU time while it should have been frozen */
    KG_RUN_PROTOCOL, /* its `done` was not the last call's when the next one was to be made */
};

/* Most CPU time outside a call that still counts as rest.
 * A runner at rest that shares the broker's one core shows exactly 0. The slack covers an interrupt
 * that is charged to a task as it falls asleep. On other cores the clock lags by one switch.
 * The tail, from `done` to being blocked, takes about 1 us; each further thread must be stopped
 * first. Time below the slack is not free: idle and tail are added to the time of the call. */
#define KG_IDLE_SLACK_PINNED_NS   2000
#define KG_IDLE_SLACK_UNPINNED_NS 100000
#define KG_TAIL_SLACK_NS          100000 /* per thread */

/* KG_RUN_ACTIVE may be an accident, when the host charges stolen time, and on a busy host a second
 * one follows. So many calls in a row are no accident. */
#define KG_ACTIVE_CALLS 6

/* The report of one call. With KG_RUN_ACTIVE the call was made, and its output counts. Repeat it: a
 * call that was active is void and gains nothing. */
struct kg_call_report {
    enum kg_run_status status;
    int64_t window_ns;   /* from release to done, by the broker's clock */
    int64_t tail_cpu_ns; /* CPU time from done until it was at rest */
    int64_t idle_cpu_ns; /* CPU time between the previous rest and this release */
    int64_t cpu_ns;      /* CPU time from this release until it was at rest */
    int64_t faults;      /* page faults within the window; -1: not counted */
    int64_t delayed_ns;  /* for so long it, or the broker, was ready and had no core; -1: unknown */
    int threads;         /* threads after the call */
    bool unstopped;      /* it neither blocked nor could be stopped */
};

struct kg_output { /* one stream: head and tail, and its full length */
    char head[2048], tail[2048];
    size_t head_len, tail_len;
    uint64_t bytes;
};

struct kg_runner {
    struct kg_sandbox sandbox;
    struct kg_wire *wire; /* the mapped control block */
    int ctrl_fd;
    /* Number of the last call; its CPU clock when it came to rest. */
    uint32_t calls;
    int64_t idle_from_cpu_ns;
    void *drain;                /* private: the thread that reads the pipes */
    struct kg_output output[2]; /* stdout and stderr; complete after kg_runner_stop */
    char note[256];             /* the loader's message, printable */
    /* A copy of the control block, to which wire points after kg_runner_stop. */
    struct kg_wire last;
    clockid_t cpu_clock;
    int stat_fd, syscall_fd;   /* /proc/PID/stat and syscall; syscall_fd -1: not permitted */
    int sched_fd[2];           /* schedstat, of it and of the broker's thread; -1: there is none */
    int64_t idle_slack_ns;     /* one of the two slacks above */
    bool frozen;               /* stopped by a signal, not only blocked */
    enum kg_run_status status; /* if not OK, every further call returns it */
    const volatile int *cancelled;
};

/* Starts a runner: spawn, load the object, find the entry. KG_OK with *status other than KG_RUN_OK
 * is the object's fault, or its constructors'; the handle must still be stopped. KG_E_HOST: the
 * runner ended before it could load anything; the message has what it wrote. deadline_ns:
 * monotonic, for the loading. The address-space limit is that of spec plus the regions and the
 * runner's own mappings. */
enum kg_code kg_runner_start(const struct kg_runner_spec *spec, int64_t deadline_ns,
                             struct kg_runner *out, enum kg_run_status *status,
                             struct kg_err *err) KG_MUST_USE;
/* Why the start of this runner ended in another status than KG_RUN_OK, for messages; never empty.
 * Lives as long as *r. */
const char *kg_runner_unloaded(const struct kg_runner *r);
/* Makes one call: writes the words, releases, waits. faults: count page faults, and delays, by
 * reads of /proc outside the window. Failures are in the report. */
void kg_runner_call(struct kg_runner *r, const struct kg_wire_call *call, int64_t deadline_ns,
                    bool faults, struct kg_call_report *out);
/* CPU time since the runner came to rest after its last call. On one core an honest runner shows
 * 0. */
int64_t kg_runner_idle_ns(struct kg_runner *r);
/* Idle time counts from now on. */
void kg_runner_rest_again(struct kg_runner *r);
/* Kills and reaps the runner, and collects its output. r->sandbox.exit tells how it ended. May be
 * called twice. */
void kg_runner_stop(struct kg_runner *r);
/* The signal that ended a stopped runner; 0: none. Pid 1 of a namespace ignores signals that are
 * sent to it, also abort()'s. It then exits with 128 + signal, and its claim of that signal is
 * believed, because both are crashes. */
int kg_runner_signal(const struct kg_runner *r);

#endif
