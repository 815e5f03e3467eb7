/* The HTTP/1.1 server of the service: evhttp (libevent) below, a table of routes above. One thread
 * runs it and all handlers.
 *
 * A handler gets an exchange, and answers it exactly once: before it returns, or later (a wait, a
 * long poll) with the same calls. Until then the exchange and its request live; the answer ends
 * both. A client that has gone is not told of: its answer is dropped, and `gone` says so early
 * where a handler cares. Handlers answer errors in one shape, {code, message, field}, which repeats
 * nothing of a body.
 *
 * The server refuses by itself: what is no strict HTTP (400), an unknown path (404), another method
 * (405), a body (413) or headers (431) over the limit, more exchanges or bytes at once than it
 * holds (503; of requests that are not whole the one that began first), a missing or wrong token
 * (401), a token without the route's scope (403) or with half of all exchanges (429), and, where no
 * token is asked for, what a page of another site sends (403). */
#ifndef KG_SVC_HTTP_H
#define KG_SVC_HTTP_H

#include <stdarg.h>

#include "base/json.h"

struct event_base;
struct kg_svc_http;
struct kg_svc_exchange;

enum kg_svc_scope {
    KG_SVC_OPEN = 0, /* a route for everybody */
    KG_SVC_SUBMIT = 1,
    KG_SVC_READ = 2,
    KG_SVC_WORKER = 4,
    KG_SVC_ADMIN = 8,
    KG_SVC_ALL = 15
};

enum { KG_SVC_ARGS = 4 };

struct kg_svc_request {
    const char *method;           /* "GET" */
    const char *path;             /* as sent, without the query */
    const char *arg[KG_SVC_ARGS]; /* what stood for `*` in the route's pattern; else NULL */
    const char *body;             /* [len] bytes, NUL behind them */
    size_t len;
    const char *type;   /* Content-Type; "": none */
    const char *accept; /* Accept; "": none */
    const char *known;  /* If-None-Match; "": none */
    unsigned scopes;    /* of the token; all of them where the server asks for none */
    /* Whose jobs a request submits: a hash of its token, or, where the server asks for none, one
     * word for all. "" on routes of other scopes. */
    char owner[17];
};

/* The request of an exchange; lives as long. */
const struct kg_svc_request *kg_svc_request(const struct kg_svc_exchange *x);
/* A header of the request as sent; "": it is not there. */
const char *kg_svc_request_header(const struct kg_svc_exchange *x, const char *name);
/* A parameter of the query, decoded; NULL: it is not there. */
const char *kg_svc_query(const struct kg_svc_exchange *x, const char *name);
/* The name of a parameter that is not among known (NULL-terminated); NULL: none. */
const char *kg_svc_query_unknown(const struct kg_svc_exchange *x, const char *const *known);

typedef void kg_svc_handler(struct kg_svc_exchange *x, void *ctx);

/* pattern: "/v1/evaluations/" and `*` for one segment; a last segment `**` takes the rest of the
 * path, slashes included. The first row that fits is taken. */
struct kg_svc_route {
    const char *method, *pattern;
    unsigned scope; /* one of enum kg_svc_scope */
    kg_svc_handler *handle;
};

struct kg_svc_http_options {
    int fd; /* a socket that listens; taken */
    int64_t body_bytes;
    size_t coming_bytes; /* of all requests that are not whole yet; 0: 1 GiB */
    size_t most_open; /* exchanges at once, an eighth of them for workers; more are answered 503 */
    int idle_s; /* a connection on which nothing comes or goes for so long is closed; 0: 150 */
    const struct kg_svc_route *routes;
    size_t nroutes;
    void *ctx; /* of handlers */
    /* Scopes of the token of a request [n bytes, never NUL]; token NULL: it has none. 0: refused.
     * NULL: no token is asked for. */
    unsigned (*scopes)(void *ctx, const char *token, size_t n);
    /* An exchange has ended. route NULL: none fitted; status 0: its client had gone; in, out: bytes
     * of the bodies. NULL: nobody is told. */
    void (*answered)(void *ctx, const struct kg_svc_route *route, int status, size_t in,
                     size_t out);
};

/* A socket that listens there, port 0: on any free one. Errors: IO (the port is taken), USAGE (no
 * address of this host). */
enum kg_code kg_svc_listen(const char *host, int port, int *fd, struct kg_err *err) KG_MUST_USE;
/* options and what they name must outlive it. Errors: HOST (memory). */
enum kg_code kg_svc_http_open(struct event_base *base, const struct kg_svc_http_options *options,
                              struct kg_svc_http **out, struct kg_err *err) KG_MUST_USE;
/* Exchanges that are open are answered 503 first. NULL is nothing. */
void kg_svc_http_close(struct kg_svc_http *h);
/* Takes no more connections; those that are there go on. idle is called each time that all requests
 * are answered, and their answers sent. */
void kg_svc_http_stop(struct kg_svc_http *h, void (*idle)(void *ctx), void *ctx);
bool kg_svc_http_is_idle(const struct kg_svc_http *h);

size_t kg_svc_http_open_requests(const struct kg_svc_http *h); /* without an answer yet */

/* Answers; each ends the exchange. body is copied. */
void kg_svc_reply(struct kg_svc_exchange *x, int status, const char *type, const void *body,
                  size_t n);
void kg_svc_reply_json(struct kg_svc_exchange *x, int status, json_t *body); /* takes body */
/* {code, message, field}; field "": none. code: a word such as "bad_body". */
void kg_svc_reply_error(struct kg_svc_exchange *x, int status, const char *code, const char *field,
                        const char *fmt, ...) KG_PRINTF(5, 6);
/* Another header of the answer; before it. value holds no line break. Cache-Control is `no-store`
 * where none was added. */
void kg_svc_header(struct kg_svc_exchange *x, const char *name, const char *value);

/* An answer in pieces: begin, any number of adds, end, which ends the exchange. add returns the
 * bytes that the client has not read yet; where they are many, the caller waits. A stream without
 * a piece stays open as long as add is called now and then, with n 0. */
void kg_svc_stream_begin(struct kg_svc_exchange *x, int status, const char *type);
size_t kg_svc_stream_add(struct kg_svc_exchange *x, const void *bytes, size_t n);
void kg_svc_stream_end(struct kg_svc_exchange *x);
/* The same where the answer is not whole: its connection breaks before the last piece, so that the
 * client knows. */
void kg_svc_stream_cut(struct kg_svc_exchange *x);

/* Called when the client's connection is found closed, instead of any answer: the exchange has
 * ended when it returns. Without it the answer of such an exchange is dropped. */
void kg_svc_on_gone(struct kg_svc_exchange *x, void (*gone)(struct kg_svc_exchange *x, void *arg),
                    void *arg);

/* --- a connection that goes on in another protocol --- */

/* Answers 101 with the headers that were added. From then on the connection's bytes are the
 * caller's, and the exchange, which counts as an open one, lives until kg_svc_socket_end(). False:
 * the client has gone; the exchange has ended.
 *   bytes: [n] that came. It must not end the exchange.
 *   drained: nothing waits to be written any more.
 *   gone: the connection was closed or broke, or the server ends; the exchange has ended when it
 *         returns, and no other call follows. */
struct kg_svc_socket_calls {
    void (*bytes)(void *arg, const char *bytes, size_t n);
    void (*drained)(void *arg);
    void (*gone)(void *arg);
};
bool kg_svc_socket_begin(struct kg_svc_exchange *x, const struct kg_svc_socket_calls *calls,
                         void *arg) KG_MUST_USE;
/* Writes; returns the bytes that the client has not read yet. */
size_t kg_svc_socket_write(struct kg_svc_exchange *x, const void *bytes, size_t n);
/* Is what comes read? It is from the beginning. Meanwhile nobody notices a client that goes. */
void kg_svc_socket_read(struct kg_svc_exchange *x, bool on);
/* Memory that the caller holds for it, in place of what it held before: bytes of the server's limit
 * on bodies. False: that is reached, and nothing changes. */
bool kg_svc_socket_hold(struct kg_svc_exchange *x, size_t bytes) KG_MUST_USE;
/* Closes the connection, and ends the exchange. What was not written yet is lost. Not from gone. */
void kg_svc_socket_end(struct kg_svc_exchange *x);

/* Ends the exchanges that have on_gone and whose client has closed its side: nothing else would
 * notice before they are answered, and each counts as an open one. For a timer. */
void kg_svc_http_sweep(struct kg_svc_http *h);
/* False: the client has closed its side. For what would be lost with it, such as a claim. */
bool kg_svc_is_there(const struct kg_svc_exchange *x);

/* --- strict bodies --- */

/* The body as an object with members among known (NULL-terminated) only. Else answers 400 (the
 * nearest name is in the message) and returns NULL: the exchange has ended. The caller owns it. */
json_t *kg_svc_body(struct kg_svc_exchange *x, const char *const *known);
/* The same of what is left of the body, text [len bytes]. */
json_t *kg_svc_body_of(struct kg_svc_exchange *x, const char *text, size_t len,
                       const char *const *known);
/* A member of the body. *ok false: another type; 400 was answered. NULL: absent, or not ok. */
const char *kg_svc_body_text(struct kg_svc_exchange *x, const json_t *body, const char *name,
                             bool *ok);

#endif
