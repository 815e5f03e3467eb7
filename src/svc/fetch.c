/* A request that waits. */
#include "svc/fetch.h"

#include <event2/event.h>
#include <event2/http.h>
#include <string.h>

#include "svc/client.h"

enum { PORT = 10907, PATIENCE_S = 30 };

/* Nothing that would be left out of a request without a word. */
static bool is_plain(const struct evhttp_uri *uri)
{
    const char *scheme = evhttp_uri_get_scheme(uri), *path = evhttp_uri_get_path(uri);
    return scheme != NULL && strcmp(scheme, "http") == 0 && evhttp_uri_get_userinfo(uri) == NULL &&
           (path[0] == '\0' || strcmp(path, "/") == 0) && evhttp_uri_get_query(uri) == NULL &&
           evhttp_uri_get_fragment(uri) == NULL;
}

enum kg_code kg_svc_target_parse(const char *url, struct kg_svc_target *out, struct kg_err *err)
{
    struct evhttp_uri *uri = evhttp_uri_parse(url);
    const char *host = uri != NULL && is_plain(uri) ? evhttp_uri_get_host(uri) : NULL;
    size_t n = host != NULL ? strlen(host) : 0;
    int port = uri != NULL ? evhttp_uri_get_port(uri) : 0; /* -1: it has none */
    bool good = n > 0 && n < sizeof out->host && port != 0;
    if (good) {
        bool six = host[0] == '[' && host[n - 1] == ']';
        snprintf(out->host, sizeof out->host, "%.*s", (int)(six ? n - 2 : n), host + six);
        out->port = port > 0 ? port : PORT;
    }
    if (uri != NULL) {
        evhttp_uri_free(uri);
    }
    if (!good && strchr(url, '@') != NULL) { /* a password is not repeated */
        return kg_fail(err, KG_E_USAGE, "a URL with a user part: must be http://HOST[:PORT]");
    }
    return good ? KG_OK : kg_fail(err, KG_E_USAGE, "%.200s: must be http://HOST[:PORT]", url);
}

struct asked {
    struct event_base *base;
    int status;
    json_t *answer;
};

static void on_answer(void *ctx, int status, const json_t *answer)
{
    struct asked *a = ctx;
    a->status = status;
    a->answer = json_incref((json_t *)(uintptr_t)answer);
    event_base_loopbreak(a->base);
}

enum kg_code kg_svc_fetch(const struct kg_svc_target *t, const char *method, const char *path,
                          const char *body, int *status, json_t **answer, struct kg_err *err)
{
    struct asked a = {.base = event_base_new()};
    struct kg_svc_client *client = NULL;
    *status = 0;
    *answer = NULL;
    if (a.base == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for an event loop");
    }
    if (kg_svc_client_open(a.base, t->host, t->port, t->token, PATIENCE_S, &client, err) == KG_OK) {
        kg_svc_client_ask(client, method, path, body, body != NULL ? strlen(body) : 0, on_answer,
                          &a);
        event_base_dispatch(a.base);
        *status = a.status;
        *answer = a.answer;
        if (a.status == 0) {
            kg_fail(err, KG_E_IO, "http://%s:%d: nobody answers: is `kgym serve` there?", t->host,
                    t->port);
        }
    }
    kg_svc_client_close(client);
    event_base_free(a.base);
    return err->code;
}
