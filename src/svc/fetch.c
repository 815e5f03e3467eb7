/* A request that waits. */
#include "svc/fetch.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 10907, PATIENCE_S = 30, ANSWER_MOST = 256 << 20 };

enum kg_code kg_svc_target_parse(const char *url, struct kg_svc_target *out, struct kg_err *err)
{
    struct evhttp_uri *uri = evhttp_uri_parse(url);
    const char *scheme = uri != NULL ? evhttp_uri_get_scheme(uri) : NULL;
    const char *host = uri != NULL ? evhttp_uri_get_host(uri) : NULL;
    const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
    bool good = scheme != NULL && strcmp(scheme, "http") == 0 && host != NULL && host[0] != '\0' &&
                (path == NULL || path[0] == '\0' || strcmp(path, "/") == 0);
    if (good) {
        size_t n = strlen(host);
        bool six = host[0] == '[' && host[n - 1] == ']';
        snprintf(out->host, sizeof out->host, "%.*s", (int)(six ? n - 2 : n), host + six);
        out->port = evhttp_uri_get_port(uri) > 0 ? evhttp_uri_get_port(uri) : PORT;
    }
    if (uri != NULL) {
        evhttp_uri_free(uri);
    }
    return good ? KG_OK
                : kg_fail(err, KG_E_USAGE, "--url %.200s: must be http://HOST:PORT, without a path",
                          url);
}

struct asked {
    struct event_base *base;
    int status;
    json_t *answer;
};

static void on_reply(struct evhttp_request *req, void *arg)
{
    struct asked *a = arg;
    struct kg_err ignored = KG_ERR_INIT;
    a->status = req != NULL ? evhttp_request_get_response_code(req) : 0;
    if (a->status != 0) {
        struct evbuffer *in = evhttp_request_get_input_buffer(req);
        size_t n = evbuffer_get_length(in);
        const char *text = (const char *)evbuffer_pullup(in, -1);
        if (text == NULL || kg_json_parse(text, n, "answer", &a->answer, &ignored) != KG_OK) {
            a->answer = NULL;
        }
    }
    event_base_loopbreak(a->base);
}

static void add_headers(struct evhttp_request *req, const struct kg_svc_target *t)
{
    struct evkeyvalq *h = evhttp_request_get_output_headers(req);
    bool name = strspn(t->host, "0123456789.:abcdefABCDEF") != strlen(t->host);
    evhttp_add_header(h, "Host", name ? t->host : "127.0.0.1");
    evhttp_add_header(h, "Connection", "close");
    if (t->token != NULL) {
        char bearer[600];
        snprintf(bearer, sizeof bearer, "Bearer %.500s", t->token);
        evhttp_add_header(h, "Authorization", bearer);
    }
}

enum kg_code kg_svc_fetch(const struct kg_svc_target *t, const char *path, int *status,
                          json_t **answer, struct kg_err *err)
{
    struct asked a = {.base = event_base_new()};
    *status = 0;
    *answer = NULL;
    struct evhttp_connection *c =
        a.base != NULL ? evhttp_connection_base_new(a.base, NULL, t->host, (unsigned short)t->port)
                       : NULL;
    struct evhttp_request *req = c != NULL ? evhttp_request_new(on_reply, &a) : NULL;
    if (req == NULL) {
        if (c != NULL) {
            evhttp_connection_free(c);
        }
        if (a.base != NULL) {
            event_base_free(a.base);
        }
        return kg_fail_memory(err, KG_E_HOST, "no memory for a connection");
    }
    evhttp_connection_set_timeout(c, PATIENCE_S);
    evhttp_connection_set_max_body_size(c, ANSWER_MOST);
    add_headers(req, t);
    if (evhttp_make_request(c, req, EVHTTP_REQ_GET, path) == 0) {
        event_base_dispatch(a.base);
    }
    evhttp_connection_free(c);
    event_base_free(a.base);
    *status = a.status;
    *answer = a.answer;
    return a.status != 0
               ? KG_OK
               : kg_fail(err, KG_E_IO, "http://%s:%d: nobody answers: is `kgym serve` there?",
                         t->host, t->port);
}
