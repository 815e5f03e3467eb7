/* Starts and stops a runner: control block, sandbox, loading of the object, and what it wrote. */
#include "gym/run/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "gym/run/drain.h"
#include "gym/run/rest.h"
#include "gym/run/wait.h"

/* Paths inside, where there is a mount namespace. The rpath of every object says /kgops. */
#define INSIDE_PROGRAM "/kgym-runner"
#define INSIDE_OBJECT  "/object.so"
#define INSIDE_KGOPS   "/kgops"

/* Time for the start of the runner itself, before it loads anything. It is not part of the object's
 * deadline. Otherwise a candidate that used up its deadline would turn its next start into an error
 * of the host. */
#define BOOT_NS 20000000000

/* Address space of a runner without any object: program, libc, libm, libffi, stack. */
#define RUNNER_BYTES (64ll << 20)

/* Creates the control block. It is sealed against resizing, because a runner that shrinks it would
 * kill the broker. */
static enum kg_code open_control(const struct kg_runner_spec *spec, struct kg_runner *r,
                                 struct kg_err *err)
{
    r->ctrl_fd = memfd_create("kgym-control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (r->ctrl_fd < 0 || ftruncate(r->ctrl_fd, sizeof *r->wire) != 0 ||
        fcntl(r->ctrl_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return kg_fail(err, KG_E_HOST, "runner: cannot make its control page: %s", strerror(errno));
    }
    void *at = mmap(NULL, sizeof *r->wire, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                    r->ctrl_fd, 0);
    if (at == MAP_FAILED) {
        return kg_fail(err, KG_E_HOST, "runner: cannot map its control page: %s", strerror(errno));
    }
    r->wire = at;
    r->wire->in_bytes = spec->in->bytes;
    r->wire->out_bytes = spec->out->bytes;
    size_t n = strlen(spec->entry);
    if (n >= sizeof r->wire->entry) {
        return kg_fail(err, KG_E_LIMIT, "runner: the entry's name has %zu characters (at most %zu)",
                       n, sizeof r->wire->entry - 1);
    }
    memcpy(r->wire->entry, spec->entry, n + 1);
    return KG_OK;
}

/* Without a mount namespace, the host's own paths are valid inside. */
static bool has_mounts(const struct kg_runner_spec *spec)
{
    uint32_t need = KG_STEP_MOUNTNS;
    return (kg_sandbox_caps()->steps & need) == need && (spec->without & need) == 0;
}

static enum kg_code spawn(const struct kg_runner_spec *spec, struct kg_runner *r, const int out[2],
                          struct kg_err *err)
{
    bool inside = has_mounts(spec);
    char library_path[512];
    snprintf(library_path, sizeof library_path, "LD_LIBRARY_PATH=%s",
             inside            ? INSIDE_KGOPS
             : spec->kgops_dir ? spec->kgops_dir
                               : "");
    const char *argv[] = {inside ? INSIDE_PROGRAM : spec->program,
                          inside ? INSIDE_OBJECT : spec->object, NULL};
    const char *envp[] = {library_path, NULL};
    const struct kg_bind binds[] = {{.src = spec->program, .dst = INSIDE_PROGRAM},
                                    {.src = spec->object, .dst = INSIDE_OBJECT},
                                    {.src = spec->kgops_dir, .dst = INSIDE_KGOPS}};
    const int fds[] = {-1, out[0], out[1], r->ctrl_fd, spec->in->runner_fd, spec->out->runner_fd};
    struct kg_sandbox_spec s = {
        .profile = KG_PROFILE_RUN,
        .argv = argv,
        .envp = envp,
        .binds = binds,
        .nbinds = spec->kgops_dir ? 3 : 2,
        .fds = fds,
        .nfds = sizeof fds / sizeof *fds,
        .limits = spec->limits,
        .cpu = spec->cpu,
        .no_aslr = true,
        .without = spec->without,
    };
    s.limits.memory_bytes += (int64_t)(spec->in->bytes + spec->out->bytes) + RUNNER_BYTES;
    return kg_sandbox_spawn(&s, &r->sandbox, err);
}

/* Spawns the runner with both streams on pipes, which the drain thread reads. */
static enum kg_code launch(const struct kg_runner_spec *spec, struct kg_runner *r,
                           struct kg_err *err)
{
    int one[2], two[2];
    if (pipe2(one, O_CLOEXEC) != 0) {
        return kg_fail(err, KG_E_HOST, "runner: cannot make a pipe: %s", strerror(errno));
    }
    if (pipe2(two, O_CLOEXEC) != 0) {
        int why = errno;
        close(one[0]);
        close(one[1]);
        return kg_fail(err, KG_E_HOST, "runner: cannot make a pipe: %s", strerror(why));
    }
    const int writers[2] = {one[1], two[1]}, readers[2] = {one[0], two[0]};
    enum kg_code code = spawn(spec, r, writers, err);
    close(one[1]);
    close(two[1]);
    if (code != KG_OK) {
        r->sandbox.pid = -1;
        close(one[0]);
        close(two[0]);
        return code;
    }
    struct kg_drain *drain = NULL;
    code = kg_drain_start(readers, r->sandbox.pidfd, spec->output_bytes, r->wire, &drain, err);
    r->drain = drain;
    return code;
}

/* Opens its CPU clock and /proc files. The slack depends on whether broker and runner share one
 * core. */
static enum kg_code observe(const struct kg_runner_spec *spec, struct kg_runner *r,
                            struct kg_err *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)r->sandbox.pid);
    r->stat_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->stat_fd < 0 || clock_getcpuclockid(r->sandbox.pid, &r->cpu_clock) != 0) {
        return kg_fail(err, KG_E_HOST, "runner: cannot read %s or its CPU clock", path);
    }
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)r->sandbox.pid);
    r->syscall_fd = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)r->sandbox.pid);
    r->sched_fd[0] = open(path, O_RDONLY | O_CLOEXEC);
    r->sched_fd[1] = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    cpu_set_t set;
    CPU_ZERO(&set);
    bool together = spec->cpu >= 0 && sched_getaffinity(0, sizeof set, &set) == 0 &&
                    CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)spec->cpu, &set);
    r->idle_slack_ns = together ? KG_IDLE_SLACK_PINNED_NS : KG_IDLE_SLACK_UNPINNED_NS;
    return KG_OK;
}

/* Copies the loader's message, or the candidate's: printable bytes only. */
static void take_note(struct kg_runner *r)
{
    size_t n = 0;
    for (; n + 1 < sizeof r->note && r->wire->note[n]; n++) {
        unsigned char c = (unsigned char)r->wire->note[n];
        r->note[n] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    r->note[n] = 0;
}

/* The runner ended before it was ready to load, so no foreign code has run: an error of the
 * host. */
static enum kg_code boot_failed(struct kg_runner *r, enum kg_run_status status, struct kg_err *err)
{
    kg_runner_stop(r);
    if (status == KG_RUN_TIMEOUT) {
        return kg_fail(err, KG_E_HOST, "runner: not ready before its deadline");
    }
    const struct kg_output *o = &r->output[1];
    int n = (int)(o->head_len < 300 ? o->head_len : 300);
    while (n > 0 && o->head[n - 1] == '\n') {
        n--;
    }
    return kg_fail(err, KG_E_HOST, "runner: it ended before it was ready (status %d): %.*s",
                   r->sandbox.exit.code, n, n > 0 ? o->head : "");
}

static enum kg_code bring_up(const struct kg_runner_spec *spec, struct kg_runner *r,
                             struct kg_err *err)
{
    if (open_control(spec, r, err) != KG_OK || launch(spec, r, err) != KG_OK ||
        observe(spec, r, err) != KG_OK) {
        kg_runner_stop(r);
        return err->code;
    }
    enum kg_run_status status =
        kg_wait_word(r, &r->wire->state, KG_WIRE_BOOT, true, kg_clock_ns() + BOOT_NS);
    return status == KG_RUN_OK ? KG_OK : boot_failed(r, status, err);
}

enum kg_code kg_runner_start(const struct kg_runner_spec *spec, int64_t deadline_ns,
                             struct kg_runner *out, enum kg_run_status *status, struct kg_err *err)
{
    memset(out, 0, sizeof *out);
    out->sandbox.pid = -1;
    out->sandbox.pidfd = -1;
    out->cancelled = spec->cancelled;
    out->ctrl_fd = out->stat_fd = out->syscall_fd = out->sched_fd[0] = out->sched_fd[1] = -1;
    if (bring_up(spec, out, err) != KG_OK) {
        return err->code;
    }
    struct kg_wire *w = out->wire;
    atomic_store_explicit(&w->load, 1, memory_order_release);
    kg_wait_wake(&w->load);
    out->status = kg_wait_word(out, &w->state, KG_WIRE_LOADING, true, deadline_ns);
    if (out->status == KG_RUN_OK) {
        uint32_t state = atomic_load(&w->state);
        take_note(out);
        out->status = state == KG_WIRE_LOAD_FAILED ? KG_RUN_LOAD_FAILED
                      : state == KG_WIRE_NO_ENTRY  ? KG_RUN_NO_ENTRY
                      : state == KG_WIRE_READY     ? KG_RUN_OK
                                                   : KG_RUN_DIED;
    }
    if (out->status == KG_RUN_OK) {
        struct kg_call_report ignored;
        struct kg_task_stat at;
        kg_rest_settle(out, &ignored, &at);
    }
    *status = out->status;
    return KG_OK;
}

const char *kg_runner_unloaded(const struct kg_runner *r)
{
    switch (r->status) {
    case KG_RUN_NO_ENTRY:
        return "it does not export its entry";
    case KG_RUN_TIMEOUT:
        return "it takes longer than the deadline";
    default:
        return r->note[0] != '\0' ? r->note : "its process ended";
    }
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

void kg_runner_stop(struct kg_runner *r)
{
    kg_sandbox_end(&r->sandbox);
    kg_drain_stop(r->drain, r->output);
    r->drain = NULL;
    close_fd(&r->stat_fd);
    close_fd(&r->syscall_fd);
    close_fd(&r->sched_fd[0]);
    close_fd(&r->sched_fd[1]);
    close_fd(&r->ctrl_fd);
    if (r->wire && r->wire != &r->last) {
        memcpy(&r->last, r->wire, sizeof r->last);
        munmap(r->wire, sizeof *r->wire);
        r->wire = &r->last;
    }
    if (r->status == KG_RUN_OK) {
        r->status = KG_RUN_DIED;
    }
}

int kg_runner_signal(const struct kg_runner *r)
{
    const struct kg_exit *x = &r->sandbox.exit;
    if (x->kind == KG_EXIT_SIGNAL) {
        return x->code;
    }
    int claim = (int)r->last.fault_signal;
    return x->kind == KG_EXIT_CODE && claim > 0 && x->code == 128 + claim ? claim : 0;
}
