/* The broker's handle on Python: a zygote that has imported torch (and triton) and holds no code of
 * anybody's, and runners forked from it, one per candidate, each confined before it is given
 * anything. A runner is adopted by the worker (child subreaper), so that its end, its limits and
 * its cgroup are those of every other sandbox. */
#ifndef KG_GYM_TORCH_PROCESS_PYRUNNER_H
#define KG_GYM_TORCH_PROCESS_PYRUNNER_H

#include <sched.h>

#include "base/json.h"
#include "gym/run/drain.h"
#include "gym/run/runner.h"
#include "gym/sandbox/sandbox.h"
#include "gym/tensor/tensor_wire.h"

struct kg_zygote_spec {
    const char *python;  /* KGYM_PYTHON: program of CPython 3.9 or newer */
    const char *harness; /* folder that holds kgym_harness */
    const char *probe;   /* libkgym_probe.so */
    bool interpret;      /* TRITON_INTERPRET=1 before the import */
    bool cuda;           /* runners may use the device */
    cpu_set_t cpus;      /* and, until they are pinned, these cores */
    const char *device;  /* "cpu", "cuda:0" */
    const volatile int *cancelled;
};

struct kg_zygote {
    pid_t pid;
    int sock, errors; /* errors: what it writes to stderr, until it has said its facts */
    json_t *facts; /* {python, torch, triton|null, cuda_built, tools} as it says; NULL: not yet */
    struct kg_zygote_spec spec;
};

/* Starts python, and waits for the imports (60 s), which is nothing where they have been. A python
 * that does not get there is stopped. KG_E_HOST names what is missing and how to get it
 * (`make torch`, KGYM_PYTHON). */
enum kg_code kg_zygote_begin(const struct kg_zygote_spec *spec, struct kg_zygote *out,
                             struct kg_err *err) KG_MUST_USE;
enum kg_code kg_zygote_ready(struct kg_zygote *z, struct kg_err *err) KG_MUST_USE;
void kg_zygote_stop(struct kg_zygote *z); /* idempotent */
void kg_zygote_kill(struct kg_zygote *z); /* the same, but what it has said stays known */
bool kg_zygote_alive(struct kg_zygote *z);

struct kg_pyrunner_spec {
    const char *source; /* file that becomes /kgym/source.py, read-only: what LOAD executes */
    int ctrl_fd, in_fd, out_fd; /* of a judge's port */
    struct kg_limits limits;
    int64_t scratch_mb; /* its own /tmp, see kg_pyrunner_tmp_mb */
    uint32_t without;   /* tests only */
    int cpu;            /* pin; -1: do not */
    int connections;    /* hardware queues of its context; 0: as many as the driver makes */
};

/* MB of a runner's /tmp: what is asked for, and never less than a compiler of extensions needs. */
static inline int64_t kg_pyrunner_tmp_mb(int64_t scratch_mb)
{
    return scratch_mb > 512 ? scratch_mb : 512;
}

/* What a runner does while nobody calls it. */
struct kg_pyrest {
    bool resting;      /* from kg_pyrunner_rest to kg_pyrunner_wake, and not told to stop */
    bool told;         /* to stop: it may do so later */
    bool restless;     /* it has worked at rest: from now on it is stopped */
    int64_t since_ns;  /* beginning of the rest, */
    int64_t cpu_ns;    /* and its CPU time then; -1: unknown */
    int64_t worked_ns; /* CPU time in all rests that it was not stopped in, ... */
    int64_t rested_ns; /* ... which were so long */
    int64_t stops;     /* rests that it was stopped in */
};

struct kg_pyrunner {
    struct kg_sandbox sandbox;
    struct kg_twire *wire; /* this process's mapping of ctrl_fd */
    void *drain;
    struct kg_output output[2];
    const volatile int *cancelled;
    int tmp; /* descriptor + 1 of its /tmp, until kg_pyrunner_stop; 0: it has none of its own */
    uint64_t in_bytes;              /* size of IN on the CPU */
    bool told;                      /* kg_pyrunner_go */
    bool makes_context;             /* it has a GPU */
    int64_t boot_ns, boot_until_ns; /* from then on; it must be READY by then */
    struct kg_pyrest rest;
    /* Claims about its death, complete after kg_pyrunner_stop. */
    uint32_t fault_signal, fault_write;
    uint64_t fault_address;
};

/* Forked in two parts; KG_E_HOST or, of a zygote that died, KG_E_GYM: start another. Until READY no
 * code of the candidate has run. After the first part it is confined, has not touched a device, and
 * waits; after the second it goes on to READY by itself, while the caller does something else; the
 * last waits for that, and is the second where that was left out. On a GPU it makes its context
 * first, which disturbs others, and waits until the last lets it do the rest; the third waits for
 * the context.
 * The source file is shown to it from the first on, and read at LOAD only: until that it may be
 * empty, and is then written in place. What is not READY in time is stopped by the last two. */
enum kg_code kg_pyrunner_begin(struct kg_zygote *z, const struct kg_pyrunner_spec *spec,
                               struct kg_pyrunner *out, struct kg_err *err) KG_MUST_USE;
void kg_pyrunner_go(struct kg_pyrunner *r);
enum kg_code kg_pyrunner_has_context(struct kg_pyrunner *r, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_pyrunner_ready(struct kg_pyrunner *r, struct kg_err *err) KG_MUST_USE;
void kg_pyrunner_stop(struct kg_pyrunner *r); /* kill, reap, collect output; idempotent */
/* It lives and waits for a command, as it claims; or for the last part of its start. */
bool kg_pyrunner_at_rest(const struct kg_pyrunner *r);
/* All its threads onto this core, and, where this process may, as urgent as any other from now on;
 * those that it starts later follow. -1: nothing. */
void kg_pyrunner_pin(const struct kg_pyrunner *r, int cpu);
/* Signal that ended a stopped runner, 0: none. Pid 1 of a namespace ignores what is merely sent; it
 * leaves with 128 + signal then, and its claim of that signal is believed. */
int kg_pyrunner_signal(const struct kg_pyrunner *r);
/* It died of a write to IN: an operator in place on an input. CPU only. */
bool kg_pyrunner_wrote_input(const struct kg_pyrunner *r);

/* What became of a command. */
enum kg_pystatus { KG_PY_ANSWERED, KG_PY_DIED, KG_PY_TIMEOUT, KG_PY_PROTOCOL };
struct kg_pyanswer {
    enum kg_pystatus status;
    enum kg_tstatus said; /* when ANSWERED */
    json_t *reply;        /* parsed object, bounded, or NULL; the caller's */
    uint32_t nleaves;     /* checked leaves in leaf[] */
    char structure[1024];
};
/* A command without data: LOAD, DESCRIBE, BUILD, EXIT. request is borrowed. */
void kg_pyrunner_command(struct kg_pyrunner *r, enum kg_tcommand command, const json_t *request,
                         uint64_t seed, int64_t deadline_ns, struct kg_pyanswer *out);
/* Its two halves: the runner is at it, and the caller may do something else before it waits.
 * polite: the runner tells in `building` when it does not need the device, and then waits until it
 * is let on (KG_TF_POLITE). */
struct kg_pyquestion {
    bool asked;
    uint64_t nonce[2];
};
void kg_pyrunner_ask(struct kg_pyrunner *r, enum kg_tcommand command, const json_t *request,
                     uint64_t seed, bool polite, struct kg_pyquestion *out);
void kg_pyrunner_let_on(struct kg_pyrunner *r);
void kg_pyrunner_answer(struct kg_pyrunner *r, const struct kg_pyquestion *q, int64_t deadline_ns,
                        struct kg_pyanswer *out);
void kg_pyanswer_deinit(struct kg_pyanswer *a);
/* What it wrote about a command that the judge had released, while it is still up: a parsed object,
 * bounded, the caller's; or NULL. */
json_t *kg_pyrunner_reply(const struct kg_pyrunner *r);
/* Does that reply tell of an error of the device, after which the process can do no more? */
bool kg_pyrunner_lost_device(const struct kg_pyrunner *r);

/* --- pyrest.c --- */
/* Until kg_pyrunner_wake nobody calls it. always: it is stopped, with its children. Else only if
 * it, or they, have worked in earlier rests: times on a GPU are less regular after a stop. Where it
 * can't be stopped it goes on. */
void kg_pyrunner_rest(struct kg_pyrunner *r, bool always);
/* kg_pyrunner_ask does it by itself. */
void kg_pyrunner_wake(struct kg_pyrunner *r);
/* Awake, and what it did at rest before is forgotten. */
void kg_pyrunner_rest_anew(struct kg_pyrunner *r);

#endif
