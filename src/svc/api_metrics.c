/* Counters of an api process, and GET /metrics. Events are counted by the store, exactly. Durations
 * of stages are gathered here and added to the store once a second, so a process that is killed
 * loses those of its last second. Requests are counted since the process began. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_kernelgym.h"
#include "svc/metrics.h"

enum { REQUESTS_MOST = 2048, COUNTS_MOST = KG_SVC_TIMES * (KG_SVC_BOUNDS + 2) };

struct kg_svc_meters {
    struct kg_svc_times times; /* not yet in the store */
    struct kg_svc_requests request[REQUESTS_MOST];
    size_t nrequests;
    int64_t in_bytes, out_bytes, open;
    bool flushing;
};

void kg_svc_meters_open(struct kg_svc_api *a)
{
    a->meters = calloc(1, sizeof *a->meters);
    KG_ASSERT(a->meters != NULL);
}

void kg_svc_meters_close(struct kg_svc_api *a)
{
    free(a->meters);
    a->meters = NULL;
}

void kg_svc_meters_record(struct kg_svc_api *a, const json_t *record)
{
    kg_svc_times_add(&a->meters->times, record);
}

/* --- durations, into the store --- */

struct flush {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_times times;
    char name[COUNTS_MOST][KG_SVC_NAME_MAX];
    struct kg_svc_count count[COUNTS_MOST];
    size_t n;
};

static bool list_count(void *ctx, const char *name, int64_t n)
{
    struct flush *f = ctx;
    snprintf(f->name[f->n], sizeof f->name[f->n], "%s", name);
    f->count[f->n] = (struct kg_svc_count){f->name[f->n], n};
    return ++f->n < COUNTS_MOST;
}

static enum kg_code run_flush(struct kg_svc_op *op, struct kg_svc_store *store,
                              struct kg_svc_segments *segments, struct kg_err *err)
{
    struct flush *f = (struct flush *)op;
    (void)segments;
    return store->kind->add_counts(store, f->count, f->n, err);
}

/* What could not be added is gathered again. */
static void flush_done(struct kg_svc_op *op)
{
    struct flush *f = (struct flush *)op;
    struct kg_svc_meters *m = f->api->meters;
    if (op->err.code != KG_OK) {
        for (size_t k = 0; k < KG_SVC_TIMES; k++) {
            for (size_t i = 0; i <= KG_SVC_BOUNDS; i++) {
                m->times.n[k][i] += f->times.n[k][i];
            }
            m->times.sum_us[k] += f->times.sum_us[k];
        }
        m->times.any = true;
    }
    m->flushing = false;
    free(f);
}

void kg_svc_meters_flush(struct kg_svc_api *a)
{
    struct kg_svc_meters *m = a->meters;
    struct flush *f = m->times.any && !m->flushing ? calloc(1, sizeof *f) : NULL;
    if (f == NULL) {
        return;
    }
    *f = (struct flush){.op = {.run = run_flush, .done = flush_done}, .api = a, .times = m->times};
    kg_svc_times_each(&f->times, list_count, f);
    m->times = (struct kg_svc_times){.any = false};
    m->flushing = true;
    kg_svc_writer_post(a->writer, &f->op);
}

/* --- requests --- */

void kg_svc_meters_answered(void *ctx, const struct kg_svc_route *route, int status, size_t in,
                            size_t out)
{
    struct kg_svc_api *a = ctx;
    struct kg_svc_meters *m = a->meters;
    const char *method = route != NULL ? route->method : "";
    const char *pattern = route != NULL ? route->pattern : "none";
    m->in_bytes += (int64_t)in;
    m->out_bytes += (int64_t)out;
    for (size_t i = 0; i < m->nrequests; i++) {
        struct kg_svc_requests *r = &m->request[i];
        if (r->route == pattern && r->method == method && r->status == status) {
            r->n++;
            return;
        }
    }
    if (m->nrequests < REQUESTS_MOST) {
        m->request[m->nrequests++] = (struct kg_svc_requests){method, pattern, status, 1};
    }
}

/* --- the route --- */

static bool wants_text(const char *accept)
{
    return strstr(accept, "text/plain") != NULL || strstr(accept, "openmetrics") != NULL;
}

void kg_svc_get_metrics(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    struct kg_err err = KG_ERR_INIT;
    if (!wants_text(kg_svc_request(x)->accept)) {
        kg_svc_kernelgym_get_metrics(x, a);
        return;
    }
    struct kg_svc_view v = {.requests = a->meters->request,
                            .nrequests = a->meters->nrequests,
                            .in_bytes = a->meters->in_bytes,
                            .out_bytes = a->meters->out_bytes,
                            .open = (int64_t)kg_svc_http_open_requests(a->http),
                            .now_ms = kg_svc_now_ms(),
                            .begun_ms = a->begun_ms,
                            .store = a->store->kind->name};
    const struct kg_svc_store_kind *k = a->store->kind;
    if (k->stats(a->store, &v.stats, &err) != KG_OK ||
        k->counts(a->store, kg_svc_counted_add, &v.counted, &err) != KG_OK) {
        kg_svc_counted_deinit(&v.counted);
        kg_svc_answer_error(x, &err, "");
        return;
    }
    struct kg_buf text;
    kg_buf_init(&text, 4u << 20);
    kg_svc_metrics_text(&v, &text);
    kg_svc_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", text.data, text.len);
    kg_buf_deinit(&text);
    kg_svc_counted_deinit(&v.counted);
}
