/* The worker's part of the PyTorch executor: zygotes, judge, and runners with their ports. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/trace.h"
#include "gym/torch/torch.h"

#define DESCRIPTORS 1024 /* Python opens many files while it imports */
#define REGION_MIN  (64u << 10)

const char *kg_scene_name(enum kg_scene_kind kind)
{
    static const char *const names[KG_SCENES] = {"published", "tiny", "shape"};
    return names[kind];
}

const char *kg_torch_device(const struct kg_config *c)
{
    bool asked = strcmp(c->device, "auto") != 0;
    return asked ? c->device : kg_file_exists("/dev/nvidiactl") ? "cuda:0" : "cpu";
}

bool kg_torch_on_cpu(const struct kg_worker *w)
{
    return strcmp(w->torch->device, "cpu") == 0;
}

enum kg_code kg_torch_take_device(struct kg_worker *w, bool exclusive, struct kg_lease *out,
                                  struct kg_err *err)
{
    kg_tspare_settle(w);
    bool apart = w->config.torch_contexts_apart || w->torch->contexts_apart;
    enum kg_code code =
        exclusive ? kg_lease_alone(w->torch->device, apart, out, &kg_cancelled, err) : KG_OK;
    w->torch->judge.held = exclusive && code == KG_OK;
    return code;
}

void kg_torch_give_device(struct kg_worker *w, struct kg_lease *l)
{
    w->torch->judge.held = false;
    kg_lease_release(l);
}

enum kg_code kg_torch_open(struct kg_worker *w, struct kg_err *err)
{
    if (w->torch) {
        return KG_OK;
    }
    w->torch = calloc(1, sizeof *w->torch);
    if (!w->torch) {
        return kg_fail(err, KG_E_LIMIT, "no memory for the PyTorch executor");
    }
    snprintf(w->torch->device, sizeof w->torch->device, "%s", kg_torch_device(&w->config));
    snprintf(w->torch->problem_file, sizeof w->torch->problem_file, "%s/problem.py",
             w->scratch.path);
    for (int k = 0; k < KG_SCENES; k++) {
        w->torch->scene[k].kind = (enum kg_scene_kind)k;
    }
    /* Runners are the zygote's grandchildren; they must become this process's to be waited for. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return KG_OK;
}

static enum kg_code with_advice(struct kg_err *err)
{
    struct kg_err cause = *err;
    return cause.code != KG_E_HOST || strstr(cause.message, "make torch")
               ? cause.code
               : kg_fail(err, KG_E_HOST,
                         "%.300s; `make torch` makes an environment with torch, and KGYM_PYTHON "
                         "names another python",
                         cause.message);
}

/* A name is looked for as a shell does; a path is one from here, not from the zygote's folder. */
static enum kg_code name_python(struct kg_worker *w, struct kg_err *err)
{
    char *out = w->torch->python;
    size_t cap = sizeof w->torch->python;
    const char *own = w->paths.own_python, *asked = w->config.python;
    const char *python = *asked ? asked : *own ? own : "python3";
    if (strchr(python, '/')) {
        return kg_file_absolute(python, out, cap, err);
    }
    snprintf(out, cap, "%s", python);
    return KG_OK;
}

/* It is there, or begins to import. */
static enum kg_code begin_zygote(struct kg_worker *w, bool interpret, struct kg_err *err)
{
    struct kg_torch *t = w->torch;
    struct kg_zygote *z = &t->zygote[interpret];
    if (t->zygote_up[interpret] && kg_zygote_alive(z)) {
        return KG_OK;
    }
    if (t->zygote_up[interpret]) {
        if (t->spare_interprets == interpret) {
            kg_tspare_drop(w);
        }
        kg_zygote_stop(z);
        t->zygote_up[interpret] = false;
    }
    if (!kg_file_exists(w->paths.harness) || !kg_file_exists(w->paths.probe)) {
        return kg_fail(err, KG_E_HOST, "%s is missing: build it with `make`",
                       kg_file_exists(w->paths.harness) ? w->paths.probe : w->paths.harness);
    }
    if (name_python(w, err) != KG_OK) {
        return err->code;
    }
    struct kg_zygote_spec spec = {
        .python = t->python,
        .harness = w->paths.harness,
        .probe = w->paths.probe,
        .interpret = interpret,
        .cuda = !kg_torch_on_cpu(w),
        .cpus = w->allowed,
        .device = t->device,
        .cancelled = &kg_cancelled,
    };
    t->zygote_up[interpret] = kg_zygote_begin(&spec, z, err) == KG_OK;
    return t->zygote_up[interpret] ? KG_OK : err->code;
}

static enum kg_code ready_zygote(struct kg_worker *w, bool interpret, struct kg_err *err)
{
    if (kg_zygote_ready(&w->torch->zygote[interpret], err) == KG_OK) {
        return KG_OK;
    }
    w->torch->zygote_up[interpret] = false;
    return with_advice(err);
}

enum kg_code kg_torch_zygote(struct kg_worker *w, bool interpret, struct kg_zygote **out,
                             struct kg_err *err)
{
    *out = &w->torch->zygote[interpret];
    enum kg_code code = begin_zygote(w, interpret, err);
    return code == KG_OK ? ready_zygote(w, interpret, err) : code;
}

int kg_torch_across(const cpu_set_t *allowed, int cpu)
{
    int n = CPU_COUNT(allowed), at = 0, k = 0;
    if (cpu < 0 || n < 2 || !CPU_ISSET((size_t)cpu, allowed)) {
        return cpu;
    }
    for (int c = 0; c < cpu; c++) {
        at += CPU_ISSET((size_t)c, allowed) != 0;
    }
    at = (at + n / 2) % n;
    for (int c = 0; c < CPU_SETSIZE; c++) {
        if (CPU_ISSET((size_t)c, allowed) && k++ == at) {
            return c;
        }
    }
    return cpu;
}

enum kg_code kg_torch_judge(struct kg_worker *w, struct kg_err *err)
{
    struct kg_torch *t = w->torch;
    if (t->judge_up) {
        return KG_OK;
    }
    int cpu = kg_torch_on_cpu(w) ? w->cpu : kg_torch_across(&w->allowed, w->cpu);
    struct kg_dj_spec spec = {.device = t->device, .cpu = cpu, .cancelled = &kg_cancelled};
    if (kg_dj_start(&spec, &t->judge, err) != KG_OK) {
        return err->code;
    }
    t->judge_up = true;
    return KG_OK;
}

enum kg_code kg_torch_start(struct kg_worker *w, struct kg_err *err)
{
    struct kg_err judge = KG_ERR_INIT;
    if (begin_zygote(w, false, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = kg_torch_judge(w, &judge);
    if (ready_zygote(w, false, err) != KG_OK) {
        return err->code;
    }
    *err = judge;
    return code;
}

static void limits(const struct kg_worker *w, struct kg_limits *out)
{
    const struct kg_config *c = &w->config;
    *out = (struct kg_limits){.memory_bytes = c->torch_memory_mb << 20,
                              .processes = c->limit_processes,
                              .file_bytes = c->limit_file_mb << 20,
                              .cpu_s = (int64_t)c->torch_deadline_eval + 1,
                              .descriptors = DESCRIPTORS};
}

static enum kg_code begin_runner(struct kg_worker *w, struct kg_zygote *z, const char *source,
                                 const int fds[3], struct kg_tside *out, struct kg_err *err)
{
    /* On a GPU building may take any core, until they are timed (kg_pyrunner_pin). */
    struct kg_pyrunner_spec spec = {.source = source,
                                    .ctrl_fd = fds[0],
                                    .in_fd = fds[1],
                                    .out_fd = fds[2],
                                    .cpu = kg_torch_on_cpu(w) ? w->cpu : -1,
                                    .connections =
                                        kg_torch_compat(w) ? 0 : (int)w->config.torch_connections};
    limits(w, &spec.limits);
    enum kg_code code = kg_pyrunner_begin(z, &spec, &out->runner, err);
    out->runner.cancelled = &kg_cancelled;
    return code;
}

enum kg_code kg_tside_begin(struct kg_worker *w, struct kg_zygote *z, const char *source,
                            uint64_t in_bytes, uint64_t out_bytes, struct kg_tside *out,
                            struct kg_err *err)
{
    int fds[3];
    *out = (struct kg_tside){.port = -1,
                             .in_bytes = in_bytes > REGION_MIN ? in_bytes : REGION_MIN,
                             .out_bytes = out_bytes > REGION_MIN ? out_bytes : REGION_MIN};
    if (kg_dj_port_open(&w->torch->judge, out->in_bytes, out->out_bytes, &out->port, fds, err) !=
        KG_OK) {
        return err->code;
    }
    int64_t begun = kg_clock_ns();
    enum kg_code code = begin_runner(w, z, source, fds, out, err);
    kg_trace_span(begun, "runner", "fork");
    for (int i = 0; i < 3; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    if (code == KG_OK) {
        out->up = true;
        return KG_OK;
    }
    struct kg_err ignored = KG_ERR_INIT;
    (void)!kg_dj_port_close(&w->torch->judge, out->port, &ignored);
    return code;
}

/* Eight at once make contexts nearly as fast as the driver can. */
static enum kg_code take_turn(const struct kg_worker *w, struct kg_lease *turn, struct kg_err *err)
{
    char base[96], path[192];
    *turn = KG_LEASE_NONE;
    if (!w->torch->judge.facts.clock || w->torch->judge.held) {
        return KG_OK;
    }
    kg_lease_default_path(base, sizeof base);
    snprintf(path, sizeof path, "%s.%.40s.boot%d", base, w->torch->device, w->cpu & 7);
    return kg_lease_acquire_at(path, 0, turn, &kg_cancelled, err);
}

/* A context that is made or ended is felt by whoever is timed on that device (docs/gpu.md: how
 * much).
 */
static enum kg_code share_device(struct kg_worker *w, struct kg_lease *l, struct kg_err *err)
{
    struct kg_dj *j = &w->torch->judge;
    *l = KG_LEASE_NONE;
    if (!j->facts.clock || j->held) {
        return KG_OK;
    }
    enum kg_code code = kg_lease_share_long(w->torch->device, l, &kg_cancelled, err);
    j->held = code == KG_OK;
    return code;
}

static void shared_device(struct kg_worker *w, struct kg_lease *l)
{
    if (l->fd_long >= 0) {
        kg_torch_give_device(w, l);
    }
}

/* One that has made its context while its worker did something else needs no turn. */
enum kg_code kg_tside_ready(struct kg_worker *w, struct kg_tside *s, struct kg_tside *last,
                            struct kg_err *err)
{
    struct kg_lease l = KG_LEASE_NONE, turn = KG_LEASE_NONE;
    int64_t begun = kg_clock_ns();
    enum kg_code code = KG_OK;
    if (!s->runner.told) {
        code = take_turn(w, &turn, err);
        code = code == KG_OK ? share_device(w, &l, err) : code;
    }
    kg_trace_span(begun, "runner", "wait to boot");
    begun = kg_clock_ns();
    if (code == KG_OK && last) {
        kg_pyrunner_go(&s->runner);
        kg_tside_stop(w, last);
    }
    code = code == KG_OK ? kg_pyrunner_ready(&s->runner, err) : code;
    kg_trace_span(begun, "runner", "boot");
    if (code == KG_OK) {
        code = kg_dj_port_attach(&w->torch->judge, s->port, s->runner.sandbox.pidfd, err);
    }
    shared_device(w, &l);
    kg_lease_release(&turn);
    if (code != KG_OK) {
        kg_tside_stop(w, s);
    }
    return code;
}

enum kg_code kg_tside_start(struct kg_worker *w, bool interpret, const char *source,
                            uint64_t in_bytes, uint64_t out_bytes, struct kg_tside *out,
                            struct kg_err *err)
{
    struct kg_zygote *z;
    *out = (struct kg_tside){.port = -1};
    if (kg_torch_judge(w, err) != KG_OK || kg_torch_zygote(w, interpret, &z, err) != KG_OK) {
        return err->code;
    }
    return kg_tside_begin(w, z, source, in_bytes, out_bytes, out, err) == KG_OK
               ? kg_tside_ready(w, out, NULL, err)
               : err->code;
}

/* One that is at work is ended at once; to one that waits for a command, others go first. A port
 * that cannot be closed is a judge's that is gone. */
void kg_tside_stop(struct kg_worker *w, struct kg_tside *s)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_lease l = KG_LEASE_NONE;
    if (!s->up) {
        return;
    }
    int64_t begun = kg_clock_ns();
    if (w->torch->judge_up && kg_pyrunner_at_rest(&s->runner)) {
        (void)!share_device(w, &l, &ignored);
    }
    kg_trace_span(begun, "runner", "wait to end");
    begun = kg_clock_ns();
    kg_pyrunner_stop(&s->runner);
    kg_trace_span(begun, "runner", "end");
    if (w->torch->judge_up) {
        const struct kg_sandbox *box = &s->runner.sandbox; /* its namespace ended with it */
        bool gone = box->exit.kind != KG_EXIT_RUNNING && (box->isolation.has & KG_STEP_PIDNS);
        (void)!(gone ? kg_dj_port_end : kg_dj_port_close)(&w->torch->judge, s->port, &ignored);
    }
    shared_device(w, &l);
    if (s->source[0]) {
        unlink(s->source);
    }
    s->up = false;
    s->stopped = true;
}

void kg_torch_leave(struct kg_worker *w)
{
    struct kg_torch *t = w->torch;
    kg_tside_stop(w, &t->null);
    if (t->judge.pid > 0) {
        struct kg_err ignored = KG_ERR_INIT;
        (void)!kg_dj_case_forget(&t->judge, KG_TORCH_TIMING_ID, &ignored);
    }
    for (int k = 0; k < KG_SCENES; k++) {
        kg_tscene_close(w, &t->scene[k]);
    }
    kg_tproblem_destroy(t->problem);
    t->problem = NULL;
    t->no_tiny = false;
}

void kg_torch_forget(struct kg_worker *w, enum kg_forget what)
{
    struct kg_torch *t = w->torch;
    if (!t) {
        return;
    }
    kg_tspare_drop(w);
    kg_torch_leave(w);
    if (what >= KG_FORGET_JUDGE && t->judge_up) {
        kg_dj_stop(&t->judge);
        t->judge_up = false;
    }
    if (what < KG_FORGET_ALL) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (t->zygote_up[i]) {
            kg_zygote_stop(&t->zygote[i]);
        }
    }
    free(t);
    w->torch = NULL;
}
