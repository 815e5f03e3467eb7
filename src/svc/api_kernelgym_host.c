/* What KernelGYM's clients ask of the server itself. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "svc/api_kernelgym.h"
#include "svc/metrics.h"

void kg_svc_kernelgym_bad(struct kg_svc_exchange *x, const char *message)
{
    struct kg_kernelgym_refusal no = {.status = 400};
    snprintf(no.message, sizeof no.message, "%s", message);
    kg_svc_header(x, "X-Error-Code", "VALIDATION_ERROR");
    kg_svc_reply_json(x, 400, kg_kernelgym_refusal_body(&no, kg_svc_now_ms() * 1000));
}

static void look_at_host(struct kg_kernelgym_counts *c)
{
    double load = 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) == 1 && cores > 0) {
        c->cpu_percent = load < (double)cores ? 100 * load / (double)cores : 100;
    }
    int64_t page = sysconf(_SC_PAGESIZE);
    c->memory_bytes = sysconf(_SC_PHYS_PAGES) * page;
    c->memory_free_bytes = sysconf(_SC_AVPHYS_PAGES) * page;
    c->memory_percent = c->memory_bytes > 0
                            ? 100 - 100 * (double)c->memory_free_bytes / (double)c->memory_bytes
                            : 0;
}

/* What the store counts, KernelGYM's tasks and others together. d, opened, lives as long as c.
 * Errors: of the store. */
static enum kg_code count(struct kg_svc_api *a, const struct kg_svc_kernelgym_devices *d,
                          struct kg_kernelgym_counts *c, struct kg_err *err)
{
    struct kg_svc_stats s;
    int64_t now_ms = kg_svc_now_ms();
    if (a->store->kind->stats(a->store, &s, err) != KG_OK) {
        return err->code;
    }
    *c = (struct kg_kernelgym_counts){.now_us = now_ms * 1000,
                                      .since_us = a->begun_ms * 1000,
                                      .pending = s.jobs[KG_SVC_WAITING],
                                      .processing = s.jobs[KG_SVC_RUNNING],
                                      .completed = s.jobs[KG_SVC_DONE],
                                      .failed = s.jobs[KG_SVC_CANCELLED] + s.jobs[KG_SVC_DEAD],
                                      .device = d->gpu,
                                      .ndevices = d->ngpus,
                                      .worker = d->worker,
                                      .nworkers = d->nworkers};
    c->oldest_s = s.oldest_ms > 0 ? (double)(now_ms - s.oldest_ms) / 1000 : 0;
    look_at_host(c);
    return KG_OK;
}

static void tell(struct kg_svc_exchange *x, struct kg_svc_api *a,
                 json_t *(*form)(const struct kg_kernelgym_counts *c))
{
    struct kg_kernelgym_counts c = {.now_us = 0};
    struct kg_svc_kernelgym_devices d;
    struct kg_err err = KG_ERR_INIT;
    kg_svc_kernelgym_devices_open(a, &d);
    if (count(a, &d, &c, &err) == KG_OK) {
        kg_svc_reply_json(x, 200, form(&c));
    } else {
        kg_svc_kernelgym_detail(x, 503, "the store can't be read now", "", "");
    }
    kg_svc_kernelgym_devices_close(&d);
}

void kg_svc_kernelgym_get_health(struct kg_svc_exchange *x, void *ctx)
{
    tell(x, ctx, kg_kernelgym_health);
}

void kg_svc_kernelgym_get_queue(struct kg_svc_exchange *x, void *ctx)
{
    tell(x, ctx, kg_kernelgym_queue);
}

void kg_svc_kernelgym_get_root(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply_json(x, 200, kg_kernelgym_root(kg_svc_now_ms() * 1000));
}

/* --- /metrics --- */

static int64_t of(const struct kg_svc_counted *c, const char *outcome)
{
    char name[KG_SVC_NAME_MAX];
    snprintf(name, sizeof name, "event:finished:%s", outcome);
    return kg_svc_counted_get(c, name);
}

/* Tasks that ended, as KernelGYM names them, from the verdicts: a candidate that was built is
 * `completed`. A crash is counted so as well, though one whose process died reads `failed`. */
static void sort_out(const struct kg_svc_counted *all, struct kg_kernelgym_counts *c)
{
    static const char *const built[] = {"ok", "wrong", "hack", "crash", "out_of_memory"};
    int64_t ended = c->completed + c->failed, completed = 0;
    for (size_t i = 0; i < sizeof built / sizeof *built; i++) {
        completed += of(all, built[i]);
    }
    for (size_t i = 0; i < all->n; i++) {
        const char *name = all->list[i].name;
        bool n = strncmp(name, "time:evaluation:", 16) == 0 && strcmp(name + 16, "us") != 0;
        c->processed += n ? all->list[i].n : 0;
    }
    c->completed = completed < ended ? completed : ended;
    c->failed = ended - c->completed;
    c->compilation_errors = of(all, "compile_error") + of(all, "rejected");
    c->runtime_errors = of(all, "crash") + of(all, "out_of_memory");
    c->timeout_errors = of(all, "timeout");
    c->processing_s = (double)kg_svc_counted_get(all, "time:evaluation:us") / 1e6;
}

void kg_svc_kernelgym_get_metrics(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    struct kg_kernelgym_counts c = {.now_us = 0};
    struct kg_svc_counted all = {0};
    struct kg_svc_kernelgym_devices d;
    struct kg_err err = KG_ERR_INIT;
    kg_svc_kernelgym_devices_open(a, &d);
    if (count(a, &d, &c, &err) == KG_OK &&
        a->store->kind->counts(a->store, kg_svc_counted_add, &all, &err) == KG_OK) {
        sort_out(&all, &c);
        c.ended_before = a->ended_before;
        kg_svc_reply_json(x, 200, kg_kernelgym_metrics(&c));
    } else {
        kg_svc_kernelgym_detail(x, 503, "the store can't be read now", "", "");
    }
    kg_svc_kernelgym_devices_close(&d);
    kg_svc_counted_deinit(&all);
}
