/* The supervisor of a pool: a process that owns the queue and the workers, and speaks with one
 * client over its socket. It judges nothing itself, so it answers within microseconds, or about
 * 0.1 ms where it reads a record first. A worker that dies or hangs costs the others nothing. One
 * that sends the worst frames that are read costs them 0.3 s and 100 MB for each, and is replaced
 * after the first that is a lie. The supervisor ends, with its workers, when its client closes the
 * socket or is gone. */
#ifndef KG_GYM_POOL_SUPERVISOR_H
#define KG_GYM_POOL_SUPERVISOR_H

#include "gym/eval/config.h"
#include "gym/pool/worker_process.h"
#include "gym/prompt/prompt.h"

/* The role `kgym pool-supervisor`. fd: the socket to the client. Returns the exit status. */
int kg_pool_supervise(int fd);

/* Appends the first message that a REQUEST asks for: problem, language, plain; with `given` the
 * body is the problem's text. spec: device and league. Some milliseconds. */
enum kg_code kg_pool_prompt(const char *suites, const struct kg_frame *f,
                            struct kg_prompt_spec *spec, struct kg_buf *out,
                            struct kg_err *err) KG_MUST_USE;

/* --- private to supervisor*.c --- */

/* A HOLD request that waits for its core. */
struct kg_pool_hold {
    int64_t request;
    int core;            /* index, or KG_ALL_CORES */
    int64_t deadline_ns; /* 0: none */
};

struct kg_pool_core {
    int cpu;   /* its number */
    bool held; /* by the caller: no worker gets a task there */
};

struct kg_supervisor {
    struct kg_channel client;
    struct kg_config config;
    char program[4096], trace[4096];
    bool public_only, draining;
    bool worked;      /* a worker has given a result: this host can run them */
    int64_t ready_ns; /* when a worker was ready last */
    struct kg_pool_core *core;
    int ncores;
    char **device; /* names; NULL: the configuration's */
    int ndevices;
    int *shared; /* [ndevices, at least 1]: descriptors of struct kg_common */
    struct kg_worker_process **worker;
    int nworkers, wanted; /* processes known; workers wanted */
    struct kg_pool_tasks tasks;
    struct kg_pool_pace pace;
    struct kg_pool_hold *hold;
    int nholds;
    volatile int *stop;   /* set by SIGTERM */
    struct kg_err broken; /* why no worker can run here; code KG_OK: they can */
};

/* Options of the OPEN frame into *s: configuration, cores, devices, number of workers. */
enum kg_code kg_supervisor_open(struct kg_supervisor *s, const json_t *options,
                                struct kg_err *err) KG_MUST_USE;
void kg_supervisor_close(struct kg_supervisor *s);

/* Starts the worker's process where it has none. False: it cannot get a task now. */
bool kg_supervisor_is_up(struct kg_supervisor *s, struct kg_worker_process *w);
/* It is tried again in a while. A host that has run workers before may be short of something for a
 * moment; any other cannot judge, so the pool is broken. */
void kg_supervisor_cannot_start(struct kg_supervisor *s, struct kg_worker_process *w,
                                const struct kg_err *e);
/* The worker that is lost had not read its task t, which then waits and counts no loss: another
 * worker will take it. Where none can, this holds for a minute from the first time. */
bool kg_supervisor_lets_off(struct kg_supervisor *s, struct kg_worker_process *w,
                            struct kg_pool_task *t);
/* Is this core, an index, the caller's, or will it be once its task has ended? */
bool kg_supervisor_core_is_taken(const struct kg_supervisor *s, int core);
/* Tasks to workers that are idle; workers that are needed are started. */
void kg_supervisor_feed(struct kg_supervisor *s);
/* What a worker has sent, or that it is gone. */
void kg_supervisor_hear(struct kg_supervisor *s, struct kg_worker_process *w);
/* The task ends with this error; takes it. */
void kg_supervisor_fail(struct kg_supervisor *s, struct kg_pool_task *t, const struct kg_err *e);
/* Deadlines, cancelled tasks that still run, workers that end, holds. Returns for how long there is
 * nothing to do but listen, in ms; -1: no limit. */
int kg_supervisor_tend(struct kg_supervisor *s);
/* A frame of the client. */
void kg_supervisor_obey(struct kg_supervisor *s, struct kg_frame *f);
/* The same with device and league of the pool. */
enum kg_code kg_supervisor_prompt(const struct kg_supervisor *s, const struct kg_frame *f,
                                  struct kg_buf *out, struct kg_err *err) KG_MUST_USE;
/* Workers wanted from now on. */
enum kg_code kg_supervisor_resize(struct kg_supervisor *s, int workers,
                                  struct kg_err *err) KG_MUST_USE;

#endif
