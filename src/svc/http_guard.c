/* The grammar of requests in front of evhttp. Each connection's bytes are read here when they have
 * come and before evhttp sees them. What is refused is answered here, in the service's own shape,
 * and evhttp never sees the rest of it: the connection is closed for writing, and what still comes
 * is thrown away until the client closes, so that the answer reaches it: many clients read none
 * before they have sent all. One that sends twice the largest body is reset.
 *
 * Requests that are not whole yet have no exchange that counts their bytes, so these are counted
 * here. Where they are too many, the request that began first is closed: a client that sends what
 * it has is done long before one that holds what it began.
 *
 * libevent 2.1 tells nobody when a connection ends. So what is known of one is kept by its
 * descriptor, and begun anew with the first bytes of another connection on that descriptor. */
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "svc/http_grammar.h"
#include "svc/http_private.h"

enum { LINGER_S = 5, THROWN_LEAST = 1 << 20, PIECES = 16 };

struct seen {
    struct kg_svc_grammar grammar;
    bufferevent_data_cb of_evhttp; /* its callback; another one: it is no HTTP any more */
    size_t thrown;
    ino_t socket;   /* which socket had the descriptor */
    size_t coming;  /* bytes of a request that is not whole yet; 0: there is none */
    uint64_t begun; /* the number of that request */
};

/* Descriptors are the process's, so this is, too. */
static struct {
    struct seen *seen; /* [n] */
    size_t n;
    int64_t body_max;
    size_t coming, coming_max;
    uint64_t begun;
} all;

static struct seen *slot(int fd)
{
    if ((size_t)fd >= all.n) {
        size_t n = 2 * (size_t)fd + 64;
        struct seen *more = realloc(all.seen, n * sizeof *more);
        KG_ASSERT(more != NULL);
        memset(more + all.n, 0, (n - all.n) * sizeof *more);
        all.seen = more;
        all.n = n;
    }
    return &all.seen[fd];
}

static void answer(int fd, const struct kg_svc_grammar_refusal *r)
{
    char body[256], text[640];
    int n = snprintf(body, sizeof body, "{\"code\":\"%s\",\"message\":\"%s\",\"field\":null}\n",
                     r->code, r->message);
    int len = snprintf(text, sizeof text,
                       "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                       "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                       "Connection: close\r\n\r\n%s",
                       r->status, r->reason, n, body);
    send(fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
}

/* The last n bytes of the buffer. False: the grammar refuses them. */
static bool read_last(struct kg_svc_grammar *g, struct evbuffer *in, size_t n)
{
    struct evbuffer_iovec piece[PIECES];
    struct evbuffer_ptr at;
    while (n > 0) {
        if (evbuffer_ptr_set(in, &at, evbuffer_get_length(in) - n, EVBUFFER_PTR_SET) != 0) {
            return false;
        }
        int pieces = evbuffer_peek(in, (ev_ssize_t)n, &at, piece, PIECES);
        for (int i = 0; i < pieces && i < PIECES && n > 0; i++) {
            size_t len = piece[i].iov_len < n ? piece[i].iov_len : n;
            if (!kg_svc_grammar_read(g, piece[i].iov_base, len)) {
                return false;
            }
            n -= len;
        }
    }
    return true;
}

static void throw_away(struct bufferevent *b, struct seen *s, struct evbuffer *in)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    s->thrown += evbuffer_get_length(in);
    evbuffer_drain(in, evbuffer_get_length(in));
    if (s->thrown > THROWN_LEAST + 2 * (size_t)all.body_max) {
        /* Without a reset its writes would wait for a window that never opens. */
        setsockopt(bufferevent_getfd(b), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        shutdown(bufferevent_getfd(b), SHUT_RD);
    }
}

/* --- requests that are not whole yet --- */

static ino_t socket_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static void count(struct seen *s, size_t coming)
{
    if (s->coming == 0 && coming > 0) {
        s->begun = ++all.begun;
    }
    all.coming += coming - s->coming;
    s->coming = coming;
}

/* The request that began first; NULL: there are no two. */
static struct seen *first_of_several(void)
{
    struct seen *first = NULL;
    int n = 0;
    for (struct seen *s = all.seen; s < all.seen + all.n; s++) {
        if (s->coming > 0) {
            n++;
            first = first == NULL || s->begun < first->begun ? s : first;
        }
    }
    return n > 1 ? first : NULL;
}

/* Each of them is bounded, so the last one stays. Its end gives the memory back. */
static void make_room(void)
{
    static const struct kg_svc_grammar_refusal busy = {
        .status = 503,
        .reason = "Service Unavailable",
        .code = "busy",
        .message = "too many bytes of requests that are not whole: send it again"};
    struct seen *s;
    while (all.coming > all.coming_max && (s = first_of_several()) != NULL) {
        int fd = (int)(s - all.seen);
        count(s, 0);
        if (socket_of(fd) == s->socket) { /* else it has ended, unseen */
            s->grammar.refusal = busy;
            answer(fd, &busy);
            shutdown(fd, SHUT_RD);
        }
    }
}

static void on_bytes(struct evbuffer *in, const struct evbuffer_cb_info *info, void *arg)
{
    struct bufferevent *b = arg;
    bufferevent_data_cb now = NULL;
    int fd = bufferevent_getfd(b);
    if (info->n_added == 0 || fd < 0) {
        return;
    }
    struct seen *s = slot(fd);
    bufferevent_getcb(b, &now, NULL, NULL, NULL);
    if (now != NULL && now != s->of_evhttp) {
        return;
    }
    if (s->grammar.refusal.status != 0) {
        throw_away(b, s, in);
        return;
    }
    if (!read_last(&s->grammar, in, info->n_added)) {
        const struct timeval linger = {.tv_sec = LINGER_S, .tv_usec = 0};
        answer(fd, &s->grammar.refusal);
        bufferevent_set_timeouts(b, &linger, &linger);
        count(s, 0);
        throw_away(b, s, in);
    } else {
        count(s, s->grammar.state == 0 ? 0 : s->coming + info->n_added);
        make_room();
    }
}

static void on_first_bytes(struct evbuffer *in, const struct evbuffer_cb_info *info, void *arg)
{
    struct bufferevent *b = arg;
    int fd = bufferevent_getfd(b);
    if (info->n_added == 0 || fd < 0) {
        return;
    }
    struct seen *s = slot(fd);
    count(s, 0);
    *s = (struct seen){.grammar = {.body_max = all.body_max}, .socket = socket_of(fd)};
    bufferevent_getcb(b, &s->of_evhttp, NULL, NULL, NULL);
    evbuffer_remove_cb(in, on_first_bytes, b);
    evbuffer_add_cb(in, on_bytes, b);
    on_bytes(in, info, b);
}

static struct bufferevent *on_connection(struct event_base *base, void *arg)
{
    struct bufferevent *b = bufferevent_socket_new(base, -1, 0); /* as evhttp makes it */
    (void)arg;
    if (b != NULL) {
        evbuffer_add_cb(bufferevent_get_input(b), on_first_bytes, b);
    }
    return b;
}

void kg_svc_guard(struct evhttp *http, int64_t body_max, size_t coming_max)
{
    all.body_max = body_max;
    all.coming_max = coming_max;
    evhttp_set_bevcb(http, on_connection, NULL);
}
