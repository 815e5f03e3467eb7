/* Runners of PyTorch code with a port of the judge's each: begun, ready, ended. */
#include "gym/torch/runner/torch_runner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/trace.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_zygotes.h"

#define DESCRIPTORS 1024 /* Python opens many files while it imports */
#define REGION_MIN  (64u << 10)
#define LEAST_MB    8192
#define TIMES       4 /* inputs and answers, on a CPU */
#define MADE        2 /* parameters and buffers: constructors make them on the host, from others */
/* So many contexts: the driver makes one after the other, but of five together each takes 0.1 s, of
 * eleven 0.08, one alone 0.14. */
#define AT_ONCE 16
/* After so long those who wait for the device alone step back, and let others on it. */
#define SLOW_NS   200000000
#define ATTEND_NS 1000000 /* pause between two looks at `building` */

static uint64_t at_least(uint64_t bytes)
{
    return bytes > REGION_MIN ? bytes : REGION_MIN;
}

/* A reference draws its inputs on the host, and is the problem's own. A candidate needs them there
 * only on a CPU, with what it makes of them; but it is constructed there wherever it runs. */
int64_t kg_trunner_memory_mb(const struct kg_worker *w, bool reference)
{
    const struct kg_task_desc *d = &kg_torch_of(w)->instance[KG_INSTANCE_PUBLISHED].desc;
    int64_t host = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) >> 20;
    int64_t large = (int64_t)((d->input_bytes + d->output_bytes) >> 20) * TIMES;
    int64_t most = host / 4 * 3 > LEAST_MB ? host / 4 * 3 : LEAST_MB;
    int64_t made = (int64_t)(d->state_bytes >> 20) * MADE;
    int64_t want = reference ? most : LEAST_MB + made + (kg_torch_on_cpu(w) ? large : 0);
    return w->config.torch_memory_mb > 0 ? w->config.torch_memory_mb : want < most ? want : most;
}

/* Processor time is a candidate's limit: a reference serves any number of them. */
static void limits(const struct kg_worker *w, const char *source, struct kg_limits *out)
{
    const struct kg_config *c = &w->config;
    bool stays = strcmp(source, kg_torch_of(w)->problem_file) == 0;
    *out = (struct kg_limits){.memory_bytes = kg_trunner_memory_mb(w, stays) << 20,
                              .processes = c->limit_processes,
                              .file_bytes = c->limit_file_mb << 20,
                              .cpu_s = stays ? 0 : (int64_t)c->torch_deadline_eval + 1,
                              .descriptors = DESCRIPTORS};
}

static enum kg_code begin_runner(struct kg_worker *w, struct kg_zygote *z, const char *source,
                                 const int fds[3], struct kg_trunner *out, struct kg_err *err)
{
    /* On a GPU building may take any core, until they are timed (kg_pyrunner_pin). */
    struct kg_pyrunner_spec spec = {
        .source = source,
        .ctrl_fd = fds[0],
        .in_fd = fds[1],
        .out_fd = fds[2],
        .scratch_mb = w->config.limit_scratch_mb,
        .cpu = kg_torch_on_cpu(w) ? w->cpu : -1,
        .connections = kg_torch_protocol(w)->as_there ? 0 : (int)w->config.torch_connections};
    limits(w, source, &spec.limits);
    enum kg_code code = kg_pyrunner_begin(z, &spec, &out->runner, err);
    out->runner.cancelled = w->cancelled;
    return code;
}

enum kg_code kg_trunner_begin(struct kg_worker *w, struct kg_zygote *z, const char *source,
                              uint64_t in_bytes, uint64_t out_bytes, struct kg_trunner *out,
                              struct kg_err *err)
{
    int fds[3];
    *out = (struct kg_trunner){
        .port = -1, .in_bytes = at_least(in_bytes), .out_bytes = at_least(out_bytes)};
    if (kg_dj_port_open(&kg_torch_of(w)->judge, out->in_bytes, out->out_bytes, &out->port, fds,
                        err) != KG_OK) {
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
    (void)!kg_dj_port_close(&kg_torch_of(w)->judge, out->port, &ignored);
    return code;
}

enum kg_code kg_trunner_use(struct kg_worker *w, const struct kg_trunner *s, uint64_t out_bytes,
                            struct kg_err *err)
{
    return kg_dj_port_use(&kg_torch_of(w)->judge, s->port, at_least(out_bytes), err);
}

static enum kg_code take_turn(const struct kg_worker *w, struct kg_lease *turn, struct kg_err *err)
{
    char part[32], path[KG_LEASE_PATH];
    *turn = KG_LEASE_NONE;
    if (!kg_torch_of(w)->judge.facts.clock || kg_torch_of(w)->judge.held) {
        return KG_OK;
    }
    snprintf(part, sizeof part, ".boot%d", w->cpu % AT_ONCE);
    kg_lease_device_path(kg_torch_of(w)->device, part, path);
    return kg_lease_acquire_at(path, 0, turn, w->cancelled, err);
}

/* One that has made its context while its worker did something else needs no turn. */
enum kg_code kg_trunner_boot(struct kg_worker *w, struct kg_trunner *s, struct kg_tboot *boot,
                             struct kg_err *err)
{
    *boot = (struct kg_tboot){.turn = KG_LEASE_NONE, .device = KG_LEASE_NONE};
    int64_t begun = kg_clock_ns();
    enum kg_code code = KG_OK;
    if (!s->runner.told) {
        code = take_turn(w, &boot->turn, err);
        code = code == KG_OK ? kg_torch_device_acquire(w, &boot->device, err) : code;
    }
    kg_trace_span(begun, "runner", "wait to boot");
    boot->apart = boot->device.fd_long >= 0;
    boot->since_ns = kg_clock_ns();
    if (code == KG_OK) {
        kg_pyrunner_go(&s->runner);
        kg_torch_end_last(w);
        return KG_OK;
    }
    kg_lease_release(&boot->turn);
    kg_trunner_stop(w, s);
    return code;
}

/* Its context is made: others may be timed. */
static void let_others(struct kg_worker *w, struct kg_tboot *boot)
{
    if (boot->device.fd_long >= 0) {
        kg_trace_span(boot->since_ns, "runner", "boot");
        kg_torch_device_release(w, &boot->device);
        kg_lease_release(&boot->turn);
    }
}

void kg_trunner_look(struct kg_worker *w, const struct kg_trunner *s, struct kg_tboot *boot)
{
    if (kg_pyrunner_at_rest(&s->runner)) {
        let_others(w, boot);
    }
}

/* The rest takes 40 ms: whoever waits for contexts to be made need not wait for that. Beside other
 * contexts, which are made next, it takes no time of the device's. */
static enum kg_code made_context(struct kg_worker *w, struct kg_trunner *s, struct kg_tboot *boot,
                                 const char **part, struct kg_err *err)
{
    if (kg_pyrunner_has_context(&s->runner, err) != KG_OK) {
        return err->code;
    }
    let_others(w, boot);
    int64_t asked = kg_clock_ns();
    enum kg_code code = kg_torch_device_last(w, &boot->device, err);
    kg_trace_span(asked, "runner", "wait to prepare");
    boot->since_ns = kg_clock_ns();
    *part = "prepare";
    return code;
}

enum kg_code kg_trunner_booted(struct kg_worker *w, struct kg_trunner *s, struct kg_tboot *boot,
                               struct kg_err *err)
{
    const char *part = "boot";
    enum kg_code code = boot->apart ? made_context(w, s, boot, &part, err) : KG_OK;
    code = code == KG_OK ? kg_pyrunner_ready(&s->runner, err) : code;
    kg_trace_span(boot->since_ns, "runner", part);
    if (code == KG_OK) {
        code = kg_dj_port_attach(&kg_torch_of(w)->judge, s->port, s->runner.sandbox.pidfd, err);
    }
    kg_torch_device_release(w, &boot->device);
    kg_lease_release(&boot->turn);
    if (code != KG_OK) {
        kg_trunner_stop(w, s);
    }
    return code;
}

enum kg_code kg_trunner_ready(struct kg_worker *w, struct kg_trunner *s, struct kg_err *err)
{
    struct kg_tboot boot;
    return kg_trunner_boot(w, s, &boot, err) == KG_OK ? kg_trunner_booted(w, s, &boot, err)
                                                      : err->code;
}

enum kg_code kg_trunner_start(struct kg_worker *w, bool interpret, const char *source,
                              uint64_t in_bytes, uint64_t out_bytes, struct kg_trunner *out,
                              struct kg_err *err)
{
    struct kg_zygote *z;
    *out = (struct kg_trunner){.port = -1};
    if (kg_torch_judge(w, err) != KG_OK || kg_torch_zygote(w, interpret, &z, err) != KG_OK) {
        return err->code;
    }
    return kg_trunner_begin(w, z, source, in_bytes, out_bytes, out, err) == KG_OK
               ? kg_trunner_ready(w, out, err)
               : err->code;
}

/* The device while a reference is set up. */
struct setting_up {
    struct kg_lease lease;
    int64_t since_ns; /* the lease is held since then */
    int64_t until_ns; /* moved by what it waits for the device */
};

/* Acts on the runner's word: others may be timed while it works on the host. What takes long is
 * marked. */
static enum kg_code attend(struct kg_worker *w, struct kg_trunner *s, struct setting_up *u,
                           struct kg_err *err)
{
    uint32_t said = atomic_load(&s->runner.wire->building);
    if (said == KG_TB_BUSY) {
        kg_torch_device_release(w, &u->lease);
    }
    if (said == KG_TB_WAITS) {
        int64_t asked = kg_clock_ns();
        if (u->lease.fd_long < 0 && kg_torch_device_acquire(w, &u->lease, err) != KG_OK) {
            return err->code;
        }
        u->since_ns = kg_clock_ns();
        u->until_ns += u->since_ns - asked;
        kg_pyrunner_let_on(&s->runner);
    }
    struct kg_lease *l = &u->lease;
    bool slow = l->fd_long >= 0 && l->fd_slow < 0 && kg_clock_ns() - u->since_ns > SLOW_NS;
    return slow ? kg_lease_slow(kg_torch_of(w)->device, l, err) : KG_OK;
}

static enum kg_code await_answer(struct kg_worker *w, struct kg_trunner *s,
                                 const struct kg_pyquestion *q, bool polite, struct setting_up *u,
                                 struct kg_pyanswer *a, struct kg_err *err)
{
    int64_t lost = kg_clock_lost_ns(), until, slice;
    do {
        if (polite && attend(w, s, u, err) != KG_OK) {
            return err->code;
        }
        until = u->until_ns + kg_clock_lost_ns() - lost;
        slice = polite ? kg_clock_ns() + ATTEND_NS : until;
        kg_pyrunner_answer(&s->runner, q, slice < until ? slice : until, a);
    } while (a->status == KG_PY_TIMEOUT && slice < until && !*w->cancelled);
    return KG_OK;
}

enum kg_code kg_trunner_set_up(struct kg_worker *w, struct kg_trunner *s, enum kg_tcommand command,
                               const json_t *request, uint64_t seed, int64_t ns,
                               struct kg_pyanswer *a, struct kg_err *err)
{
    struct setting_up u = {.lease = KG_LEASE_NONE};
    struct kg_pyquestion q;
    if (command != KG_TC_LOAD && kg_torch_device_acquire(w, &u.lease, err) != KG_OK) {
        return err->code;
    }
    bool polite = u.lease.fd_long >= 0;
    int64_t begun = u.since_ns = kg_clock_ns();
    u.until_ns = begun + ns;
    kg_pyrunner_ask(&s->runner, command, request, seed, polite, &q);
    enum kg_code code = await_answer(w, s, &q, polite, &u, a, err);
    kg_trace_span(begun, "reference", kg_tcommand_name(command));
    kg_torch_device_release(w, &u.lease);
    if (code != KG_OK) {
        kg_trunner_stop(w, s);
    }
    return code;
}

/* One that is at work is ended at once; to one that waits for a command, others go first. A port
 * that cannot be closed is a judge's that is gone. */
void kg_trunner_stop(struct kg_worker *w, struct kg_trunner *s)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_lease l = KG_LEASE_NONE;
    if (!s->up) {
        return;
    }
    int64_t begun = kg_clock_ns();
    if (kg_torch_of(w)->judge_up && kg_pyrunner_at_rest(&s->runner)) {
        (void)!kg_torch_device_acquire(w, &l, &ignored);
    }
    kg_trace_span(begun, "runner", "wait to end");
    begun = kg_clock_ns();
    kg_pyrunner_stop(&s->runner);
    kg_trace_span(begun, "runner", "end");
    if (kg_torch_of(w)->judge_up) {
        const struct kg_sandbox *box = &s->runner.sandbox; /* its namespace ended with it */
        bool gone = box->exit.kind != KG_EXIT_RUNNING && (box->isolation.has & KG_STEP_PIDNS);
        (void)!(gone ? kg_dj_port_end : kg_dj_port_close)(&kg_torch_of(w)->judge, s->port,
                                                          &ignored);
    }
    kg_torch_device_release(w, &l);
    if (s->source[0]) {
        unlink(s->source);
    }
    s->up = false;
    s->stopped = true;
}
