/* A stream of events, read line by line. */
#include "svc/follow.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

enum { SILENCE_S = 45, LINE_MAX_BYTES = 1 << 16 }; /* the service sends something each 15 s */

struct kg_svc_follow {
    struct event_base *base;
    struct evhttp_connection *connection;
    struct kg_svc_follow_calls calls;
    char host[260], *token;
    struct kg_buf line;
    bool begun, closing;
};

enum kg_code kg_svc_follow_open(struct event_base *base, const char *host, int port,
                                const char *token, const struct kg_svc_follow_calls *calls,
                                struct kg_svc_follow **out, struct kg_err *err)
{
    struct kg_svc_follow *f = calloc(1, sizeof *f);
    bool six = strchr(host, ':') != NULL, good = f != NULL;
    *out = NULL;
    if (good) {
        f->base = base;
        f->calls = *calls;
        kg_buf_init(&f->line, LINE_MAX_BYTES);
        snprintf(f->host, sizeof f->host, "%s%.250s%s", six ? "[" : "", host, six ? "]" : "");
        f->connection = evhttp_connection_base_new(base, NULL, host, (unsigned short)port);
        good =
            f->connection != NULL && (token == NULL || asprintf(&f->token, "Bearer %s", token) > 0);
    }
    if (!good) {
        kg_svc_follow_close(f);
        return kg_fail_memory(err, KG_E_HOST, "no memory for a connection");
    }
    evhttp_connection_set_timeout(f->connection, SILENCE_S);
    evhttp_connection_set_retries(f->connection, 0);
    *out = f;
    return KG_OK;
}

void kg_svc_follow_close(struct kg_svc_follow *f)
{
    if (f != NULL) {
        f->closing = true;
        if (f->connection != NULL) {
            evhttp_connection_free(f->connection);
        }
        kg_buf_deinit(&f->line);
        free(f->token);
        free(f);
    }
}

static void on_line(struct kg_svc_follow *f, const char *line, size_t n)
{
    static const char data[] = "data: ";
    const size_t skip = sizeof data - 1;
    struct kg_err ignored = KG_ERR_INIT;
    json_t *event = NULL;
    if (n > skip && strncmp(line, data, skip) == 0 &&
        kg_json_parse(line + skip, n - skip, "event", &event, &ignored) == KG_OK) {
        f->calls.event(f->calls.ctx, event);
    }
    json_decref(event);
}

static void on_piece(struct evhttp_request *req, void *arg)
{
    struct kg_svc_follow *f = arg;
    struct evbuffer *in = evhttp_request_get_input_buffer(req);
    size_t n = evbuffer_get_length(in);
    const char *at = (const char *)evbuffer_pullup(in, -1);
    if (f->closing || at == NULL || evhttp_request_get_response_code(req) != 200) {
        return;
    }
    const char *end = at + n;
    if (!f->begun) {
        f->begun = true;
        f->calls.begun(f->calls.ctx);
    }
    for (const char *nl; (nl = memchr(at, '\n', (size_t)(end - at))) != NULL; at = nl + 1) {
        kg_buf_add(&f->line, at, (size_t)(nl - at));
        on_line(f, f->line.data, f->line.len);
        kg_buf_reset(&f->line);
    }
    kg_buf_add(&f->line, at, (size_t)(end - at));
}

static void on_end(struct evhttp_request *req, void *arg)
{
    struct kg_svc_follow *f = arg;
    if (!f->closing) {
        f->begun = false;
        kg_buf_reset(&f->line);
        f->calls.ended(f->calls.ctx, req != NULL ? evhttp_request_get_response_code(req) : 0);
    }
}

/* A request that could not even be made: its callback comes from the loop, too. */
static void on_unsent(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    on_end(NULL, arg);
}

void kg_svc_follow_start(struct kg_svc_follow *f)
{
    struct evhttp_request *req = evhttp_request_new(on_end, f);
    KG_ASSERT(req != NULL);
    struct evkeyvalq *h = evhttp_request_get_output_headers(req);
    evhttp_request_set_chunked_cb(req, on_piece);
    evhttp_add_header(h, "Host", f->host);
    evhttp_add_header(h, "Accept", "text/event-stream");
    if (f->token != NULL) {
        evhttp_add_header(h, "Authorization", f->token);
    }
    if (evhttp_make_request(f->connection, req, EVHTTP_REQ_GET, "/v1/events?after=now") != 0) {
        const struct timeval now = {0, 0}; /* evhttp has freed the request */
        event_base_once(f->base, -1, EV_TIMEOUT, on_unsent, f, &now);
    }
}
