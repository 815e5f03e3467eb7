/* The api process: its routes, its clock, its start and end. */
#include "svc/api.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "svc/api_private.h"
#include "svc/confine.h"
#include "svc/trajectories.h"

enum { SEGMENT_BYTES = 256 << 20, OPEN_MOST = 4096, STOP_S = 5 };
enum { STORE_WAIT_MS = 300000, STORE_AGAIN_MS = 200 };

static const struct kg_svc_route routes[] = {
    {"POST", "/v1/evaluations", KG_SVC_SUBMIT, kg_svc_post_evaluation},
    {"GET", "/v1/evaluations", KG_SVC_READ, kg_svc_list_evaluations},
    {"GET", "/v1/evaluations/*", KG_SVC_READ, kg_svc_get_evaluation},
    {"DELETE", "/v1/evaluations/*", KG_SVC_SUBMIT, kg_svc_delete_evaluation},
    {"POST", "/v1/evaluations/*/requeue", KG_SVC_ADMIN, kg_svc_requeue_evaluation},
    {"POST", "/v1/batches", KG_SVC_SUBMIT, kg_svc_post_batch},
    {"GET", "/v1/batches/*", KG_SVC_READ, kg_svc_get_batch},
    {"GET", "/v1/batches/*/records", KG_SVC_READ, kg_svc_batch_records},
    {"GET", "/v1/events", KG_SVC_READ, kg_svc_get_events},
    {"GET", "/v1/problems", KG_SVC_READ, kg_svc_get_problems},
    {"GET", "/v1/problems/*/prompt", KG_SVC_READ, kg_svc_get_prompt},
    {"GET", "/v1/evaluations/*/feedback", KG_SVC_READ, kg_svc_get_feedback},
    {"POST", "/v1/trajectories", KG_SVC_SUBMIT, kg_svc_open_trajectory},
    {"GET", "/v1/trajectories", KG_SVC_READ, kg_svc_list_trajectories},
    {"GET", "/v1/trajectories/export", KG_SVC_READ, kg_svc_export_trajectories},
    {"GET", "/v1/trajectories/*", KG_SVC_READ, kg_svc_get_trajectory},
    {"DELETE", "/v1/trajectories/*", KG_SVC_SUBMIT, kg_svc_close_trajectory},
    {"POST", "/v1/trajectories/*/turns", KG_SVC_SUBMIT, kg_svc_post_turn},
    {"GET", "/v1/trajectories/*/turns/*", KG_SVC_READ, kg_svc_get_turn},
    {"POST", "/v1/reward", KG_SVC_SUBMIT, kg_svc_post_reward},
    {"GET", "/", KG_SVC_OPEN, kg_svc_get_root},
    {"GET", "/ui/**", KG_SVC_OPEN, kg_svc_get_ui},
    {"GET", "/ui", KG_SVC_OPEN, kg_svc_get_ui},
    {"GET", "/v1/overview", KG_SVC_READ, kg_svc_get_overview},
    {"GET", "/v1/bests", KG_SVC_READ, kg_svc_get_bests},
    {"POST", "/evaluate", KG_SVC_SUBMIT, kg_svc_kernelgym_evaluate},
    {"POST", "/evaluate/batch", KG_SVC_SUBMIT, kg_svc_kernelgym_batch},
    {"POST", "/workflow/submit", KG_SVC_SUBMIT, kg_svc_kernelgym_workflow},
    {"GET", "/workflow/results/**", KG_SVC_READ, kg_svc_kernelgym_get_workflow},
    {"GET", "/status/**", KG_SVC_READ, kg_svc_kernelgym_get_status},
    {"GET", "/results/**", KG_SVC_READ, kg_svc_kernelgym_get_results},
    {"DELETE", "/tasks/**", KG_SVC_SUBMIT, kg_svc_kernelgym_cancel},
    {"POST", "/debug/validate", KG_SVC_READ, kg_svc_kernelgym_validate},
    {"GET", "/health", KG_SVC_OPEN, kg_svc_kernelgym_get_health},
    {"GET", "/ws", KG_SVC_SUBMIT, kg_svc_get_ws},
    {"GET", "/schema", KG_SVC_OPEN, kg_svc_get_schema},
    {"GET", "/metadata", KG_SVC_OPEN, kg_svc_get_metadata},
    {"GET", "/queue/status", KG_SVC_READ, kg_svc_kernelgym_get_queue},
    {"GET", "/workers/status", KG_SVC_READ, kg_svc_kernelgym_get_workers},
    {"POST", "/worker/register", KG_SVC_WORKER, kg_svc_kernelgym_register},
    {"POST", "/worker/heartbeat", KG_SVC_WORKER, kg_svc_kernelgym_heartbeat},
    {"POST", "/worker/unregister", KG_SVC_WORKER, kg_svc_kernelgym_unregister},
    {"POST", "/worker/evict_from_lb", KG_SVC_WORKER, kg_svc_kernelgym_evict},
    {"POST", "/node/allocate", KG_SVC_WORKER, kg_svc_kernelgym_allocate},
    {"GET", "/monitoring/problematic-codes", KG_SVC_READ, kg_svc_kernelgym_problematic},
    {"GET", "/monitoring/retry-queue", KG_SVC_READ, kg_svc_kernelgym_retry_queue},
    {"GET", "/monitoring/worker-health", KG_SVC_READ, kg_svc_kernelgym_worker_health},
    {"POST", "/monitoring/clear-error-history/*", KG_SVC_ADMIN, kg_svc_kernelgym_clear_errors},
    {"GET", "/openapi.json", KG_SVC_OPEN, kg_svc_get_openapi},
    {"GET", "/metrics", KG_SVC_READ, kg_svc_get_metrics},
    {"GET", "/v1/stats", KG_SVC_READ, kg_svc_get_stats},
    {"GET", "/v1/live", KG_SVC_OPEN, kg_svc_get_live},
    {"GET", "/v1/ready", KG_SVC_OPEN, kg_svc_get_ready},
    {"POST", "/v1/worker/claim", KG_SVC_WORKER, kg_svc_post_claim},
    {"POST", "/v1/worker/renew", KG_SVC_WORKER, kg_svc_post_renew},
    {"POST", "/v1/worker/finish", KG_SVC_WORKER, kg_svc_post_finish},
    {"POST", "/v1/worker/leave", KG_SVC_WORKER, kg_svc_post_leave},
    {"POST", "/v1/worker/hello", KG_SVC_WORKER, kg_svc_post_hello},
    {"GET", "/v1/devices", KG_SVC_READ, kg_svc_get_devices},
    {"POST", "/v1/devices/enable", KG_SVC_ADMIN, kg_svc_post_enable},
};

const struct kg_svc_route *kg_svc_api_routes(size_t *n)
{
    *n = sizeof routes / sizeof *routes;
    return routes;
}

/* --- the clock: claims that ran out, deadlines, waits whose time is up --- */

struct expire_op {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    int64_t n;
};

static enum kg_code run_expire(struct kg_svc_op *op, struct kg_svc_store *store,
                               struct kg_svc_segments *segments, struct kg_err *err)
{
    struct expire_op *o = (struct expire_op *)op;
    (void)segments;
    return store->kind->expire(store, kg_svc_now_ms(), &o->n, err);
}

static void expire_done(struct kg_svc_op *op)
{
    struct expire_op *o = (struct expire_op *)op;
    if (op->err.code != KG_OK) {
        kg_log(KG_LOG_ERROR, "%s", op->err.message);
    } else if (o->n > 0) {
        o->api->fresh = true;
        kg_svc_ended(o->api, NULL);
    }
    free(o);
}

/* What happened through other processes that share the store: jobs that wait are offered, and waits
 * for jobs that have ended are answered. */
static void look_at_others(struct kg_svc_api *a)
{
    struct kg_svc_stats s;
    struct kg_err err = KG_ERR_INIT;
    if (a->store->kind->share != NULL && a->store->kind->stats(a->store, &s, &err) == KG_OK &&
        s.last_event != a->seen) {
        int64_t before = a->seen;
        a->seen = s.last_event;
        a->fresh = true;
        kg_svc_tell_cancelled(a, before);
        kg_svc_ended(a, NULL);
        kg_svc_polls_look(a);
    }
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct kg_svc_api *a = arg;
    (void)fd;
    (void)what;
    struct expire_op *o = calloc(1, sizeof *o);
    if (o != NULL) {
        *o = (struct expire_op){.op = {.run = run_expire, .done = expire_done}, .api = a};
        kg_svc_writer_post(a->writer, &o->op);
    }
    kg_svc_http_sweep(a->http);
    kg_svc_notices_tick(a);
    look_at_others(a);
    if (a->unread) {
        a->unread = false;
        kg_svc_ended(a, NULL);
    }
    kg_svc_polls_look(a);
    kg_svc_polls_tick(a);
    kg_svc_streams_pump(a);
    kg_svc_traj_tick(a);
    kg_svc_meters_flush(a);
}

static void after_group(void *ctx)
{
    struct kg_svc_api *a = ctx;
    kg_svc_polls_look(a);
    kg_svc_streams_pump(a);
}

/* --- start and end --- */

/* Whatever was accepted is answered, and its answer is sent, before the loop ends. */
static void on_answered(void *ctx)
{
    struct kg_svc_api *a = ctx;
    event_base_loopbreak(a->base);
}

static void on_signal(evutil_socket_t signal, short what, void *arg)
{
    struct kg_svc_api *a = arg;
    (void)signal;
    (void)what;
    if (a->stopping) {
        return;
    }
    a->stopping = true;
    kg_svc_http_stop(a->http, on_answered, a);
    kg_svc_polls_tick(a);
    kg_svc_waits_stop(a);
    kg_svc_groups_stop(a);
    kg_svc_streams_pump(a);
    kg_svc_sessions_stop(a);
    const struct timeval most = {.tv_sec = STOP_S, .tv_usec = 0};
    event_base_loopexit(a->base, &most);
    if (kg_svc_http_is_idle(a->http)) {
        event_base_loopbreak(a->base);
    }
}

/* Claims go on: their holders could not renew them while nobody served. */
static enum kg_code resume(struct kg_svc_api *a, struct kg_err *err)
{
    const struct kg_svc_store_kind *k = a->store->kind;
    struct kg_svc_stats s;
    if (k->stats(a->store, &s, err) != KG_OK || k->begin(a->store, err) != KG_OK) {
        return err->code;
    }
    a->ended_before = s.jobs[KG_SVC_DONE] + s.jobs[KG_SVC_CANCELLED] + s.jobs[KG_SVC_DEAD];
    if (k->extend(a->store, kg_svc_now_ms() + a->o->term_ms, err) != KG_OK) {
        k->rollback(a->store);
        return err->code;
    }
    return k->commit(a->store, err);
}

/* A server of others' may be away just now: it is waited for, since the parent gives up where an
 * api process can't start. */
static enum kg_code open_store(struct kg_svc_api *a, struct kg_err *err)
{
    const struct kg_svc_store_kind *kind = a->o->kind;
    for (int64_t left_ms = kind->share != NULL ? STORE_WAIT_MS : 0;; left_ms -= STORE_AGAIN_MS) {
        *err = (struct kg_err)KG_ERR_INIT;
        if (kind->open(a->o->place, &a->store, err) == KG_OK && resume(a, err) == KG_OK) {
            return KG_OK;
        }
        if (err->code != KG_E_IO || left_ms <= 0) {
            return err->code;
        }
        if (left_ms == STORE_WAIT_MS) {
            kg_log(KG_LOG_WARN, "%s: waiting for it", err->message);
        }
        kind->close(a->store);
        a->store = NULL;
        usleep(STORE_AGAIN_MS * 1000);
    }
}

/* Before the first thread, and before a request is parsed. */
static enum kg_code confine(const struct kg_svc_api_options *o, struct kg_err *err)
{
    char lacks[KG_SVC_LACKS_MAX];
    const struct kg_svc_reach reach = {
        .folder = o->folder,
        .reads = o->gym->reads,
        .connects = o->kind->connects != NULL ? o->kind->connects(o->place) : KG_SVC_NO_CONNECTION};
    enum kg_code code = kg_svc_confine(&reach, lacks, err);
    if (code == KG_OK && lacks[0] != '\0') {
        kg_log(KG_LOG_WARN, "the api process is not confined: this host has no %s", lacks);
    }
    return code;
}

/* Nothing waits yet for what happened before. */
static enum kg_code first_event(struct kg_svc_api *a, struct kg_err *err)
{
    struct kg_svc_stats s;
    if (a->store->kind->stats(a->store, &s, err) == KG_OK) {
        a->seen = s.last_event;
    }
    return err->code;
}

static enum kg_code open_all(struct kg_svc_api *a, const struct kg_svc_http_options *http,
                             struct kg_err *err)
{
    const struct kg_svc_api_options *o = a->o;
    char folder[4096];
    snprintf(folder, sizeof folder, "%.4000s/segments", o->folder);
    a->base = event_base_new();
    if (a->base == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for an event loop");
    }
    if (open_store(a, err) != KG_OK ||
        kg_svc_segments_open(folder, SEGMENT_BYTES, &a->segments, err) != KG_OK ||
        (o->kind->share != NULL && o->kind->share(a->store, folder, err) != KG_OK) ||
        confine(o, err) != KG_OK ||
        kg_svc_writer_open(a->base, a->store, a->segments, after_group, a, &a->writer, err) !=
            KG_OK) {
        return err->code;
    }
    kg_svc_notices_read(a);
    return first_event(a, err) != KG_OK ? err->code
                                        : kg_svc_http_open(a->base, http, &a->http, err);
}

/* Each client that waits holds a file, and the soft limit is 1024 on most hosts. Returns how many
 * may wait: half of the files, since the store and clients that ask nothing hold some, too. */
static size_t raise_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return OPEN_MOST;
    }
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) {
        getrlimit(RLIMIT_NOFILE, &files);
    }
    return files.rlim_cur < 2 * OPEN_MOST ? (size_t)(files.rlim_cur / 2) : OPEN_MOST;
}

static void close_all(struct kg_svc_api *a)
{
    if (a->writer != NULL) {
        kg_svc_meters_flush(a);
    }
    kg_svc_writer_close(a->writer);
    kg_svc_http_close(a->http);
    kg_svc_sessions_end(a);
    kg_svc_meters_close(a);
    kg_svc_segments_close(a->segments);
    kg_svc_notices_close(a);
    if (a->store != NULL) {
        a->store->kind->close(a->store);
    }
    if (a->base != NULL) {
        event_base_free(a->base);
    }
}

static unsigned scopes(void *ctx, const char *token, size_t n)
{
    const struct kg_svc_api *a = ctx;
    return kg_svc_auth_scopes(a->auth, token, n);
}

static void tell_parent(int fd)
{
    if (fd >= 0) {
        (void)!write(fd, "", 1);
        close(fd);
    }
}

enum kg_code kg_svc_api_run(const struct kg_svc_api_options *o, struct kg_err *err)
{
    struct kg_svc_api a = {.o = o, .begun_ms = kg_svc_now_ms()};
    const struct kg_svc_http_options http = {.fd = o->fd,
                                             .body_bytes = o->body_bytes,
                                             .most_open = raise_files(),
                                             .routes = routes,
                                             .nroutes = sizeof routes / sizeof *routes,
                                             .answered = kg_svc_meters_answered,
                                             .ctx = &a,
                                             .scopes = scopes};
    a.auth = kg_svc_auth_open(o->folder, o->worker_token, o->needs_tokens);
    kg_svc_meters_open(&a);
    enum kg_code code = open_all(&a, &http, err);
    if (code == KG_OK) {
        const struct timeval second = {.tv_sec = 1, .tv_usec = 0};
        struct event *tick = event_new(a.base, -1, EV_PERSIST, on_tick, &a);
        struct event *term = evsignal_new(a.base, SIGTERM, on_signal, &a);
        struct event *interrupt = evsignal_new(a.base, SIGINT, on_signal, &a);
        KG_ASSERT(tick != NULL && term != NULL && interrupt != NULL);
        signal(SIGPIPE, SIG_IGN);
        event_add(tick, &second);
        event_add(term, NULL);
        event_add(interrupt, NULL);
        tell_parent(o->ready_fd);
        event_base_dispatch(a.base);
        event_free(tick);
        event_free(term);
        event_free(interrupt);
    }
    close_all(&a);
    kg_svc_auth_close(a.auth);
    return code;
}
