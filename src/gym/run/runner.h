/* The broker's handle on one runner: a confined process that holds one loaded object. It is frozen
 * between calls: blocked in a futex, and stopped where it has threads. All times are the broker's.
 * docs/protocol.md has the sequence. */
#ifndef KG_GYM_RUN_RUNNER_H
#define KG_GYM_RUN_RUNNER_H

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
};

enum kg_run_status {
    KG_RUN_OK,
    KG_RUN_LOAD_FAILED, /* dlopen refused: unresolved symbol, bad object. note says why */
    KG_RUN_NO_ENTRY,
    KG_RUN_DIED, /* exit says how */
    KG_RUN_TIMEOUT,
    KG_RUN_ACTIVE, /* its CPU clock advanced while it should have been frozen */
};

struct kg_call_report {
    enum kg_run_status status;
    int64_t window_ns;   /* from release to done, by the broker's clock */
    int64_t idle_cpu_ns; /* CPU time it used between the previous done and this release */
    int64_t faults;      /* page faults in the window, -1 not counted */
    int threads;         /* tasks after the call */
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
    char note[256];
};

/* Spawn, load, resolve. KG_OK with *status other than KG_RUN_OK is the candidate's doing. Deadline:
 * monotonic. */
enum kg_code kg_runner_start(const struct kg_runner_spec *spec, int64_t deadline_ns,
                             struct kg_runner *out, enum kg_run_status *status,
                             struct kg_err *err) KG_MUST_USE;
/* One call: write the words, release, wait. faults: count page faults (two reads of /proc, outside
 * the window). */
void kg_runner_call(struct kg_runner *r, const struct kg_wire_call *call, int64_t deadline_ns,
                    bool faults, struct kg_call_report *out);
/* CPU time used since the last call returned; 0 is the only honest answer on one core. */
int64_t kg_runner_idle_ns(struct kg_runner *r);
/* Kill, reap, collect output. exit in r->sandbox.exit. Idempotent. */
void kg_runner_stop(struct kg_runner *r);

#endif
