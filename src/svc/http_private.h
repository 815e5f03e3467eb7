/* Private to http*.c: the server, an exchange, and how a path is matched. */
#ifndef KG_SVC_HTTP_PRIVATE_H
#define KG_SVC_HTTP_PRIVATE_H

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <sys/queue.h>

#include "svc/http.h"

enum { KG_SVC_SEGMENTS = 16, KG_SVC_PATH_MAX = 2048, KG_SVC_SHARES = 1024 };

struct kg_svc_http {
    const struct kg_svc_http_options *o;
    struct evhttp *http;
    struct evhttp_bound_socket *socket;
    struct kg_svc_exchange *open;
    size_t nopen, bytes;          /* of open; of their bodies */
    size_t shares[KG_SVC_SHARES]; /* exchanges of each token, by a hash of it */
    bool closing;
    size_t unsent; /* answers of a server that stops */
    void (*idle)(void *ctx);
    void *idle_ctx;
};

struct kg_svc_exchange {
    struct kg_svc_http *http;
    struct evhttp_request *req; /* NULL: its connection is gone */
    struct kg_svc_request request;
    struct evkeyvalq query;
    char *body;
    char raw[KG_SVC_PATH_MAX], type[128], accept[256], known[128];
    char path[KG_SVC_PATH_MAX];
    char args[KG_SVC_PATH_MAX]; /* that request.arg points into */
    char token[256];            /* of `Basic` */
    size_t *share;              /* of its token; NULL: it counts to none */
    bool streams;
    const struct kg_svc_socket_calls *socket; /* NULL: it speaks HTTP */
    void *socket_arg;
    const struct kg_svc_route *route; /* NULL: none fits */
    int status;                       /* that was answered; 0: none */
    size_t sent;                      /* bytes of the answer's body */
    void (*gone)(struct kg_svc_exchange *x, void *arg);
    void *gone_arg;
    struct kg_svc_exchange *next, **link; /* of those that are open */
};

void kg_svc_exchange_end(struct kg_svc_exchange *x); /* forgets it, without an answer */
/* The server ends: gone is called. */
void kg_svc_socket_stop(struct kg_svc_exchange *x);
/* Of evhttp: the connection of exchange x is gone. */
void kg_svc_exchange_closed(struct evhttp_connection *c, void *x);
const char *kg_svc_reason(int status); /* "OK", "Not Found", ...; static */

/* A path as sent [no query] into segments, decoded, empty ones left out: *n of them, all in room
 * [KG_SVC_PATH_MAX]. False: too long, too many, or a byte that may not be there. */
bool kg_svc_path_split(const char *raw, char *room, const char *segment[KG_SVC_SEGMENTS],
                       size_t *n);
/* Does the pattern fit? arg and room [KG_SVC_PATH_MAX]: as in struct kg_svc_request. */
bool kg_svc_path_fits(const char *pattern, const char *const *segment, size_t n,
                      const char *arg[KG_SVC_ARGS], char *room);

/* Puts the grammar (http_grammar.h) in front of a server: what it refuses is answered 400, 405, 413
 * or 431 and closed. A connection whose buffers get other callbacks than evhttp's is left alone.
 * coming_max: bytes of requests that are not whole; where more come, some are answered 503. */
void kg_svc_guard(struct evhttp *http, int64_t body_max, size_t coming_max);

/* Does a page of another site send it? True where its Host is neither an address nor `localhost`,
 * and where it has an Origin other than http://HOST. What is bound is always an address. */
bool kg_svc_is_foreign(struct evhttp_request *req);

#endif
