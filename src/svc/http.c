/* The HTTP server: what comes in, and which handler gets it. */
#include "svc/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hash.h"
#include "svc/http_grammar.h"
#include "svc/http_private.h"

enum { IDLE_S = 150, BACKLOG = 4096 };
enum { BODIES_MOST = 1 << 30 }; /* bytes, of all exchanges that are open; as many may be coming */
enum { PARAMETERS_MOST = 32 };  /* of a query; no route has as many */
enum { WORKERS_PART = 8 };      /* so much of all exchanges is for workers alone */

/* --- requests --- */

static const char *header(struct evhttp_request *req, const char *name)
{
    const char *value = evhttp_find_header(evhttp_request_get_input_headers(req), name);
    return value != NULL ? value : "";
}

static unsigned scopes_of(const struct kg_svc_http_options *o, const char *token)
{
    return o->scopes == NULL ? KG_SVC_ALL
                             : o->scopes(o->ctx, token, token != NULL ? strlen(token) : 0);
}

/* What follows `Bearer`, or the password of `Basic`, since some clients take a token in their URL
 * alone; NULL: there is none. */
static const char *token_of(struct kg_svc_exchange *x)
{
    const char *given = header(x->req, "Authorization");
    size_t n = strlen(given);
    if (n > 7 && strncasecmp(given, "Bearer ", 7) == 0) {
        return given + 7;
    }
    if (n <= 6 || strncasecmp(given, "Basic ", 6) != 0 || (n - 6) / 4 * 3 >= sizeof x->token) {
        return NULL;
    }
    int got = EVP_DecodeBlock((unsigned char *)x->token, (const unsigned char *)given + 6,
                              (int)(n - 6)); /* zeros where it is padded */
    x->token[got > 0 ? got : 0] = '\0';
    char *colon = strchr(x->token, ':');
    return colon != NULL ? colon + 1 : NULL;
}

static const char *method_name(struct evhttp_request *req)
{
    switch (evhttp_request_get_command(req)) {
    case EVHTTP_REQ_GET:
        return "GET";
    case EVHTTP_REQ_POST:
        return "POST";
    case EVHTTP_REQ_DELETE:
        return "DELETE";
    case EVHTTP_REQ_PUT:
        return "PUT";
    case EVHTTP_REQ_HEAD:
        return "HEAD";
    default:
        return "OTHER";
    }
}

/* Path and query as they were sent: a path that begins with two slashes names no host here. Where a
 * URL was sent, its host is that of the Host header, which was looked at; else a reader in front
 * may have taken the request for another one. */
static bool target(struct kg_svc_exchange *x, const char **query)
{
    const char *sent = evhttp_request_get_uri(x->req), *host = header(x->req, "Host");
    const size_t scheme = sizeof "http://" - 1;
    if (sent != NULL && strncasecmp(sent, "http://", scheme) == 0 && host[0] != '\0' &&
        strncasecmp(sent + scheme, host, strlen(host)) == 0) {
        sent += scheme + strlen(host);
    }
    if (sent == NULL || sent[0] != '/') {
        return false;
    }
    size_t n = strcspn(sent, "?#");
    *query = sent[n] == '?' ? sent + n + 1 : NULL;
    return snprintf(x->raw, sizeof x->raw, "%.*s", (int)n, sent) < (int)sizeof x->raw;
}

/* A worker's claims end while it is kept out, so some places are left for workers alone, whoever
 * else asks. The path tells: tokens are looked at later. */
static size_t most_open_for(const struct kg_svc_exchange *x)
{
    static const char worker[] = "/v1/worker/";
    const char *path = evhttp_request_get_uri(x->req);
    size_t most = x->http->o->most_open;
    bool is_worker = path != NULL && strncmp(path, worker, sizeof worker - 1) == 0;
    return is_worker ? most : most - most / WORKERS_PART;
}

/* False: there are too many, and it was answered. Body bytes count from here on. */
static bool admit(struct kg_svc_exchange *x)
{
    struct kg_svc_http *h = x->http;
    size_t len = evbuffer_get_length(evhttp_request_get_input_buffer(x->req));
    if (h->nopen > most_open_for(x) || len > BODIES_MOST - h->bytes) {
        kg_svc_header(x, "Connection", "close");
        kg_svc_header(x, "Retry-After", "5");
        kg_svc_reply_error(x, 503, "busy", "", "too many requests at once: ask again");
        return false;
    }
    x->request.len = len;
    h->bytes += len;
    return true;
}

bool kg_svc_socket_hold(struct kg_svc_exchange *x, size_t bytes)
{
    struct kg_svc_http *h = x->http;
    if (bytes > BODIES_MOST - (h->bytes - x->request.len)) {
        return false;
    }
    h->bytes += bytes - x->request.len;
    x->request.len = bytes;
    return true;
}

/* Is a name there twice, or are there more than any route has? */
static bool names_twice(const struct kg_svc_exchange *x)
{
    const struct evkeyval *kv = TAILQ_FIRST(&x->query), *other;
    for (int n = 0; kv != NULL; kv = TAILQ_NEXT(kv, next), n++) {
        for (other = TAILQ_NEXT(kv, next); other != NULL; other = TAILQ_NEXT(other, next)) {
            if (strcasecmp(kv->key, other->key) == 0) {
                return true;
            }
        }
        if (n == PARAMETERS_MOST) {
            return true;
        }
    }
    return false;
}

/* Body, path and query of the request; false: it was answered. */
static bool take(struct kg_svc_exchange *x, const char *segment[KG_SVC_SEGMENTS], size_t *n)
{
    struct kg_svc_request *r = &x->request;
    struct evbuffer *in = evhttp_request_get_input_buffer(x->req);
    const char *query = NULL;
    bool whole = target(x, &query);
    r->body = x->body = malloc(r->len + 1);
    r->method = method_name(x->req);
    snprintf(x->type, sizeof x->type, "%s", header(x->req, "Content-Type"));
    snprintf(x->accept, sizeof x->accept, "%s", header(x->req, "Accept"));
    snprintf(x->known, sizeof x->known, "%s", header(x->req, "If-None-Match"));
    r->path = x->raw;
    r->type = x->type;
    r->accept = x->accept;
    r->known = x->known;
    if (x->body == NULL) {
        kg_svc_reply_error(x, 503, "no_memory", "", "no memory for the body");
        return false;
    }
    evbuffer_remove(in, x->body, r->len);
    x->body[r->len] = '\0';
    if (!whole || !kg_svc_path_split(r->path, x->path, segment, n)) {
        kg_svc_reply_error(x, 400, "bad_path", "", "the path is no path of this service");
        return false;
    }
    if (query != NULL && (strstr(query, "%00") != NULL ||
                          evhttp_parse_query_str(query, &x->query) != 0 || names_twice(x))) {
        kg_svc_reply_error(x, 400, "bad_query", "",
                           "the query is no list of NAME=VALUE, each name once, without NUL");
        return false;
    }
    return true;
}

/* One client must not hold all exchanges, or workers can't renew what they hold. A token of theirs
 * has no bound, since many may share it. Two tokens with the same hash share a bound. */
static bool takes_share(struct kg_svc_exchange *x, const char *token)
{
    size_t hash = 5381;
    for (const char *c = token; *c != '\0'; c++) {
        hash = hash * 33 + (unsigned char)*c;
    }
    size_t *share = &x->http->shares[hash % KG_SVC_SHARES];
    if (*share >= (x->http->o->most_open + 1) / 2) {
        return false;
    }
    x->share = share;
    ++*share;
    return true;
}

/* asked: as below. A token that nobody asked for is any word, and makes no other owner. */
static void set_owner(struct kg_svc_exchange *x, const char *token, bool asked)
{
    char sum[KG_SHA256_HEX] = "0000000000000000";
    if (asked && token != NULL) {
        kg_sha256_hex(token, strlen(token), sum);
    }
    snprintf(x->request.owner, sizeof x->request.owner, "%.16s", sum);
}

/* asked: the server asked for tokens a moment ago. */
static void enter(struct kg_svc_exchange *x, const struct kg_svc_route *r, bool asked)
{
    const struct kg_svc_http_options *o = x->http->o;
    const char *token = token_of(x);
    x->request.scopes = r->scope != KG_SVC_OPEN ? scopes_of(o, token) : KG_SVC_ALL;
    if (x->request.scopes == 0) {
        kg_svc_header(x, "WWW-Authenticate", "Bearer");
        kg_svc_reply_error(x, 401, "no_token", "", "a token of this service is needed");
    } else if (r->scope != KG_SVC_OPEN && (x->request.scopes & r->scope) == 0) {
        kg_svc_reply_error(x, 403, "no_scope", "", "the token is not meant for this");
    } else if (asked && token != NULL && r->scope != KG_SVC_OPEN &&
               (x->request.scopes & KG_SVC_WORKER) == 0 && !takes_share(x, token)) {
        kg_svc_header(x, "Retry-After", "5");
        kg_svc_reply_error(x, 429, "too_many", "",
                           "the token has half of all requests open that can be: ask again");
    } else {
        if (r->scope == KG_SVC_SUBMIT) {
            set_owner(x, token, asked);
        }
        r->handle(x, o->ctx);
    }
}

/* What is for everybody may be asked for by HEAD, as balancers of load do. No such route streams.
 */
static bool is_head_of(const struct kg_svc_route *r, const struct kg_svc_exchange *x)
{
    return r->scope == KG_SVC_OPEN && strcmp(r->method, "GET") == 0 &&
           strcmp(x->request.method, "HEAD") == 0;
}

static void route(struct kg_svc_exchange *x, const char *const *segment, size_t n)
{
    const struct kg_svc_http_options *o = x->http->o;
    bool path_known = false, asked = scopes_of(o, NULL) == 0;
    /* A page of another site has no token, and a host that asks for one may have a name. */
    if (!asked && kg_svc_is_foreign(x->req)) {
        kg_svc_reply_error(x, 403, "foreign", "",
                           "the request must name this host by its address or as `localhost`, and "
                           "come from no page of another site");
        return;
    }
    for (size_t i = 0; i < o->nroutes; i++) {
        const struct kg_svc_route *r = &o->routes[i];
        if (!kg_svc_path_fits(r->pattern, segment, n, x->request.arg, x->args)) {
            continue;
        }
        path_known = true;
        if (strcmp(r->method, x->request.method) == 0 || is_head_of(r, x)) {
            x->route = r;
            enter(x, r, asked);
            return;
        }
    }
    kg_svc_reply_error(x, path_known ? 405 : 404, path_known ? "bad_method" : "no_path", "",
                       path_known ? "the path has no such method" : "no such path");
}

static void on_request(struct evhttp_request *req, void *arg)
{
    struct kg_svc_http *h = arg;
    struct kg_svc_exchange *x = calloc(1, sizeof *x);
    if (x == NULL) {
        evhttp_send_reply(req, 503, kg_svc_reason(503), NULL);
        return;
    }
    x->http = h;
    x->req = req;
    TAILQ_INIT(&x->query);
    x->next = h->open;
    x->link = &h->open;
    if (h->open != NULL) {
        h->open->link = &x->next;
    }
    h->open = x;
    h->nopen++;
    evhttp_connection_set_closecb(evhttp_request_get_connection(req), kg_svc_exchange_closed, x);
    const char *segment[KG_SVC_SEGMENTS];
    size_t n = 0;
    if (admit(x) && take(x, segment, &n)) {
        route(x, segment, n);
    }
}

/* --- the server --- */

enum kg_code kg_svc_listen(const char *host, int port, int *fd, struct kg_err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICHOST};
    struct addrinfo *a = NULL;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(host, service, &hints, &a) != 0) {
        return kg_fail(err, KG_E_USAGE, "%.100s: not an address", host);
    }
    int one = 1, quiet_s = 60,
        s = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Connections take over TCP_NODELAY. A reply of more than 16 KB leaves in several writes, and
     * the last one would wait for an acknowledgement, which a client may put off by 40 ms. A client
     * whose host went away is found by TCP's own probes, where a stream has nothing to send. */
    bool bound = s >= 0 && setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                 setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 &&
                 setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one) == 0 &&
                 setsockopt(s, IPPROTO_TCP, TCP_KEEPIDLE, &quiet_s, sizeof quiet_s) == 0 &&
                 bind(s, a->ai_addr, a->ai_addrlen) == 0 && listen(s, BACKLOG) == 0;
    int why = errno;
    freeaddrinfo(a);
    if (!bound) {
        if (s >= 0) {
            close(s);
        }
        return kg_fail(err, why == EADDRNOTAVAIL ? KG_E_USAGE : KG_E_IO,
                       "cannot serve at %.100s:%d: %s", host, port, strerror(why));
    }
    *fd = s;
    return KG_OK;
}

enum kg_code kg_svc_http_open(struct event_base *base, const struct kg_svc_http_options *options,
                              struct kg_svc_http **out, struct kg_err *err)
{
    *out = NULL;
    struct kg_svc_http *h = calloc(1, sizeof *h);
    if (h != NULL) {
        h->o = options;
        h->http = evhttp_new(base);
        h->socket = h->http != NULL ? evhttp_accept_socket_with_handle(h->http, options->fd) : NULL;
    }
    if (h == NULL || h->socket == NULL) {
        if (h != NULL && h->http != NULL) {
            evhttp_free(h->http);
        }
        free(h);
        return kg_fail_memory(err, KG_E_HOST, "no memory for an HTTP server");
    }
    evhttp_set_timeout(h->http, options->idle_s > 0 ? options->idle_s : IDLE_S);
    kg_svc_guard(h->http, options->body_bytes,
                 options->coming_bytes > 0 ? options->coming_bytes : BODIES_MOST);
    evhttp_set_max_headers_size(h->http, KG_SVC_HEAD_BYTES);
    evhttp_set_max_body_size(h->http, (ev_ssize_t)options->body_bytes);
    evhttp_set_gencb(h->http, on_request, h);
    *out = h;
    return KG_OK;
}

void kg_svc_http_stop(struct kg_svc_http *h, void (*idle)(void *ctx), void *ctx)
{
    h->closing = true;
    h->idle = idle;
    h->idle_ctx = ctx;
    if (h->socket != NULL) {
        evhttp_del_accept_socket(h->http, h->socket);
        h->socket = NULL;
    }
}

bool kg_svc_http_is_idle(const struct kg_svc_http *h)
{
    return h->nopen == 0 && h->unsent == 0;
}

void kg_svc_http_close(struct kg_svc_http *h)
{
    if (h == NULL) {
        return;
    }
    h->closing = true;
    while (h->open != NULL) {
        struct kg_svc_exchange *x = h->open;
        if (x->socket != NULL) {
            kg_svc_socket_stop(x);
            continue;
        }
        if (x->gone != NULL) {
            x->gone(x, x->gone_arg);
        }
        if (x->streams) {
            kg_svc_stream_cut(x);
        } else {
            kg_svc_reply_error(x, 503, "stopping", "", "the service stops; ask again");
        }
    }
    evhttp_free(h->http);
    free(h);
}
