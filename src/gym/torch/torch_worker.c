/* The worker's part of the PyTorch executor: the device, zygotes, the judge. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/file.h"
#include "gym/torch/timing/gpu.h"
#include "gym/torch/torch.h"

const char *kg_instance_name(enum kg_instance_kind kind)
{
    static const char *const names[KG_INSTANCES] = {"published", "tiny", "shape"};
    return names[kind];
}

const char *kg_torch_device(const struct kg_config *c)
{
    bool asked = strcmp(c->device, "auto") != 0;
    return asked ? c->device : kg_file_exists("/dev/nvidiactl") ? "cuda:0" : "cpu";
}

bool kg_torch_on_cpu(const struct kg_worker *w)
{
    return strcmp(kg_torch_of(w)->device, "cpu") == 0;
}

enum kg_code kg_torch_take_device(struct kg_worker *w, bool exclusive, struct kg_lease *out,
                                  struct kg_err *err)
{
    kg_tspare_settle(w);
    bool apart = w->config.torch_contexts_apart || kg_torch_of(w)->contexts_apart;
    enum kg_code code =
        exclusive ? kg_lease_alone(kg_torch_of(w)->device, apart, out, w->cancelled, err) : KG_OK;
    kg_torch_of(w)->judge.held = exclusive && code == KG_OK;
    return code;
}

void kg_torch_give_device(struct kg_worker *w, struct kg_lease *l)
{
    kg_torch_of(w)->judge.held = false;
    kg_lease_release(l);
}

enum kg_code kg_torch_device_acquire(struct kg_worker *w, struct kg_lease *l, struct kg_err *err)
{
    struct kg_dj *j = &kg_torch_of(w)->judge;
    *l = KG_LEASE_NONE;
    if (!j->facts.clock || j->held) {
        return KG_OK;
    }
    enum kg_code code = kg_lease_share_long(kg_torch_of(w)->device, l, w->cancelled, err);
    j->held = code == KG_OK;
    return code;
}

void kg_torch_device_release(struct kg_worker *w, struct kg_lease *l)
{
    if (l->fd_long >= 0) {
        kg_torch_give_device(w, l);
    }
}

enum kg_code kg_torch_open(struct kg_worker *w, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(w);
    if (t) {
        return KG_OK;
    }
    t = calloc(1, sizeof *t);
    if (!t) {
        return kg_fail(err, KG_E_LIMIT, "no memory for the PyTorch executor");
    }
    kg_worker_set_part(w, &kg_executor_torch, t);
    snprintf(t->device, sizeof t->device, "%s", kg_torch_device(&w->config));
    snprintf(t->problem_file, sizeof t->problem_file, "%s/problem.py", w->scratch.path);
    for (int k = 0; k < KG_INSTANCES; k++) {
        t->instance[k].kind = (enum kg_instance_kind)k;
    }
    /* Runners are the zygote's grandchildren; they must become this process's to be waited for. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return KG_OK;
}

static enum kg_code with_advice(struct kg_err *err)
{
    struct kg_err cause = *err;
    return cause.code != KG_E_HOST || cause.advised
               ? cause.code
               : kg_fail(err, KG_E_HOST,
                         "%.300s; `make torch` makes an environment with torch, and KGYM_PYTHON "
                         "names another python",
                         cause.message);
}

/* A name is looked for as a shell does; a path is one from here, not from the zygote's folder. */
static enum kg_code name_python(struct kg_worker *w, struct kg_err *err)
{
    char *out = kg_torch_of(w)->python;
    size_t cap = sizeof kg_torch_of(w)->python;
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
    struct kg_torch *t = kg_torch_of(w);
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
        .cancelled = w->cancelled,
    };
    t->zygote_up[interpret] = kg_zygote_begin(&spec, z, err) == KG_OK;
    return t->zygote_up[interpret] ? KG_OK : err->code;
}

static enum kg_code ready_zygote(struct kg_worker *w, bool interpret, struct kg_err *err)
{
    if (kg_zygote_ready(&kg_torch_of(w)->zygote[interpret], err) == KG_OK) {
        return KG_OK;
    }
    kg_torch_of(w)->zygote_up[interpret] = false;
    return with_advice(err);
}

enum kg_code kg_torch_zygote(struct kg_worker *w, bool interpret, struct kg_zygote **out,
                             struct kg_err *err)
{
    *out = &kg_torch_of(w)->zygote[interpret];
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
    struct kg_torch *t = kg_torch_of(w);
    if (t->judge_up) {
        return KG_OK;
    }
    int cpu = kg_torch_on_cpu(w) ? w->cpu : kg_torch_across(&w->allowed, w->cpu);
    struct kg_dj_spec spec = {.device = t->device, .cpu = cpu, .cancelled = w->cancelled};
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

/* For kg_torch_end_last(). */
static void put_aside(struct kg_torch *t, struct kg_trunner *s)
{
    for (int k = 0; k < KG_INSTANCES && s->up; k++) {
        if (!t->last[k].up) {
            t->last[k] = *s;
            *s = (struct kg_trunner){.port = -1};
        }
    }
}

void kg_torch_end_last(struct kg_worker *w)
{
    for (int k = 0; k < KG_INSTANCES; k++) {
        kg_trunner_stop(w, &kg_torch_of(w)->last[k]);
    }
}

void kg_torch_leave(struct kg_worker *w)
{
    struct kg_torch *t = kg_torch_of(w);
    if (t->judge.pid > 0) {
        struct kg_err ignored = KG_ERR_INIT;
        (void)!kg_dj_case_forget(&t->judge, KG_TORCH_TIMING_ID, 1, &ignored);
    }
    for (int k = 0; k < KG_INSTANCES; k++) {
        put_aside(t, &t->instance[k].ref);
        kg_tinstance_close(w, &t->instance[k]);
    }
    kg_tproblem_destroy(t->problem);
    t->problem = NULL;
    t->no_tiny = false;
}

/* Regions, masters and answers end with the judge, which is told nothing of them then. */
void kg_torch_forget(struct kg_worker *w, enum kg_forget what)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_lease l = KG_LEASE_NONE;
    struct kg_err ignored = KG_ERR_INIT;
    if (!t) {
        return;
    }
    if (what >= KG_FORGET_JUDGE && t->judge_up) {
        (void)!kg_torch_device_acquire(w, &l, &ignored);
        kg_dj_stop(&t->judge);
        t->judge_up = false;
    }
    kg_tspare_drop(w);
    kg_trunner_stop(w, &t->null);
    kg_torch_leave(w);
    kg_torch_end_last(w);
    kg_torch_device_release(w, &l);
    if (what < KG_FORGET_ALL) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (t->zygote_up[i]) {
            kg_zygote_stop(&t->zygote[i]);
        }
    }
    kg_tgpu_close(w);
    free(t);
    kg_worker_set_part(w, &kg_executor_torch, NULL);
}

void kg_torch_close(struct kg_worker *w)
{
    kg_torch_forget(w, KG_FORGET_ALL);
}
