/* The process: its loop, the client's frames, its end. */
#include "remote/remote.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/version.h"
#include "gym/prompt/prompt.h"
#include "remote/remote_private.h"

enum { TICK_MS = 50, TELL_AFTER_S = 2 };

static volatile int told_to_stop;

static void on_terminate(int sig)
{
    (void)sig;
    told_to_stop = 1;
}

/* --- the client --- */

void kg_remote_tell(struct kg_remote *r, enum kg_frame_kind kind, json_t *head, const void *body,
                    size_t len)
{
    kg_channel_queue_or_end(&r->client, kind, head, body, len);
    if (kg_channel_flush(&r->client)) {
        event_add(r->writable, NULL);
    }
}

void kg_remote_break(struct kg_remote *r, const struct kg_err *e)
{
    kg_remote_tell(r, KG_FRAME_BROKEN, kg_frame_put_error(json_object(), e), "", 0);
}

static void add_info(const struct kg_remote *r, json_t *reply)
{
    const struct kg_remote_task *t;
    int running = 0, queued = 0;
    for (t = TAILQ_FIRST(&r->all); t != NULL; t = TAILQ_NEXT(t, all)) {
        running += t->running && !t->answered;
        queued += !t->running && !t->answered;
    }
    json_t *info = json_pack("{s:i, s:i, s:i, s:i}", "workers", r->most, "cores", 0, "running",
                             running, "queued", queued);
    json_object_update(reply, info);
    json_decref(info);
}

/* No task runs on a core of the caller's: all cores of the pool, which are none, are free. */
static void hold(int64_t core, struct kg_err *err)
{
    if (core != KG_ALL_CORES) {
        kg_fail(err, KG_E_USAGE, "core %lld is not one of the pool's: a service judges",
                (long long)core);
    }
}

static void resize(struct kg_remote *r, int64_t workers, struct kg_err *err)
{
    if (workers < 1 || workers > 4096) {
        kg_fail(err, KG_E_USAGE, "workers: %lld is not between 1 and 4096", (long long)workers);
    } else {
        r->most = (int)workers;
    }
}

static void answer(struct kg_remote *r, const struct kg_frame *f)
{
    struct kg_err e = KG_ERR_INIT;
    struct kg_buf body;
    const char *call = kg_frame_text(f->head, "call");
    json_t *reply = json_pack("{s:I}", "request", (json_int_t)kg_frame_int(f->head, "request"));
    kg_buf_init(&body, KG_PROMPT_MAX_BYTES);
    call = call != NULL ? call : "";
    if (strcmp(call, "prompt") == 0) {
        struct kg_err cause = KG_ERR_INIT; /* filled on the way to success, too */
        e = kg_remote_prompt(r, f, &body, &cause) == KG_OK ? e : cause;
    } else if (strcmp(call, "info") == 0) {
        add_info(r, reply);
    } else if (strcmp(call, "resize") == 0) {
        resize(r, kg_frame_int(f->head, "workers"), &e);
    } else if (strcmp(call, "hold") == 0 || strcmp(call, "release") == 0) {
        hold(kg_frame_int(f->head, "core"), &e);
    } else {
        kg_fail(&e, KG_E_USAGE, "no call `%.40s`", call);
    }
    kg_remote_tell(r, KG_FRAME_REPLY, kg_frame_put_error(reply, &e), body.data, body.len);
    kg_buf_deinit(&body);
}

static void obey(struct kg_remote *r, struct kg_frame *f)
{
    switch (f->kind) {
    case KG_FRAME_TASK:
        kg_remote_add(r, f);
        break;
    case KG_FRAME_CANCEL:
        kg_remote_cancel(r, (uint64_t)kg_frame_int(f->head, "id"));
        break;
    case KG_FRAME_REQUEST:
        answer(r, f);
        break;
    case KG_FRAME_DRAIN: /* no worker here holds anything */
        break;
    case KG_FRAME_CLOSE:
        kg_remote_end(r, true);
        break;
    default:
        r->client.ended = true; /* nonsense */
    }
}

/* A client that takes no more is heard to its end: it may have said that it closes the pool. */
static void hear(struct kg_remote *r)
{
    struct kg_frame f;
    bool last = kg_channel_last(&r->client), more;
    do {
        more = kg_channel_fill_on(&r->client, last);
        while (!r->ending && kg_channel_take(&r->client, &f)) {
            obey(r, &f);
            kg_frame_deinit(&f);
        }
    } while (!r->ending && more);
}

static void end_if_done(struct kg_remote *r)
{
    if (r->client.ended && !r->ending) {
        hear(r);
    }
    if (r->client.ended && !r->ending) {
        kg_remote_end(r, !r->run_named);
    }
    if ((r->ending && (r->nall == 0 || kg_clock_ns() > r->end_ns)) || told_to_stop) {
        event_base_loopbreak(r->base);
    }
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct kg_remote *r = arg;
    (void)fd;
    (void)what;
    hear(r);
    if ((r->client.ended && !r->client.unread) || r->ending) {
        event_del(r->readable);
    }
    kg_remote_feed(r);
    end_if_done(r);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct kg_remote *r = arg;
    (void)fd;
    (void)what;
    if (kg_channel_flush(&r->client)) {
        event_add(r->writable, NULL);
    }
    end_if_done(r);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct kg_remote *r = arg;
    (void)fd;
    (void)what;
    kg_remote_look(r);
    kg_remote_feed(r);
    if (r->down_ns != 0 && !r->down_told && !r->ending &&
        kg_clock_ns() - r->down_ns > (int64_t)TELL_AFTER_S * 1000000000) {
        r->down_told = true;
        kg_log(KG_LOG_WARN, "%s does not answer: waiting for it", r->url);
    }
    end_if_done(r);
}

/* --- start and end --- */

static enum kg_code open_loop(struct kg_remote *r, struct kg_err *err)
{
    TAILQ_INIT(&r->all);
    TAILQ_INIT(&r->todo);
    r->set = json_object();
    r->base = event_base_new();
    if (r->base == NULL || r->set == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for an event loop");
    }
    r->readable = event_new(r->base, r->client.fd, EV_READ | EV_PERSIST, on_readable, r);
    r->writable = event_new(r->base, r->client.fd, EV_WRITE, on_writable, r);
    r->tick = event_new(r->base, -1, EV_PERSIST, on_tick, r);
    return r->readable != NULL && r->writable != NULL && r->tick != NULL
               ? KG_OK
               : kg_fail_memory(err, KG_E_HOST, "no memory for events");
}

static enum kg_code greet_client(struct kg_remote *r)
{
    struct kg_frame f;
    struct kg_err err = KG_ERR_INIT;
    if (!kg_channel_wait(&r->client, -1, &told_to_stop, &f)) {
        return KG_E_GYM;
    }
    enum kg_code code = open_loop(r, &err);
    if (code == KG_OK) {
        code = f.kind == KG_FRAME_OPEN ? kg_remote_open(r, f.head, &err)
                                       : kg_fail(&err, KG_E_GYM, "the first frame is not OPEN");
    }
    kg_frame_deinit(&f);
    json_t *head =
        json_pack("{s:s, s:i, s:i}", "version", KG_VERSION, "workers", r->most, "cores", 0);
    if (code == KG_OK) {
        err = (struct kg_err)KG_ERR_INIT;
    }
    head = kg_frame_put_error(head, &err);
    return kg_channel_send(&r->client, KG_FRAME_REPLY, head, "", 0) ? code : KG_E_GYM;
}

static void close_all(struct kg_remote *r)
{
    while (!TAILQ_EMPTY(&r->all)) {
        kg_remote_drop(r, TAILQ_FIRST(&r->all));
    }
    kg_remote_disconnect(r);
    struct event *const events[] = {r->readable, r->writable, r->tick};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (events[i] != NULL) {
            event_free(events[i]);
        }
    }
    if (r->base != NULL) {
        event_base_free(r->base);
    }
    json_decref(r->set);
    kg_channel_deinit(&r->client);
    free(r);
}

int kg_remote_run(int fd)
{
    struct kg_remote *r = calloc(1, sizeof *r);
    const struct sigaction sa = {.sa_handler = on_terminate};
    const struct timeval tick = {.tv_sec = 0, .tv_usec = TICK_MS * 1000};
    if (r == NULL) {
        return 2;
    }
    prctl(PR_SET_NAME, "kgym-remote"); /* what ps shows */
    kg_log_role("gym");
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGINT, &sa, NULL);
    signal(SIGPIPE, SIG_IGN);
    TAILQ_INIT(&r->all);
    kg_channel_init(&r->client, fd);
    enum kg_code code = greet_client(r);
    if (code == KG_OK) {
        event_add(r->readable, NULL);
        event_add(r->tick, &tick);
        on_readable(fd, 0, r); /* tasks may have come with the first frame */
        event_base_dispatch(r->base);
    }
    close_all(r);
    return code == KG_OK ? 0 : 2;
}
