/* The grammar of requests: what is refused, that it does not matter how the bytes come, and that it
 * stands in front of a service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#include "svc/http.h"
#include "svc/http_grammar.h"
#include "tests/support/svc_rig.h"

#define POST    "POST /v1/evaluations HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

enum { BODY_MAX = 1000 };

/* Of n bytes, given in pieces. */
static int status_of(const char *bytes, size_t n, size_t piece, const char **code)
{
    struct kg_svc_grammar g = {.body_max = BODY_MAX};
    for (size_t i = 0; i < n; i += piece) {
        if (!kg_svc_grammar_read(&g, bytes + i, n - i < piece ? n - i : piece)) {
            break;
        }
    }
    *code = g.refusal.status != 0 ? g.refusal.code : "";
    return g.refusal.status;
}

static void expect(int status, const char *code, const char *bytes, size_t n)
{
    const char *got;
    for (size_t piece = 1; piece < 2 * n + 1; piece = 2 * piece + 1) {
        int s = status_of(bytes, n, piece, &got);
        if (s != status || strcmp(got, code) != 0) {
            fail_msg("pieces of %zu: %d %s, not %d %s: %.200s", piece, s, got, status, code, bytes);
        }
    }
}

#define GOOD(text)              expect(0, "", text, sizeof(text) - 1)
#define BAD(status, code, text) expect(status, code, text, sizeof(text) - 1)

static void requests_that_all_read_alike_pass(void **state)
{
    (void)state;
    GOOD("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    GOOD("GET / HTTP/1.0\r\n\r\n");
    GOOD("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    GOOD(POST "Content-Length: 2\r\n\r\n{}" POST "content-length:0\r\n\r\n");
    GOOD(POST "Content-Length:   2  \r\n\r\n\r\n" POST "\r\n");
    GOOD(POST "Content-Length: 1000\r\n\r\n");
    GOOD(POST "Expect: 100-Continue\r\nX-Y: a\tb \xc3\xa4\r\nX-Y:\r\n\r\n");
    GOOD(CHUNKED "2\r\n{}\r\n00a\r\n0123456789\r\n0\r\n\r\n" POST "\r\n");
    GOOD(POST "transfer-encoding: Chunked\r\n\r\n3E8\r\n");
    GOOD("DELETE /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}");
}

static void requests_that_could_hide_another_are_refused(void **state)
{
    (void)state;
    BAD(400, "bad_length", POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}");
    BAD(400, "bad_length", POST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n");
    BAD(400, "bad_length", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n");
    BAD(400, "bad_length", POST "Transfer-Encoding: gzip, chunked\r\n\r\n");
    BAD(400, "bad_length", POST "Transfer-Encoding: identity\r\n\r\n");
    BAD(400, "bad_length", POST "Transfer-Encoding: \tchunked\r\n\r\n");
    BAD(400, "bad_length", POST "Transfer-Encoding: chunked\t\r\n\r\n");
    BAD(400, "bad_length", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
    BAD(400, "bad_length", "HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}");
    BAD(400, "bad_length", "HEAD / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    BAD(400, "bad_length", POST "Content-Length: +2\r\n\r\n{}");
    BAD(400, "bad_length", POST "Content-Length: -2\r\n\r\n{}");
    BAD(400, "bad_length", POST "Content-Length: 0x2\r\n\r\n{}");
    BAD(400, "bad_length", POST "Content-Length: 2, 2\r\n\r\n{}");
    BAD(400, "bad_length", POST "Content-Length: \r\n\r\n{}");
    BAD(400, "bad_length", POST "Content-Length: 99999999999999999999\r\n\r\n{}");
    BAD(400, "bad_request", POST "Content-Length: 2\0\r\n\r\n{}");
    BAD(400, "bad_request", POST "Content-Length : 2\r\n\r\n{}");
    BAD(400, "bad_request", POST "X: a\r\n Content-Length: 2\r\n\r\n{}");
    BAD(400, "bad_request", POST "X: a\rContent-Length: 2\r\n\r\n{}");
    BAD(400, "bad_request", POST "Content-Length: 2\n\n{}");
    BAD(400, "bad_request", POST "X: a\r\n\n");
    BAD(400, "bad_request", "GET / HTTP/1.1\nHost: a\n\n");
    BAD(400, "bad_request", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    BAD(400, "bad_request", "GET / HTTP/1.1\r\n\r\n");
}

static void broken_chunks_are_refused(void **state)
{
    (void)state;
    BAD(400, "bad_chunk", CHUNKED "zz\r\n{}\r\n");
    BAD(400, "bad_chunk", CHUNKED "-2\r\n{}\r\n");
    BAD(400, "bad_chunk", CHUNKED "+2\r\n{}\r\n");
    BAD(400, "bad_chunk", CHUNKED "0x2\r\n{}\r\n");
    BAD(400, "bad_chunk", CHUNKED " 2\r\n{}\r\n");
    BAD(400, "bad_chunk", CHUNKED "2 \r\n{}\r\n");
    BAD(400, "bad_chunk", CHUNKED "\r\n{}\r\n");
    BAD(400, "bad_chunk", CHUNKED "2;a=b\r\n{}\r\n");
    BAD(400, "bad_chunk", CHUNKED "2\n{}\r\n");
    BAD(400, "bad_chunk", CHUNKED "2\r\n{}xx");
    BAD(400, "bad_chunk", CHUNKED "2\r\n{}\n0\r\n\r\n");
    BAD(400, "bad_chunk", CHUNKED "100000000\r\n");
    BAD(400, "bad_chunk", CHUNKED "0\r\nContent-Length: 5\r\n\r\n");
    BAD(400, "bad_chunk", CHUNKED "0\r\n\n");
}

static void what_is_no_http_is_refused(void **state)
{
    (void)state;
    BAD(400, "bad_request", "GARBAGE\r\n\r\n");
    BAD(400, "bad_request", "\r\nGET / HTTP/1.1\r\n");
    BAD(400, "bad_request", " / HTTP/1.1\r\n");
    BAD(400, "bad_request", "get / HTTP/1.1\r\n");
    BAD(400, "bad_request", "GET  HTTP/1.1\r\n");
    BAD(400, "bad_request", "GET /\r\n");
    BAD(400, "bad_request", "GET / HTTP/2.0\r\n");
    BAD(400, "bad_request", "GET /a b HTTP/1.1\r\n");
    BAD(400, "bad_request", POST "Host\r\n\r\n");
    BAD(400, "bad_request", POST ": a\r\n\r\n");
    BAD(400, "bad_request", POST "Expect: foo\r\n\r\n");
    BAD(405, "bad_method", "PATCH / HTTP/1.1\r\n");
    BAD(405, "bad_method", "CONNECT a:80 HTTP/1.1\r\n");
}

static void limits_have_statuses_of_their_own(void **state)
{
    enum { LONG = KG_SVC_HEAD_BYTES + 100 };
    char *text = malloc(LONG);
    (void)state;
    BAD(413, "too_large", POST "Content-Length: 1001\r\n\r\n");
    BAD(413, "too_large", CHUNKED "3e9\r\n");
    BAD(413, "too_large", CHUNKED "2\r\n{}\r\n3e7\r\n");
    BAD(413, "too_large", CHUNKED "ffffffff\r\n");
    assert_non_null(text);
    memset(text, 'a', LONG);
    memcpy(text, "GET /", 5);
    expect(431, "long_headers", text, LONG);
    memcpy(text, POST "X: ", sizeof(POST "X: ") - 1);
    expect(431, "long_headers", text, LONG);
    for (size_t i = sizeof(POST) - 1; i + 6 <= LONG; i += 6) {
        memcpy(text + i, "X: a\r\n", 6);
    }
    expect(431, "long_headers", text, LONG);
    free(text);
}

/* --- a service --- */

static int dial(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons((uint16_t)svc_port)};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval most = {.tv_sec = 200};
    assert_true(s >= 0);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    assert_int_equal(connect(s, (struct sockaddr *)&a, sizeof a), 0);
    return s;
}

/* Sends the bytes and reads until the service closes, which it must do by itself. */
static void until_closed(const char *bytes, size_t n, struct kg_buf *out)
{
    char piece[4096];
    int s = dial();
    ssize_t got;
    kg_buf_reset(out);
    assert_int_equal(send(s, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
    while ((got = recv(s, piece, sizeof piece, 0)) > 0) {
        kg_buf_add(out, piece, (size_t)got);
    }
    assert_int_equal(got, 0);
    close(s);
}

/* One answer, in the service's shape. */
static void refused_and_closed(int status, const char *code, const char *bytes, size_t n)
{
    struct kg_buf out;
    kg_buf_init(&out, 1 << 20);
    until_closed(bytes, n, &out);
    const char *body = strstr(out.data, "\r\n\r\n");
    json_t *j = body != NULL ? json_loads(body + 4, 0, NULL) : NULL;
    if (strncmp(out.data, "HTTP/1.1 ", 9) != 0 || atoi(out.data + 9) != status || j == NULL ||
        strcmp(svc_text(j, "code"), code) != 0 || svc_text(j, "message")[0] == '\0' ||
        !json_is_null(json_object_get(j, "field"))) {
        fail_msg("not %d %s, but %.300s, to %.200s", status, code, out.data, bytes);
    }
    json_decref(j);
    kg_buf_deinit(&out);
}

#define REFUSED(status, code, text) refused_and_closed(status, code, text, sizeof(text) - 1)

static void a_service_refuses_and_closes(void **state)
{
    enum { LONG = 100000 };
    char *text = malloc(LONG);
    (void)state;
    svc_start("--no-work");
    REFUSED(400, "bad_length", POST "Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}");
    REFUSED(400, "bad_length", POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0");
    REFUSED(400, "bad_length", POST "Content-Length: -4\r\n\r\n{}");
    REFUSED(400, "bad_chunk", CHUNKED "zz\r\n{}\r\n");
    REFUSED(400, "bad_chunk", CHUNKED "2\r\n{}xx0\r\n\r\n");
    REFUSED(400, "bad_request", POST "X: a\rContent-Length: 2\r\n\r\n{}");
    REFUSED(400, "bad_request", "GARBAGE\r\n\r\n");
    REFUSED(405, "bad_method", "PATCH / HTTP/1.1\r\nHost: a\r\n\r\n");
    REFUSED(413, "too_large", POST "Content-Length: 999999999999\r\n\r\n{}");
    assert_non_null(text);
    memset(text, 'a', LONG);
    memcpy(text, "GET /", 5);
    refused_and_closed(431, "long_headers", text, LONG);
    free(text);
    json_decref(svc_json(200, "GET", "/v1/live", ""));
}

/* What is refused takes all with it that came before and has no answer yet, and what follows. */
static void nothing_is_hidden_behind_a_refusal(void **state)
{
    (void)state;
    svc_start("--no-work");
    REFUSED(400, "bad_request",
            "POST /v1/evaluations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 39\r\n\r\n"
            "{\"problem\": \"silu\", \"reply\": \"nothing\"}"
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n"
            "POST /v1/evaluations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 39\r\n\r\n"
            "{\"problem\": \"silu\", \"reply\": \"nothing\"}");
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "jobs"), "waiting")), 0);
    json_decref(j);
}

/* Requests on one connection, some of them in pieces: evhttp takes what the grammar lets pass. */
static void good_requests_share_a_connection(void **state)
{
    static const char *const pieces[] = {
        "GET /v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /v1/li",
        "ve HTTP/1.1\r\nHost: 127.0.0.1\r\n\r",
        "\nPOST /v1/evaluations HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1",
        "\r\n{\r",
        "\n1\r\n}\r\n0\r\n\r\nGET /v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Connection: close\r\n\r\n"};
    static const int status[] = {200, 200, 400, 200};
    char piece[4096];
    struct kg_buf out;
    ssize_t got;
    (void)state;
    svc_start("--no-work");
    kg_buf_init(&out, 1 << 20);
    int s = dial();
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        assert_true(send(s, pieces[i], strlen(pieces[i]), MSG_NOSIGNAL) > 0);
        usleep(20000); /* so that they come apart; together they pass as well */
    }
    while ((got = recv(s, piece, sizeof piece, 0)) > 0) {
        kg_buf_add(&out, piece, (size_t)got);
    }
    assert_int_equal(got, 0);
    close(s);
    const char *at = out.data;
    for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
        at = strstr(at, "HTTP/1.1 ");
        assert_non_null(at);
        at += strlen("HTTP/1.1 ");
        assert_int_equal(atoi(at), status[i]);
    }
    assert_null(strstr(at, "HTTP/1.1 "));
    kg_buf_deinit(&out);
}

/* --- a stream that has nothing to send --- */

struct played {
    struct event_base *base;
    struct kg_svc_exchange *x; /* NULL: none, or it has ended */
    int ticks;
    bool gone;
};

static void on_gone(struct kg_svc_exchange *x, void *arg)
{
    struct played *p = arg;
    (void)x;
    p->x = NULL;
    p->gone = true;
}

static void on_stream(struct kg_svc_exchange *x, void *ctx)
{
    struct played *p = ctx;
    p->x = x;
    kg_svc_on_gone(x, on_gone, p);
    kg_svc_stream_begin(x, 200, "application/x-ndjson");
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct played *p = arg;
    (void)fd;
    (void)what;
    p->ticks++;
    if (p->x != NULL) {
        kg_svc_stream_add(p->x, "", 0);
    }
}

/* Runs the service for so many tenths of a second, or until the stream has gone. */
static void play(struct played *p, int ticks)
{
    for (int end = p->ticks + ticks; p->ticks < end && !p->gone;) {
        event_base_loop(p->base, EVLOOP_ONCE);
    }
}

static void a_stream_lives_as_long_as_its_client(void **state)
{
    static const char request[] = "GET /s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    static const struct kg_svc_route routes[] = {{"GET", "/s", KG_SVC_OPEN, on_stream}};
    struct played p = {.base = event_base_new()};
    struct sockaddr_in at;
    socklen_t n = sizeof at;
    struct kg_svc_http *http;
    struct kg_err err = KG_ERR_INIT;
    int fd, alive = 0;
    (void)state;
    assert_int_equal(kg_svc_listen("127.0.0.1", 0, &fd, &err), KG_OK);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    n = sizeof alive; /* connections take it over */
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &alive, &n), 0);
    assert_int_equal(alive, 1);
    const struct kg_svc_http_options o = {.fd = fd,
                                          .body_bytes = 1 << 20,
                                          .most_open = 64,
                                          .idle_s = 1,
                                          .routes = routes,
                                          .nroutes = 1,
                                          .ctx = &p};
    assert_int_equal(kg_svc_http_open(p.base, &o, &http, &err), KG_OK);
    struct event *tick = event_new(p.base, -1, EV_PERSIST, on_tick, &p);
    event_add(tick, &(struct timeval){.tv_usec = 100000});
    int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(s, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(send(s, request, sizeof request - 1, MSG_NOSIGNAL), sizeof request - 1);
    play(&p, 30); /* three times as long as a connection may be idle */
    assert_false(p.gone);
    assert_non_null(p.x);
    close(s);
    play(&p, 30);
    assert_true(p.gone);
    event_free(tick);
    kg_svc_http_close(http);
    event_base_free(p.base);
}

/* --- requests that are not whole --- */

enum { COMING = 40000, PIECE = 10000, HALVES = 12 };

static void on_post(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply(x, 200, "text/plain", "", 0);
}

static int begin_request(const struct sockaddr_in *at)
{
    static char body[PIECE];
    static const char head[] =
        "POST /s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10001\r\n\r\n";
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(s, (const struct sockaddr *)at, sizeof *at), 0);
    assert_int_equal(send(s, head, sizeof head - 1, MSG_NOSIGNAL), sizeof head - 1);
    assert_int_equal(send(s, body, sizeof body, MSG_NOSIGNAL), sizeof body);
    return s;
}

/* The status of what has come; 0: nothing; -1: the connection was closed without an answer. */
static int status_at(int s)
{
    char text[64] = "";
    ssize_t n = recv(s, text, sizeof text - 1, MSG_DONTWAIT);
    return n > 12 ? atoi(text + 9) : n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
}

/* Whoever begins many requests and ends none loses the first of them, and holds up nobody. Those
 * whose client has gone count no more. */
static void half_sent_bodies_have_a_bound(void **state)
{
    static const struct kg_svc_route routes[] = {{"POST", "/s", KG_SVC_OPEN, on_post}};
    struct played p = {.base = event_base_new()};
    struct sockaddr_in at;
    socklen_t n = sizeof at;
    struct kg_svc_http *http;
    struct kg_err err = KG_ERR_INIT;
    int fd, s[HALVES];
    (void)state;
    assert_int_equal(kg_svc_listen("127.0.0.1", 0, &fd, &err), KG_OK);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    const struct kg_svc_http_options o = {.fd = fd,
                                          .body_bytes = 1 << 20,
                                          .coming_bytes = COMING,
                                          .most_open = 64,
                                          .routes = routes,
                                          .nroutes = 1};
    assert_int_equal(kg_svc_http_open(p.base, &o, &http, &err), KG_OK);
    struct event *tick = event_new(p.base, -1, EV_PERSIST, on_tick, &p);
    event_add(tick, &(struct timeval){.tv_usec = 100000});
    for (int i = 0; i < HALVES; i++) { /* their clients go, and one is there at a time */
        s[0] = begin_request(&at);
        play(&p, 1);
        assert_int_equal(status_at(s[0]), 0);
        close(s[0]);
        play(&p, 1);
    }
    for (int i = 0; i < HALVES; i++) {
        s[i] = begin_request(&at);
        play(&p, 1);
    }
    play(&p, 2);
    for (int i = 0; i < HALVES; i++) {
        assert_int_equal(status_at(s[i]), i < HALVES - COMING / PIECE + 1 ? 503 : 0);
    }
    assert_int_equal(send(s[HALVES - 1], "x", 1, MSG_NOSIGNAL), 1); /* the last byte of it */
    play(&p, 2);
    assert_int_equal(status_at(s[HALVES - 1]), 200);
    assert_int_equal(status_at(s[HALVES - 2]), 0);
    for (int i = 0; i < HALVES; i++) {
        close(s[i]);
    }
    event_free(tick);
    kg_svc_http_close(http);
    event_base_free(p.base);
}

#define T(f) cmocka_unit_test_setup_teardown(f, svc_setup, svc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_that_all_read_alike_pass),
        cmocka_unit_test(requests_that_could_hide_another_are_refused),
        cmocka_unit_test(broken_chunks_are_refused),
        cmocka_unit_test(what_is_no_http_is_refused),
        cmocka_unit_test(limits_have_statuses_of_their_own),
        cmocka_unit_test(a_stream_lives_as_long_as_its_client),
        cmocka_unit_test(half_sent_bodies_have_a_bound),
        T(a_service_refuses_and_closes),
        T(nothing_is_hidden_behind_a_refusal),
        T(good_requests_share_a_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
