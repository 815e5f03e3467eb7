/* WebSockets: frames (ws_frame.h) on the connection of an exchange (http.h). */
#include "svc/ws.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "svc/job.h"
#include "svc/ws_frame.h"

enum { REFUSED_MS = 300 };

struct message {
    char *text;
    size_t n;
    struct message *next;
};

struct kg_ws {
    struct kg_svc_exchange *x;
    const struct kg_ws_calls *calls;
    void *arg;
    struct kg_ws_reader reader;
    struct message *first, **last; /* that wait */
    size_t nwaiting, waiting_bytes;
    struct event *timer;
    int64_t heard_ms, idle_from_ms, idle_ms;
    bool busy, pumping;   /* a message is being dealt with; pump() runs */
    bool closing, closed; /* a closing frame was sent; both were */
    bool stuck;           /* the client does not read */
};

static void destroy(struct kg_ws *w)
{
    while (w->first != NULL) {
        struct message *m = w->first;
        w->first = m->next;
        free(m->text);
        free(m);
    }
    kg_ws_reader_deinit(&w->reader);
    if (w->timer != NULL) {
        event_free(w->timer);
    }
    free(w);
}

/* --- writing --- */

static void write_frame(struct kg_ws *w, enum kg_ws_opcode opcode, const void *bytes, size_t n)
{
    struct kg_buf frame;
    kg_buf_init(&frame, n + KG_WS_HEADER_MAX);
    kg_ws_add_frame(&frame, opcode, bytes, n);
    bool full = kg_svc_socket_write(w->x, frame.data, frame.len) > KG_WS_OUT_MOST;
    kg_buf_deinit(&frame);
    if (full && !w->stuck) {
        w->stuck = true;
        kg_svc_socket_read(w->x, false);
    }
}

void kg_ws_send(struct kg_ws *w, const char *text, size_t n)
{
    if (!w->closing) {
        write_frame(w, KG_WS_TEXT, text, n);
    }
}

static void wake_in(struct kg_ws *w, int64_t ms)
{
    const struct timeval t = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    evtimer_add(w->timer, &t);
}

/* When to look next: for a ping, or for the end of the idle time. */
static void arm(struct kg_ws *w)
{
    int64_t left = w->idle_from_ms + w->idle_ms - kg_svc_now_ms();
    wake_in(w, w->busy || left > KG_WS_PING_MS ? KG_WS_PING_MS : left > 0 ? left : 1);
}

static void begin_close(struct kg_ws *w, int status, const char *reason, int64_t most_ms)
{
    if (!w->closing) {
        struct kg_buf frame;
        w->closing = true;
        kg_buf_init(&frame, KG_WS_CONTROL_MAX + KG_WS_HEADER_MAX);
        kg_ws_add_close(&frame, status, reason);
        kg_svc_socket_write(w->x, frame.data, frame.len);
        kg_buf_deinit(&frame);
        wake_in(w, most_ms);
    }
}

void kg_ws_close(struct kg_ws *w, int status, const char *reason)
{
    begin_close(w, status, reason, KG_WS_CLOSING_MS);
}

/* --- messages --- */

static void hold(struct kg_ws *w)
{
    if (!kg_svc_socket_hold(w->x, w->waiting_bytes + w->reader.message.len)) {
        begin_close(w, KG_WS_TRY_LATER, "the service is full", REFUSED_MS);
        kg_svc_socket_read(w->x, false); /* what comes would be held as well */
    }
}

/* Hands over what waits. Whoever is called may call kg_ws_next() at once. */
static void pump(struct kg_ws *w)
{
    if (w->pumping) {
        return;
    }
    w->pumping = true;
    while (!w->busy && !w->closing && w->first != NULL) {
        struct message *m = w->first;
        w->first = m->next;
        w->last = m->next != NULL ? w->last : &w->first;
        w->nwaiting--;
        w->waiting_bytes -= m->n;
        w->busy = true;
        w->calls->message(w->arg, m->text, m->n);
        free(m->text);
        free(m);
    }
    w->pumping = false;
}

void kg_ws_next(struct kg_ws *w)
{
    w->busy = false;
    w->idle_from_ms = kg_svc_now_ms();
    if (!w->closing) {
        pump(w);
        arm(w);
    }
}

void kg_ws_set_idle(struct kg_ws *w, int64_t ms)
{
    w->idle_ms = ms;
}

static void keep(struct kg_ws *w, size_t n)
{
    struct message *m = calloc(1, sizeof *m);
    if (w->nwaiting == KG_WS_QUEUE || m == NULL) {
        free(m);
        kg_ws_close(w, KG_WS_POLICY, "too many messages at once");
        return;
    }
    *m = (struct message){.text = kg_buf_detach(&w->reader.message), .n = n};
    KG_ASSERT(m->text != NULL);
    *w->last = m;
    w->last = &m->next;
    w->nwaiting++;
    w->waiting_bytes += n;
}

/* It ends once our part is written: at once where the client only answers. */
static void on_close(struct kg_ws *w, const struct kg_ws_event *e)
{
    begin_close(w, e->status != KG_WS_NO_STATUS ? e->status : KG_WS_NORMAL, "", KG_WS_CLOSING_MS);
    w->closed = true;
    if (kg_svc_socket_write(w->x, "", 0) == 0) {
        wake_in(w, 0);
    }
}

/* --- of the connection --- */

static void on_bytes(void *arg, const char *bytes, size_t n)
{
    struct kg_ws *w = arg;
    struct kg_ws_event e = {.kind = KG_WS_GOT_PONG};
    w->heard_ms = kg_svc_now_ms();
    for (size_t at = 0; !w->closed && e.kind != KG_WS_NOTHING && e.kind != KG_WS_REFUSED;) {
        at += kg_ws_read(&w->reader, bytes + at, n - at, &e);
        if (e.kind == KG_WS_MESSAGE && !w->closing) {
            keep(w, e.len);
        } else if (e.kind == KG_WS_GOT_PING && !w->closing) {
            write_frame(w, KG_WS_PONG, e.text, e.len);
        } else if (e.kind == KG_WS_GOT_CLOSE) {
            on_close(w, &e);
        } else if (e.kind == KG_WS_REFUSED) {
            begin_close(w, e.status, "", REFUSED_MS); /* what follows can't be understood */
        }
    }
    hold(w);
    pump(w);
}

static void on_gone(void *arg)
{
    struct kg_ws *w = arg;
    w->calls->gone(w->arg);
    destroy(w);
}

static void end(struct kg_ws *w)
{
    struct kg_svc_exchange *x = w->x;
    on_gone(w);
    kg_svc_socket_end(x);
}

static void on_drained(void *arg)
{
    struct kg_ws *w = arg;
    if (w->closed) {
        end(w);
    } else if (w->stuck) {
        w->stuck = false;
        w->heard_ms = kg_svc_now_ms();
        kg_svc_socket_read(w->x, true);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct kg_ws *w = arg;
    int64_t now_ms = kg_svc_now_ms();
    (void)fd;
    (void)what;
    if (w->closing || now_ms - w->heard_ms > KG_WS_SILENT_MS) {
        end(w);
    } else if (!w->busy && now_ms >= w->idle_from_ms + w->idle_ms) {
        kg_ws_close(w, KG_WS_AWAY, "idle for too long");
    } else {
        write_frame(w, KG_WS_PING, "", 0);
        arm(w);
    }
}

/* --- the handshake --- */

static bool greet(struct kg_svc_exchange *x)
{
    char key[KG_WS_ACCEPT_LEN];
    if (!kg_ws_has_word(kg_svc_request_header(x, "Upgrade"), "websocket") ||
        !kg_ws_has_word(kg_svc_request_header(x, "Connection"), "upgrade")) {
        kg_svc_header(x, "Upgrade", "websocket");
        kg_svc_reply_error(x, 426, "no_upgrade", "", "this path speaks WebSocket only");
        return false;
    }
    if (strcmp(kg_svc_request_header(x, "Sec-WebSocket-Version"), "13") != 0) {
        kg_svc_header(x, "Sec-WebSocket-Version", "13");
        kg_svc_reply_error(x, 426, "bad_version", "", "the version of WebSocket must be 13");
        return false;
    }
    if (!kg_ws_accept_key(kg_svc_request_header(x, "Sec-WebSocket-Key"), key)) {
        kg_svc_reply_error(x, 400, "bad_key", "", "Sec-WebSocket-Key must be 16 bytes in base64");
        return false;
    }
    kg_svc_header(x, "Upgrade", "websocket");
    kg_svc_header(x, "Connection", "Upgrade");
    kg_svc_header(x, "Sec-WebSocket-Accept", key);
    return true;
}

struct kg_ws *kg_ws_accept(struct kg_svc_exchange *x, struct event_base *base, size_t most,
                           const struct kg_ws_calls *calls, void *arg)
{
    static const struct kg_svc_socket_calls own = {
        .bytes = on_bytes, .drained = on_drained, .gone = on_gone};
    if (!greet(x)) {
        return NULL;
    }
    struct kg_ws *w = calloc(1, sizeof *w);
    KG_ASSERT(w != NULL);
    *w = (struct kg_ws){.x = x, .calls = calls, .arg = arg, .idle_ms = KG_WS_IDLE_MS};
    kg_ws_reader_init(&w->reader, most);
    w->last = &w->first;
    w->heard_ms = w->idle_from_ms = kg_svc_now_ms();
    w->timer = evtimer_new(base, on_timer, w);
    KG_ASSERT(w->timer != NULL);
    if (!kg_svc_socket_begin(x, &own, w)) {
        destroy(w);
        return NULL;
    }
    arm(w);
    return w;
}
