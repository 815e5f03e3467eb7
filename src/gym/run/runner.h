/* The broker's handle on one runner: a confined process that holds one loaded object. It is frozen
 * between calls: blocked in a futex that only the broker wakes, and stopped in any other case. All
 * times are the broker's. docs/protocol.md has the sequence. A handle has one owner; it may not be
 * moved while it is open, and the process that holds handles must not allocate between fork and
 * exec (each handle has a thread that empties pipes; it never allocates, so that a fork beside it
 * is safe). */
#ifndef KG_GYM_RUN_RUNNER_H
#define KG_GYM_RUN_RUNNER_H

#include <time.h>

#include "gym/run/region.h"
#include "gym/sandbox/sandbox.h"

struct kg_runner_spec {
    const char *program;   /* path of kgym-runner */
    const char *object;    /* shared object to load */
    const char *kgops_dir; /* folder with libkgops.so, visible read-only */
    const char *entry;
    const struct kg_region *in, *out;
    struct kg_limits limits;
    int64_t output_bytes; /* head and tail kept of stdout and stderr, each */
    int cpu;
    uint32_t without; /* tests only */
    /* Becomes non-zero when all is to end: waits then end as KG_RUN_TIMEOUT; NULL: never. */
    const volatile int *cancelled;
};

enum kg_run_status {
    KG_RUN_OK,
    KG_RUN_LOAD_FAILED, /* dlopen refused: unresolved symbol, bad object. note says why */
    KG_RUN_NO_ENTRY,
    KG_RUN_DIED, /* exit says how */
    KG_RUN_TIMEOUT,
    KG_RUN_ACTIVE, /* its CPU clock advanced while it should have been frozen */
};

/* Most CPU time outside the windows that is still rest, not work. One core for broker and runner: a
 * runner at rest shows exactly 0; the slack is for an interrupt that is charged to a task as it
 * falls asleep. Elsewhere the clock lags by a switch. The tail (from saying done to being blocked,
 * or stopped) is about 1 us of an honest runner; each further thread has to take its stop.
 * What lies below the slack is not free either: idle and tail count as time of the call. */
#define KG_IDLE_SLACK_PINNED_NS   2000
#define KG_IDLE_SLACK_UNPINNED_NS 100000
#define KG_TAIL_SLACK_NS          100000 /* per task */

/* With KG_RUN_ACTIVE the call was made and its output stands; once may be an accident (the host
 * stole the core and charged it), twice in a row is not: repeat the call. */
struct kg_call_report {
    enum kg_run_status status;
    int64_t window_ns;   /* from release to done, by the broker's clock */
    int64_t tail_cpu_ns; /* CPU time it used from done until it was at rest */
    int64_t idle_cpu_ns; /* CPU time it used between the previous rest and this release */
    int64_t faults;      /* page faults in the window, -1 not counted */
    int threads;         /* tasks after the call */
    bool unstopped;      /* it was not at rest and could not be stopped */
};

struct kg_output { /* of one stream: head and tail, and how much there was */
    char head[2048], tail[2048];
    size_t head_len, tail_len;
    uint64_t bytes;
};

struct kg_runner {
    struct kg_sandbox sandbox;
    struct kg_wire *wire; /* mapped control page */
    int ctrl_fd;
    uint32_t calls;
    int64_t idle_from_cpu_ns;
    void *drain;                /* private: thread that empties the pipes */
    struct kg_output output[2]; /* stdout, stderr; complete after kg_runner_stop */
    char note[256];             /* the loader's message, printable */
    struct kg_wire last;        /* what `wire` points to after kg_runner_stop: a copy */
    clockid_t cpu_clock;
    int stat_fd, syscall_fd;   /* /proc/PID/stat and syscall; the latter -1: not for this user */
    int64_t idle_slack_ns;     /* which of the two applies here */
    bool frozen;               /* told to stop, not only blocked */
    enum kg_run_status status; /* other than OK: what every further call answers */
    const volatile int *cancelled;
};

/* Spawn, load, resolve. KG_OK with *status other than KG_RUN_OK is the object's doing, its
 * constructors included; the handle must then be stopped like any other. A runner that ends before
 * it was ready to load is KG_E_HOST with what it wrote. Deadline of the loading: monotonic. The
 * address-space limit is spec's plus the regions and what the runner itself maps. */
enum kg_code kg_runner_start(const struct kg_runner_spec *spec, int64_t deadline_ns,
                             struct kg_runner *out, enum kg_run_status *status,
                             struct kg_err *err) KG_MUST_USE;
/* One call: write the words, release, wait. faults: count page faults (two reads of /proc, outside
 * the window). */
void kg_runner_call(struct kg_runner *r, const struct kg_wire_call *call, int64_t deadline_ns,
                    bool faults, struct kg_call_report *out);
/* CPU time used since it came to rest after the last call; 0 is the only honest answer on one
 * core. */
int64_t kg_runner_idle_ns(struct kg_runner *r);
/* What it has used so far has been noted: idle time counts from now. */
void kg_runner_rest_again(struct kg_runner *r);
/* Kill, reap, collect output. exit in r->sandbox.exit. Idempotent. */
void kg_runner_stop(struct kg_runner *r);
/* Signal that ended a stopped runner, 0: none. Pid 1 of a namespace ignores signals that are merely
 * sent, abort()'s too; it then leaves with 128 + signal and its claim of that signal is believed:
 * both are crashes. */
int kg_runner_signal(const struct kg_runner *r);

#endif
