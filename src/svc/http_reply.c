/* Exchanges and their answers, on top of evhttp. evhttp reads nothing from a connection while its
 * request has no answer, so a request outlives its client's going. That is found when writing
 * fails, or by the sweep, and the close callback tells it. A request whose answer was not whole
 * then is no longer the connection's: evhttp has cut it off, and never frees it. Any other one goes
 * with it. */
#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#include "svc/http_private.h"

static void tell_idle(struct kg_svc_http *h)
{
    if (h->idle != NULL && kg_svc_http_is_idle(h)) {
        h->idle(h->idle_ctx);
    }
}

void kg_svc_exchange_end(struct kg_svc_exchange *x)
{
    struct kg_svc_http *h = x->http;
    if (h->o->answered != NULL) {
        h->o->answered(h->o->ctx, x->route, x->status, x->request.len, x->sent);
    }
    *x->link = x->next;
    if (x->next != NULL) {
        x->next->link = x->link;
    }
    x->http->nopen--;
    x->http->bytes -= x->request.len;
    if (x->share != NULL) {
        --*x->share;
    }
    evhttp_clear_headers(&x->query);
    free(x->body);
    free(x);
    tell_idle(h);
}

static void on_sent(struct evhttp_request *req, void *arg)
{
    struct kg_svc_http *h = arg;
    (void)req;
    h->unsent--;
    tell_idle(h);
}

/* The request is evhttp's again. */
static struct evhttp_request *release(struct kg_svc_exchange *x)
{
    struct evhttp_request *req = x->req;
    struct evhttp_connection *c = req != NULL ? evhttp_request_get_connection(req) : NULL;
    if (c != NULL) {
        evhttp_connection_set_closecb(c, NULL, NULL);
        if (x->http->closing) { /* it is waited for */
            x->http->unsent++;
            evhttp_request_set_on_complete_cb(req, on_sent, x->http);
        }
    }
    return req;
}

void kg_svc_exchange_closed(struct evhttp_connection *c, void *arg)
{
    struct kg_svc_exchange *x = arg;
    (void)c;
    if (evhttp_request_get_connection(x->req) == NULL) {
        evhttp_request_free(x->req);
    }
    x->req = NULL;
    if (x->gone != NULL) {
        x->gone(x, x->gone_arg);
        kg_svc_exchange_end(x);
    }
}

void kg_svc_on_gone(struct kg_svc_exchange *x, void (*gone)(struct kg_svc_exchange *x, void *arg),
                    void *arg)
{
    x->gone = gone;
    x->gone_arg = arg;
}

bool kg_svc_is_there(const struct kg_svc_exchange *x)
{
    char byte;
    struct evhttp_connection *c = x->req != NULL ? evhttp_request_get_connection(x->req) : NULL;
    if (c == NULL) {
        return false;
    }
    int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(c));
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

/* POLLRDHUP tells of a client that closes, also where bytes of a further request wait unread. */
void kg_svc_http_sweep(struct kg_svc_http *h)
{
    struct pollfd *fd = calloc(h->nopen + 1, sizeof *fd);
    struct kg_svc_exchange **of = calloc(h->nopen + 1, sizeof(struct kg_svc_exchange *));
    nfds_t n = 0;
    for (struct kg_svc_exchange *x = h->open; x != NULL && fd != NULL && of != NULL; x = x->next) {
        struct evhttp_connection *c = x->req != NULL && x->gone != NULL && x->socket == NULL
                                          ? evhttp_request_get_connection(x->req)
                                          : NULL;
        if (c != NULL) {
            fd[n].fd = bufferevent_getfd(evhttp_connection_get_bufferevent(c));
            fd[n].events = POLLRDHUP;
            of[n++] = x;
        }
    }
    if (n > 0 && poll(fd, n, 0) > 0) {
        for (nfds_t i = 0; i < n; i++) {
            if (fd[i].revents != 0) {
                evhttp_connection_free(evhttp_request_get_connection(of[i]->req));
            }
        }
    }
    free(of);
    free(fd);
}

const struct kg_svc_request *kg_svc_request(const struct kg_svc_exchange *x)
{
    return &x->request;
}

const char *kg_svc_request_header(const struct kg_svc_exchange *x, const char *name)
{
    const char *value =
        x->req != NULL ? evhttp_find_header(evhttp_request_get_input_headers(x->req), name) : NULL;
    return value != NULL ? value : "";
}

const char *kg_svc_query(const struct kg_svc_exchange *x, const char *name)
{
    return evhttp_find_header(&x->query, name);
}

const char *kg_svc_query_unknown(const struct kg_svc_exchange *x, const char *const *known)
{
    struct evkeyval *kv;
    TAILQ_FOREACH(kv, &x->query, next)
    {
        size_t i = 0;
        while (known[i] != NULL && strcasecmp(known[i], kv->key) != 0) {
            i++;
        }
        if (known[i] == NULL) {
            return kv->key;
        }
    }
    return NULL;
}

void kg_svc_header(struct kg_svc_exchange *x, const char *name, const char *value)
{
    if (x->req != NULL) {
        evhttp_add_header(evhttp_request_get_output_headers(x->req), name, value);
    }
}

const char *kg_svc_reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } known[] = {{200, "OK"},
                 {202, "Accepted"},
                 {204, "No Content"},
                 {302, "Found"},
                 {304, "Not Modified"},
                 {400, "Bad Request"},
                 {401, "Unauthorized"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {409, "Conflict"},
                 {413, "Too Large"},
                 {426, "Upgrade Required"},
                 {429, "Too Many Requests"},
                 {500, "Server Error"},
                 {503, "Unavailable"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].status == status) {
            return known[i].text;
        }
    }
    return "Status";
}

static void add_headers(struct kg_svc_exchange *x, const char *type)
{
    kg_svc_header(x, "Content-Type", type);
    if (x->req != NULL &&
        evhttp_find_header(evhttp_request_get_output_headers(x->req), "Cache-Control") == NULL) {
        kg_svc_header(x, "Cache-Control", "no-store");
    }
    kg_svc_header(x, "X-Content-Type-Options", "nosniff");
    if (x->http->closing) {
        kg_svc_header(x, "Connection", "close");
    }
}

void kg_svc_reply(struct kg_svc_exchange *x, int status, const char *type, const void *body,
                  size_t n)
{
    add_headers(x, type);
    bool bodiless = x->req != NULL && evhttp_request_get_command(x->req) == EVHTTP_REQ_HEAD;
    if (bodiless) { /* evhttp would send the body, which its reader takes for the next answer */
        char length[24];
        snprintf(length, sizeof length, "%zu", n);
        kg_svc_header(x, "Content-Length", length);
        n = 0;
    }
    struct evhttp_request *req = release(x);
    if (req != NULL) {
        struct evbuffer *out = evbuffer_new();
        bool whole = out != NULL && evbuffer_add(out, body, n) == 0;
        x->status = whole ? status : 503;
        x->sent = whole ? n : 0;
        evhttp_send_reply(req, whole ? status : 503, kg_svc_reason(whole ? status : 503), out);
        if (out != NULL) {
            evbuffer_free(out);
        }
    }
    kg_svc_exchange_end(x);
}

size_t kg_svc_http_open_requests(const struct kg_svc_http *h)
{
    return h->nopen;
}

void kg_svc_stream_begin(struct kg_svc_exchange *x, int status, const char *type)
{
    add_headers(x, type);
    x->streams = true;
    if (x->req != NULL) {
        x->status = status;
        evhttp_send_reply_start(x->req, status, kg_svc_reason(status));
    }
}

size_t kg_svc_stream_add(struct kg_svc_exchange *x, const void *bytes, size_t n)
{
    struct evbuffer *piece = x->req != NULL && n > 0 ? evbuffer_new() : NULL;
    if (piece != NULL) {
        evbuffer_add(piece, bytes, n);
        x->sent += n;
        evhttp_send_reply_chunk(x->req, piece);
        evbuffer_free(piece);
    }
    struct evhttp_connection *c = x->req != NULL ? evhttp_request_get_connection(x->req) : NULL;
    struct bufferevent *b = c != NULL ? evhttp_connection_get_bufferevent(c) : NULL;
    if (b != NULL) {
        /* While it answers, evhttp waits for bytes of a client that has none to send, and gives the
         * connection up after IDLE_S. This begins that time anew. */
        bufferevent_enable(b, EV_READ);
    }
    return b != NULL ? evbuffer_get_length(bufferevent_get_output(b)) : 0;
}

void kg_svc_stream_end(struct kg_svc_exchange *x)
{
    struct evhttp_request *req = release(x);
    if (req != NULL) {
        evhttp_send_reply_end(req);
    }
    kg_svc_exchange_end(x);
}

/* Gives the kernel what it takes of the bytes that wait. */
static void write_out(struct bufferevent *b)
{
    struct evbuffer *out = bufferevent_get_output(b);
    evbuffer_unfreeze(out, 1); /* a bufferevent keeps others from its front */
    while (evbuffer_get_length(out) > 0 && evbuffer_write(out, bufferevent_getfd(b)) > 0) {
    }
    evbuffer_freeze(out, 1);
}

void kg_svc_stream_cut(struct kg_svc_exchange *x)
{
    struct evhttp_connection *c = x->req != NULL ? evhttp_request_get_connection(x->req) : NULL;
    if (c != NULL) {
        struct bufferevent *b = evhttp_connection_get_bufferevent(c);
        write_out(b);
        shutdown(bufferevent_getfd(b), SHUT_RDWR);
    }
    kg_svc_stream_end(x);
}
