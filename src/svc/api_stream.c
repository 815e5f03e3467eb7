/* Streams: server-sent events, and the records of a batch in the order of its lines. A client that
 * reads slowly is written to no more than STREAM_AHEAD bytes ahead of what it has read. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_private.h"

enum { STREAM_AHEAD = 1 << 20, PIECE = 64, KEEP_ALIVE_MS = 15000 };
#define EVENT_MOST INT64_C(9000000000000000)
enum { BATCH_MAX = 128 }; /* of an id; that of KernelGYM's tasks has 70 bytes */

struct kg_svc_stream {
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    bool events, full, broken;
    int64_t after; /* the last event that was sent */
    char job[KG_ULID_LEN];
    char batch[BATCH_MAX];
    int64_t at, n; /* lines sent, lines in all */
    int64_t sent_ms;
    size_t moved;        /* of one look */
    struct kg_buf *page; /* events of one look, which go out together */
    struct kg_svc_stream *next;
};

static void free_stream(struct kg_svc_stream *s)
{
    struct kg_svc_stream **at = &s->api->streams;
    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    free(s);
}

static void on_gone(struct kg_svc_exchange *x, void *arg)
{
    (void)x;
    free_stream(arg);
}

static struct kg_svc_stream *new_stream(struct kg_svc_api *a, struct kg_svc_exchange *x,
                                        const char *type)
{
    struct kg_svc_stream *s = calloc(1, sizeof *s);
    KG_ASSERT(s != NULL);
    s->api = a;
    s->x = x;
    s->sent_ms = kg_svc_now_ms();
    s->next = a->streams;
    a->streams = s;
    kg_svc_on_gone(x, on_gone, s);
    kg_svc_stream_begin(x, 200, type);
    return s;
}

static void send_bytes(struct kg_svc_stream *s, const char *bytes, size_t n)
{
    s->full = kg_svc_stream_add(s->x, bytes, n) > STREAM_AHEAD;
    s->sent_ms = kg_svc_now_ms();
    s->moved++;
}

/* --- events --- */

static json_t *event_json(const struct kg_svc_event *e)
{
    return json_pack("{s:I, s:f, s:s, s:s, s:s}", "seq", (json_int_t)e->seq, "time",
                     (double)e->ms / 1000, "id", e->id, "type", e->type, "detail", e->detail);
}

static bool send_event(void *ctx, const struct kg_svc_event *e)
{
    struct kg_svc_stream *s = ctx;
    kg_buf_addf(s->page, "id: %lld\nevent: %s\ndata: ", (long long)e->seq, e->type);
    json_t *j = event_json(e);
    kg_json_dump(j, s->page);
    json_decref(j);
    kg_buf_adds(s->page, "\n\n");
    s->after = e->seq;
    return true;
}

/* Events after the last one that was sent, as one chunk: libevent spends about a kilobyte on each
 * chunk, which is ten times an event. */
static enum kg_code send_events(struct kg_svc_stream *s, struct kg_err *err)
{
    const struct kg_svc_store_kind *k = s->api->store->kind;
    struct kg_buf page;
    kg_buf_init(&page, PIECE << 16);
    s->page = &page;
    enum kg_code code =
        k->events(s->api->store, s->after, s->job[0] ? s->job : NULL, PIECE, send_event, s, err);
    if (page.len > 0) {
        send_bytes(s, page.data, page.len);
    }
    kg_buf_deinit(&page);
    s->page = NULL;
    return code;
}

static bool add_event(void *ctx, const struct kg_svc_event *e)
{
    json_array_append_new(ctx, event_json(e));
    return true;
}

/* ?after=N, or ?after=now. False: it was answered. */
static bool read_after(struct kg_svc_api *a, struct kg_svc_exchange *x, int64_t *out)
{
    const char *text = kg_svc_query(x, "after");
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_stats s;
    if (text == NULL || strcmp(text, "now") != 0) {
        return kg_svc_query_whole(x, "after", EVENT_MOST, out);
    }
    if (a->store->kind->stats(a->store, &s, &err) != KG_OK) {
        kg_svc_answer_error(x, &err, "");
        return false;
    }
    *out = s.last_event;
    return true;
}

void kg_svc_get_events(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const known[] = {"after", "job", "limit", NULL};
    struct kg_svc_api *a = ctx;
    struct kg_err err = KG_ERR_INIT;
    int64_t after;
    int64_t limit = 0;
    const char *job = kg_svc_query(x, "job");
    if (kg_svc_query_unknown(x, known) != NULL) {
        kg_svc_reply_error(x, 400, "bad_query", "", "the query may have after, job, limit");
        return;
    }
    if (job != NULL && strlen(job) != KG_ULID_LEN - 1) {
        kg_svc_reply_error(x, 400, "bad_query", "job", "`job` must be the id of an evaluation");
        return;
    }
    if (!read_after(a, x, &after) || !kg_svc_query_whole(x, "limit", 10000, &limit)) {
        return;
    }
    if (strstr(kg_svc_request(x)->accept, "text/event-stream") != NULL) {
        struct kg_svc_stream *s = new_stream(a, x, "text/event-stream");
        s->events = true;
        s->after = after;
        snprintf(s->job, sizeof s->job, "%s", job != NULL ? job : "");
        send_bytes(s, ": kgym\n\n", 8);
        kg_svc_streams_pump(a);
        return;
    }
    json_t *list = json_array();
    if (a->store->kind->events(a->store, after, job, limit >= 1 ? (size_t)limit : 1000, add_event,
                               list, &err) != KG_OK) {
        json_decref(list);
        kg_svc_answer_error(x, &err, "");
        return;
    }
    kg_svc_reply_json(x, 200, json_pack("{s:o}", "events", list));
}

/* --- records of a batch --- */

static bool send_record(void *ctx, const struct kg_svc_job *job)
{
    struct kg_svc_stream *s = ctx;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf line;
    if (job->batch_at != s->at || job->state == KG_SVC_WAITING || job->state == KG_SVC_RUNNING) {
        return false;
    }
    kg_buf_init(&line, (size_t)KG_SVC_RECORD_MAX + 4096);
    if (kg_svc_record_line(s->api, job, &line, &err) == KG_OK) {
        kg_buf_addc(&line, '\n');
        send_bytes(s, line.data, line.len);
        s->at++;
    } else {
        s->broken = true; /* its reader asks again from there */
    }
    kg_buf_deinit(&line);
    return !s->full && !s->broken;
}

static bool count(void *ctx, const struct kg_svc_job *job)
{
    (void)job;
    *(int64_t *)ctx += 1;
    return true;
}

static enum kg_code lines_of(struct kg_svc_api *a, const char *batch, int64_t *n,
                             struct kg_err *err)
{
    const struct kg_svc_filter f = {
        .state = -1, .batch = batch, .by_line = true, .limit = KG_SVC_BATCH_MAX};
    *n = 0;
    if (a->store->kind->list(a->store, &f, count, n, err) != KG_OK) {
        return err->code;
    }
    return *n > 0 ? KG_OK : kg_fail(err, KG_E_NOT_FOUND, "no such batch");
}

void kg_svc_batch_records(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    struct kg_err err = KG_ERR_INIT;
    static const char *const known[] = {"offset", NULL};
    int64_t offset = 0, n;
    if (kg_svc_query_unknown(x, known) != NULL) {
        kg_svc_reply_error(x, 400, "bad_query", "", "the query may have `offset` only");
        return;
    }
    if (!kg_svc_query_whole(x, "offset", KG_SVC_BATCH_MAX, &offset)) {
        return;
    }
    const char *batch = kg_svc_request(x)->arg[0];
    if (strlen(batch) >= BATCH_MAX) {
        kg_svc_reply_error(x, 404, "not_found", "", "no such batch");
        return;
    }
    if (lines_of(a, batch, &n, &err) != KG_OK) {
        kg_svc_answer_error(x, &err, "");
        return;
    }
    struct kg_svc_stream *s = new_stream(a, x, "application/x-ndjson");
    snprintf(s->batch, sizeof s->batch, "%s", batch);
    s->at = offset;
    s->n = n;
    kg_svc_streams_pump(a);
}

struct tally {
    int64_t n[KG_SVC_STATES];
};

static bool tally(void *ctx, const struct kg_svc_job *job)
{
    ((struct tally *)ctx)->n[job->state]++;
    return true;
}

void kg_svc_get_batch(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    struct kg_err err = KG_ERR_INIT;
    struct tally t = {{0}};
    int64_t n = 0;
    const struct kg_svc_filter f = {.state = -1,
                                    .batch = kg_svc_request(x)->arg[0],
                                    .by_line = true,
                                    .limit = KG_SVC_BATCH_MAX};
    if (a->store->kind->list(a->store, &f, tally, &t, &err) != KG_OK) {
        kg_svc_answer_error(x, &err, "");
        return;
    }
    json_t *jobs = json_object();
    for (int i = 0; i < KG_SVC_STATES; i++) {
        n += t.n[i];
        json_object_set_new(jobs, kg_svc_state_name((enum kg_svc_state)i), json_integer(t.n[i]));
    }
    if (n == 0) {
        json_decref(jobs);
        kg_svc_reply_error(x, 404, "not_found", "", "no such batch");
        return;
    }
    kg_svc_reply_json(
        x, 200, json_pack("{s:s, s:I, s:o}", "id", f.batch, "lines", (json_int_t)n, "jobs", jobs));
}

/* --- all of them --- */

/* False: it has ended. */
static bool pump(struct kg_svc_stream *s)
{
    struct kg_svc_api *a = s->api;
    struct kg_err err = KG_ERR_INIT;
    s->full = kg_svc_stream_add(s->x, "", 0) > STREAM_AHEAD;
    for (s->moved = 1; s->moved > 0 && !s->full;) {
        s->moved = 0;
        enum kg_code code;
        if (s->events) {
            code = send_events(s, &err);
        } else {
            const struct kg_svc_filter f = {
                .state = -1, .batch = s->batch, .by_line = true, .from = s->at, .limit = PIECE};
            code = a->store->kind->list(a->store, &f, send_record, s, &err);
        }
        s->broken = s->broken || code != KG_OK;
        if (s->broken || (!s->events && s->at >= s->n)) {
            return false;
        }
    }
    if (s->events && kg_svc_now_ms() - s->sent_ms > KEEP_ALIVE_MS) {
        send_bytes(s, ":\n\n", 3);
    }
    return !a->stopping;
}

void kg_svc_streams_pump(struct kg_svc_api *a)
{
    for (struct kg_svc_stream *s = a->streams, *next; s != NULL; s = next) {
        next = s->next;
        if (!pump(s)) {
            struct kg_svc_exchange *x = s->x;
            bool whole = s->events ? !s->broken : s->at >= s->n;
            kg_svc_on_gone(x, NULL, NULL);
            free_stream(s);
            if (whole) {
                kg_svc_stream_end(x);
            } else {
                kg_svc_stream_cut(x);
            }
        }
    }
}
