/* The client's side of HTTP: a worker's, and that of a pool whose judge is a service. */
#include "svc/client.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "svc/job.h"

struct kg_svc_client {
    struct event_base *base;
    struct evhttp_connection *connection;
    char host[260], *token; /* host: as the header has it */
    struct call *calls;
    int ncalls;
    bool closing;
};

struct call {
    struct kg_svc_client *client;
    kg_svc_on_answer *done;
    void *ctx;
    struct call *next, **link;
};

/* Once the first bytes have left there is a socket. A request of more than 16 KB leaves in several
 * writes, and the last one would wait for an acknowledgement, which a host may put off by 40 ms. */
static void on_written(struct evbuffer *out, const struct evbuffer_cb_info *info, void *arg)
{
    int one = 1, fd = bufferevent_getfd(arg);
    (void)out;
    if (info->n_deleted > 0 && fd >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
}

enum kg_code kg_svc_client_open(struct event_base *base, const char *host, int port,
                                const char *token, int timeout_s, struct kg_svc_client **out,
                                struct kg_err *err)
{
    *out = NULL;
    struct kg_svc_client *c = calloc(1, sizeof *c);
    if (c != NULL) {
        bool six = strchr(host, ':') != NULL;
        snprintf(c->host, sizeof c->host, "%s%.250s%s", six ? "[" : "", host, six ? "]" : "");
        c->base = base;
        c->connection = evhttp_connection_base_new(base, NULL, host, (unsigned short)port);
    }
    if (c == NULL || c->connection == NULL) {
        free(c);
        return kg_fail_memory(err, KG_E_HOST, "no memory for a connection");
    }
    if (token != NULL) {
        size_t n = strlen(token) + 8;
        c->token = malloc(n);
        KG_ASSERT(c->token != NULL);
        snprintf(c->token, n, "Bearer %s", token);
    }
    struct bufferevent *b = evhttp_connection_get_bufferevent(c->connection);
    evbuffer_add_cb(bufferevent_get_output(b), on_written, b);
    evhttp_connection_set_timeout(c->connection, timeout_s);
    evhttp_connection_set_retries(c->connection, 0);
    evhttp_connection_set_max_body_size(c->connection, (ev_ssize_t)2 * KG_SVC_TASK_MAX);
    *out = c;
    return KG_OK;
}

int kg_svc_client_open_calls(const struct kg_svc_client *c)
{
    return c->ncalls;
}

static void end_call(struct call *k)
{
    k->client->ncalls--;
    *k->link = k->next;
    if (k->next != NULL) {
        k->next->link = k->link;
    }
    free(k);
}

void kg_svc_client_close(struct kg_svc_client *c)
{
    if (c != NULL) {
        c->closing = true;
        evhttp_connection_free(c->connection);
        for (struct call *k = c->calls, *next; k != NULL; k = next) {
            next = k->next;
            free(k);
        }
        free(c->token);
        free(c);
    }
}

static void on_reply(struct evhttp_request *req, void *arg)
{
    struct call *k = arg;
    struct kg_err ignored = KG_ERR_INIT;
    int status = req != NULL ? evhttp_request_get_response_code(req) : 0;
    json_t *answer = NULL;
    if (k->client->closing) {
        return;
    }
    if (status != 0) {
        struct evbuffer *in = evhttp_request_get_input_buffer(req);
        size_t n = evbuffer_get_length(in);
        const char *text = (const char *)evbuffer_pullup(in, -1);
        if (text == NULL || kg_json_parse(text, n, "answer", &answer, &ignored) != KG_OK) {
            answer = NULL;
        }
    }
    kg_svc_on_answer *done = k->done;
    void *ctx = k->ctx;
    end_call(k);
    done(ctx, status, answer);
    json_decref(answer);
}

/* A request that could not even be made: its callback comes from the loop, too. */
static void on_unsent(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    on_reply(NULL, arg);
}

static void add_body(struct evhttp_request *req, const void *body, size_t n)
{
    evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Type", "application/json");
    evbuffer_add(evhttp_request_get_output_buffer(req), body, n);
}

void kg_svc_client_ask(struct kg_svc_client *c, const char *method, const char *path,
                       const void *body, size_t n, kg_svc_on_answer *done, void *ctx)
{
    enum evhttp_cmd_type type = strcmp(method, "POST") == 0     ? EVHTTP_REQ_POST
                                : strcmp(method, "DELETE") == 0 ? EVHTTP_REQ_DELETE
                                                                : EVHTTP_REQ_GET;
    struct call *k = calloc(1, sizeof *k);
    KG_ASSERT(k != NULL);
    *k = (struct call){.client = c, .done = done, .ctx = ctx, .next = c->calls, .link = &c->calls};
    if (c->calls != NULL) {
        c->calls->link = &k->next;
    }
    c->calls = k;
    c->ncalls++;
    struct evhttp_request *req = evhttp_request_new(on_reply, k);
    KG_ASSERT(req != NULL);
    struct evkeyvalq *h = evhttp_request_get_output_headers(req);
    evhttp_add_header(h, "Host", c->host);
    if (c->token != NULL) {
        evhttp_add_header(h, "Authorization", c->token);
    }
    if (body != NULL) {
        add_body(req, body, n);
    }
    if (evhttp_make_request(c->connection, req, type, path) != 0) {
        const struct timeval now = {0, 0}; /* evhttp has freed the request */
        event_base_once(c->base, -1, EV_TIMEOUT, on_unsent, k, &now);
    }
}

void kg_svc_client_post(struct kg_svc_client *c, const char *path, json_t *body,
                        kg_svc_on_answer *done, void *ctx)
{
    struct kg_buf text;
    kg_buf_init(&text, (size_t)2 * KG_SVC_TASK_MAX);
    kg_json_dump(body, &text);
    json_decref(body);
    kg_svc_client_ask(c, "POST", path, text.data, text.len, done, ctx);
    kg_buf_deinit(&text);
}
