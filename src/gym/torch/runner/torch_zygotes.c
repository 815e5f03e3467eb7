/* Zygotes and the judge of a worker: started when first needed, and again where they died. */
#include "gym/torch/runner/torch_zygotes.h"

#include <string.h>

#include "base/file.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"

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

/* Has another job memory of the device? Where that cannot be told it may have. */
static bool memory_is_held(struct kg_torch *t)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_tmemory *m = &t->memory;
    m->open = m->open || kg_ledger_open(t->device, &m->ledger, &ignored) == KG_OK;
    return !m->open || kg_ledger_is_held(&m->ledger);
}

/* Memory that is not free then is other programs', unless a job of ours had some before it looked
 * or after. */
enum kg_code kg_torch_judge(struct kg_worker *w, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(w);
    if (t->judge_up) {
        return KG_OK;
    }
    bool shows = kg_tdevice_is_shared(w) && !memory_is_held(t);
    int cpu = kg_torch_on_cpu(w) ? w->cpu : kg_torch_across(&w->allowed, w->cpu);
    struct kg_dj_spec spec = {.device = t->device, .cpu = cpu, .cancelled = w->cancelled};
    if ((t->test.start ? t->test.start : kg_dj_start)(&spec, &t->judge, err) != KG_OK) {
        return err->code;
    }
    t->judge_up = true;
    if (shows && !memory_is_held(t)) {
        t->memory.left = (uint64_t)t->judge.facts.free_bytes;
    }
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

void kg_torch_end_last(struct kg_worker *w)
{
    for (int k = 0; k < KG_INSTANCES; k++) {
        kg_trunner_stop(w, &kg_torch_of(w)->last[k]);
    }
}
