/* Connections to the service: a few for requests, each with one at a time, and one that follows its
 * events. What fails for lack of a service, or of room there, is asked again after a rest. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "remote/remote_private.h"

enum {
    TIMEOUT_S = 60,
    FIRST_PAUSE_MS = 50,
    LONGEST_PAUSE_MS = 3000,
    FOLLOW_AGAIN_MS = 200,
    OPEN_TRIES = 20, /* a service that is just starting */
    OPEN_PAUSE_MS = 150
};

static void after(struct event *e, int ms)
{
    const struct timeval t = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    evtimer_add(e, &t);
}

/* --- requests --- */

static bool try_again(int status)
{
    return status == 0 || status == 429 || status >= 500;
}

static void rest(struct kg_remote_link *l, int status)
{
    struct kg_remote *r = l->remote;
    l->pause_ms = l->pause_ms == 0 ? FIRST_PAUSE_MS : 2 * l->pause_ms;
    l->pause_ms = l->pause_ms > LONGEST_PAUSE_MS ? LONGEST_PAUSE_MS : l->pause_ms;
    after(l->pause, l->pause_ms);
    if (r->down_ns == 0 && status != 429) {
        r->down_ns = kg_clock_ns();
    }
}

static void is_up(struct kg_remote *r)
{
    r->down_ns = 0;
    if (r->down_told) {
        kg_log(KG_LOG_WARN, "%s answers again", r->url);
        r->down_told = false;
    }
}

static void on_answer(void *ctx, int status, const json_t *answer)
{
    struct kg_remote_link *l = ctx;
    struct kg_remote *r = l->remote;
    struct kg_remote_task *t = l->task;
    l->task = NULL;
    t->asking = false;
    if (try_again(status)) {
        rest(l, status);
    } else {
        l->pause_ms = 0;
        is_up(r);
    }
    if (t->left) {
        t->want = KG_REMOTE_NOTHING;
        kg_remote_drop(r, t);
    } else if (status == 0 || status == 429) {
        enum kg_remote_want want = t->want;
        t->want = KG_REMOTE_NOTHING;
        kg_remote_want(r, t, want);
    } else {
        kg_remote_answer(r, t, status, answer);
    }
    kg_remote_feed(r);
}

static void on_rested(evutil_socket_t fd, short what, void *arg)
{
    struct kg_remote_link *l = arg;
    (void)fd;
    (void)what;
    kg_remote_feed(l->remote);
}

static void begin(struct kg_remote_link *l, struct kg_remote_task *t)
{
    struct kg_remote *r = l->remote;
    if (!t->there) {
        t->there = true;
        r->nthere++;
        kg_remote_tell(r, KG_FRAME_TAKEN, json_pack("{s:I}", "id", (json_int_t)t->id), "", 0);
    }
    TAILQ_REMOVE(&r->todo, t, todo);
    t->asking = true;
    t->moved = t->told = false;
    l->task = t;
}

static void ask(struct kg_remote_link *l, struct kg_remote_task *t, const char *method)
{
    char path[64];
    snprintf(path, sizeof path, "/v1/evaluations/%s", t->job);
    begin(l, t);
    kg_svc_client_ask(l->client, method, path, NULL, 0, on_answer, l);
}

/* The service would answer with a job that is about to be cancelled for another task: such a task
 * is held until that job has ended. */
static void post(struct kg_remote_link *l, struct kg_remote_task *t)
{
    struct kg_buf body;
    struct kg_err e = KG_ERR_INIT;
    kg_buf_init(&body, KG_FRAME_MAX);
    if (kg_remote_body(l->remote, t, &body, &e) != KG_OK) {
        kg_remote_fail(l->remote, t, &e);
    } else if (kg_remote_is_cancelled(l->remote, t)) {
        t->held = true;
    } else {
        begin(l, t);
        kg_svc_client_ask(l->client, "POST", "/v1/evaluations", body.data, body.len, on_answer, l);
    }
    kg_buf_deinit(&body);
}

/* A DELETE that was sent may have been obeyed, so it is sent until it is answered. */
static void cancel(struct kg_remote_link *l, struct kg_remote_task *t)
{
    struct kg_remote *r = l->remote;
    if (!t->cancels && kg_remote_is_shared(r, t)) {
        kg_remote_drop(r, t);
        return;
    }
    r->ncancels += !t->cancels;
    t->cancels = true;
    ask(l, t, "DELETE");
}

/* The oldest request that may go out. A task whose client is answered needs its job's id first. */
static struct kg_remote_task *next_task(struct kg_remote *r)
{
    struct kg_remote_task *t;
    for (t = TAILQ_FIRST(&r->todo); t != NULL; t = TAILQ_NEXT(t, todo)) {
        if (!t->held && (t->there || r->nthere < r->most)) {
            break;
        }
    }
    return t;
}

static void start_request(struct kg_remote_link *l, struct kg_remote_task *t)
{
    if (t->want == KG_REMOTE_POST) {
        post(l, t);
    } else if (t->want == KG_REMOTE_GET) {
        ask(l, t, "GET");
    } else {
        cancel(l, t);
    }
}

void kg_remote_feed(struct kg_remote *r)
{
    for (int i = 0; i < KG_REMOTE_LINKS; i++) {
        struct kg_remote_link *l = &r->link[i];
        struct kg_remote_task *t;
        while (l->task == NULL && !evtimer_pending(l->pause, NULL) && (t = next_task(r)) != NULL) {
            start_request(l, t);
        }
    }
}

/* --- events --- */

static void on_begun(void *ctx)
{
    struct kg_remote *r = ctx;
    r->following = true;
    is_up(r);
    kg_remote_ask_all(r);
    kg_remote_feed(r);
}

static void on_event(void *ctx, const json_t *event)
{
    kg_remote_event(ctx, event);
    kg_remote_feed(ctx);
}

static void on_ended(void *ctx, int status)
{
    struct kg_remote *r = ctx;
    (void)status;
    r->following = false;
    after(r->follow_again, FOLLOW_AGAIN_MS);
}

static void on_follow_again(evutil_socket_t fd, short what, void *arg)
{
    struct kg_remote *r = arg;
    (void)fd;
    (void)what;
    kg_svc_follow_start(r->follow);
}

/* --- the first word --- */

struct greeting {
    struct kg_remote *remote;
    int status;
    char message[300];
};

static void on_greeted(void *ctx, int status, const json_t *answer)
{
    struct greeting *g = ctx;
    const char *message = kg_frame_text(answer, "message");
    g->status =
        status == 200 && !json_is_array(json_object_get(answer, "evaluations")) ? 404 : status;
    snprintf(g->message, sizeof g->message, "%s", message != NULL ? message : "");
    event_base_loopbreak(g->remote->base);
}

static enum kg_code greet(struct kg_remote *r, struct kg_err *err)
{
    struct greeting g = {.remote = r};
    for (int i = 0; i < OPEN_TRIES && g.status == 0; i++) {
        const struct timeval pause = {.tv_sec = 0, .tv_usec = OPEN_PAUSE_MS * 1000};
        if (i > 0) {
            event_base_loopexit(r->base, &pause);
            event_base_dispatch(r->base);
        }
        kg_svc_client_ask(r->link[0].client, "GET", "/v1/evaluations?limit=1", NULL, 0, on_greeted,
                          &g);
        event_base_dispatch(r->base);
    }
    if (g.status == 0) {
        return kg_fail(err, KG_E_HOST, "%s: no service answers there", r->url);
    }
    if (g.status == 401 || g.status == 403) {
        return kg_fail(err, KG_E_USAGE, "%s: %s", r->url,
                       g.message[0] != '\0' ? g.message : "the service refuses this client");
    }
    return try_again(g.status) || g.status == 200
               ? KG_OK
               : kg_fail(err, KG_E_HOST, "%s: this is no kgym service (it answers %d)", r->url,
                         g.status);
}

enum kg_code kg_remote_connect(struct kg_remote *r, struct kg_err *err)
{
    const struct kg_svc_target *t = &r->target;
    const struct kg_svc_follow_calls calls = {
        .begun = on_begun, .event = on_event, .ended = on_ended, .ctx = r};
    for (int i = 0; i < KG_REMOTE_LINKS; i++) {
        struct kg_remote_link *l = &r->link[i];
        l->remote = r;
        l->pause = evtimer_new(r->base, on_rested, l);
        if (l->pause == NULL) {
            return kg_fail_memory(err, KG_E_HOST, "no memory for a timer");
        }
        if (kg_svc_client_open(r->base, t->host, t->port, t->token, TIMEOUT_S, &l->client, err) !=
            KG_OK) {
            return err->code;
        }
    }
    r->follow_again = evtimer_new(r->base, on_follow_again, r);
    if (r->follow_again == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a timer");
    }
    if (kg_svc_follow_open(r->base, t->host, t->port, t->token, &calls, &r->follow, err) != KG_OK ||
        (!r->again && greet(r, err) != KG_OK)) {
        return err->code;
    }
    kg_svc_follow_start(r->follow);
    return KG_OK;
}

void kg_remote_disconnect(struct kg_remote *r)
{
    kg_svc_follow_close(r->follow);
    for (int i = 0; i < KG_REMOTE_LINKS; i++) {
        kg_svc_client_close(r->link[i].client);
        if (r->link[i].pause != NULL) {
            event_free(r->link[i].pause);
        }
    }
    if (r->follow_again != NULL) {
        event_free(r->follow_again);
    }
}
