/* KernelGYM's protocol: load, faults and texts on the wire. The failure scenarios of that protocol,
 * T1 to T54, are tested here and by these:
 *
 *   T1  test_svc_kernelgym_reply (every_outcome), _serve     T2  _serve (a_polling_client...)
 *   T3  long_and_odd_sources_arrive_whole                    T4  _reply (texts_are_bounded...)
 *   T5  _serve (refusals...)                                 T6  many_posts_at_once_are_served
 *   T7  a_status_is_there_at_once                            T8  _serve (other_content...)
 *   T9  health_is_answered_while_clients_poll                T10 test_svc_store (an_old_claim...)
 *   T11 test_torch_faults                                    T12 _serve (a_polling_client...)
 *   T13 a_client_that_leaves_loses_nothing                   T14 _serve (a_cancelled_task...),
 *       test_svc_serve (a_cancelled_job_frees_its_worker)    T15 equal_requests_run_once
 *   T16 _serve (other_content...)
 *   T17 _serve (what_cannot_be_read...): 503, since a failed task is the candidate's penalty
 *   T18, T19 test_svc_metrics (kernelgym_workers_register)   T20 _serve (a_post_waits...)
 *   T21 test_svc_store (no_lane_starves)                     T22 test_svc_serve (kills, hand back)
 *   T23, T26, T28, T29 test_svc_kernelgym, _reply (outcomes, entry points; `kernel_simple` is
 *       refused: no judge for it)                            T34 test_svc_kernelgym (options)
 *   T24, T25, T27, T30 to T33, T40 to T49, T51 to T53 are the gym's own: its corpora of honest and
 *       hostile candidates (tests/torch, tests/hostile) and tools/gpu-check.sh, whose stage
 *       `service` sends Triton kernels by this protocol
 *   T50 test_svc_store (an_old_claim...), T54 test_svc_kernelgym_reply (texts...), tokens */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/support/svc_rig.h"
#include "tests/support/svc_stub.h"

#define OK_RECORD SVC_STUB_RECORD("\"ok\"")
#define POLLS     ", \"detect_decoy_kernel\": true"

/* A body for /evaluate; candidate: JSON text of kernel_code, without its quotes. */
static void body_of(struct kg_buf *out, const char *id, const char *candidate, const char *more)
{
    kg_buf_reset(out);
    kg_buf_addf(out, "{\"task_id\": \"%s\", \"reference_code\": \"class Model: pass\"%s, ", id,
                more);
    kg_buf_adds(out, "\"kernel_code\": \"class ModelNew: pass #");
    kg_buf_adds(out, candidate);
    kg_buf_adds(out, "\"}");
}

static int evaluate(const char *id, const char *candidate, const char *more)
{
    struct kg_buf body;
    kg_buf_init(&body, 2 << 20);
    body_of(&body, id, candidate, more);
    int status = svc_request("POST", "/evaluate", "", body.data, body.len, NULL);
    kg_buf_deinit(&body);
    return status;
}

static int64_t jobs_in(const char *state)
{
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    int64_t n = json_integer_value(json_object_get(json_object_get(j, "jobs"), state));
    json_decref(j);
    return n;
}

static void status_is(const char *id, const char *status)
{
    char path[128];
    snprintf(path, sizeof path, "/status/%s", id);
    json_t *j = svc_json(200, "GET", path, "");
    assert_string_equal(svc_text(j, "status"), status);
    json_decref(j);
}

/* T3: lengths count code points; a NUL and half a pair neither cut a text nor cause a fault. */
static void long_and_odd_sources_arrive_whole(void **state)
{
    enum { ROOM = 100000 - 22 }; /* beside "class ModelNew: pass #" */
    struct kg_buf text;
    (void)state;
    svc_start("--no-work");
    kg_buf_init(&text, 2 << 20);
    for (int i = 0; i < ROOM; i++) {
        kg_buf_adds(&text, "\xf0\x9d\x84\x9e");
    }
    assert_int_equal(evaluate("long", text.data, POLLS), 200);
    kg_buf_adds(&text, "x");
    assert_int_equal(evaluate("longer", text.data, POLLS), 400);
    assert_int_equal(evaluate("nul", "a\\u0000b", POLLS), 200);
    assert_int_equal(evaluate("half", "a\\ud800b", POLLS), 200);
    for (int i = 0; i < 3; i++) {
        json_t *claimed = svc_stub_claim("torch");
        const json_t *source = json_object_get(json_object_get(claimed, "task"), "text");
        size_t n = json_string_length(source);
        if (n < 1000) {
            assert_int_equal(json_string_value(source)[n - 1], 'b'); /* to its end */
        } else {
            assert_int_equal(n, 22 + 4 * (size_t)ROOM);
        }
        svc_stub_finish(claimed, OK_RECORD, "ok", 200);
    }
    kg_buf_deinit(&text);
}

static int dial(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)svc_port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s >= 0);
    assert_int_equal(connect(s, (struct sockaddr *)&a, sizeof a), 0);
    return s;
}

static void send_post(int s, const char *id, const char *more)
{
    struct kg_buf body, all;
    kg_buf_init(&body, 1 << 16);
    kg_buf_init(&all, 1 << 17);
    body_of(&body, id, "", more);
    kg_buf_addf(&all, "POST /evaluate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n\r\n",
                body.len);
    kg_buf_add(&all, body.data, body.len);
    assert_int_equal(send(s, all.data, all.len, MSG_NOSIGNAL), (ssize_t)all.len);
    kg_buf_deinit(&body);
    kg_buf_deinit(&all);
}

static void read_status(int s, int status)
{
    char text[8192];
    ssize_t n = recv(s, text, sizeof text - 1, 0);
    assert_true(n > 12);
    text[n] = '\0';
    assert_int_equal(atoi(text + 9), status);
}

/* T6: none of them is refused or reset; each connection serves a second request afterwards. */
static void many_posts_at_once_are_served(void **state)
{
    enum { N = 256 };
    int s[N];
    char id[16];
    (void)state;
    svc_start("--no-work");
    for (int i = 0; i < N; i++) {
        s[i] = dial();
        snprintf(id, sizeof id, "t%d", i);
        send_post(s[i], id, POLLS);
    }
    for (int i = 0; i < N; i++) {
        read_status(s[i], 200);
    }
    assert_int_equal(jobs_in("waiting"), N);
    for (int i = 0; i < N; i += 51) {
        snprintf(id, sizeof id, "t%d", i);
        send_post(s[i], id, POLLS);
        read_status(s[i], 200);
    }
    assert_int_equal(jobs_in("waiting"), N);
    for (int i = 0; i < N; i++) {
        close(s[i]);
    }
}

/* T7: the task is known before its POST is answered. */
static void a_status_is_there_at_once(void **state)
{
    char id[16], path[32];
    (void)state;
    svc_start("--no-work");
    for (int i = 0; i < 10; i++) {
        snprintf(id, sizeof id, "t%d", i);
        snprintf(path, sizeof path, "/status/t%d", i);
        assert_int_equal(evaluate(id, "", POLLS), 200);
        json_t *j = svc_json(200, "GET", path, "");
        assert_true(json_integer_value(json_object_get(j, "queue_position")) >= 1);
        json_decref(j);
    }
}

/* T9: its counters are those of the work that was done. */
static void health_is_answered_while_clients_poll(void **state)
{
    (void)state;
    svc_start("--no-work");
    for (int i = 0; i < 4; i++) {
        char id[16];
        snprintf(id, sizeof id, "t%d", i);
        assert_int_equal(evaluate(id, "", POLLS), 200);
    }
    svc_stub_finish(svc_stub_claim("torch"), OK_RECORD, "ok", 200);
    json_t *running = svc_stub_claim("torch");
    int s[64];
    for (int i = 0; i < 64; i++) {
        s[i] = svc_open(i % 2 == 0 ? "/status/t1" : "/health", "");
    }
    for (int i = 0; i < 64; i++) {
        read_status(s[i], 200);
        close(s[i]);
    }
    json_t *j = svc_json(200, "GET", "/health", "");
    const json_t *queue = json_object_get(j, "queue_status");
    assert_int_equal(json_integer_value(json_object_get(queue, "pending")), 2);
    assert_int_equal(json_integer_value(json_object_get(queue, "processing")), 1);
    assert_int_equal(json_integer_value(json_object_get(j, "total_processed")), 1);
    assert_int_equal(json_integer_value(json_object_get(j, "active_tasks")), 1);
    json_decref(j);
    json_decref(running);
}

/* T13: the result of a POST whose client has gone is there. */
static void a_client_that_leaves_loses_nothing(void **state)
{
    (void)state;
    svc_start("--no-work");
    int s = dial();
    send_post(s, "gone", "");
    json_t *claimed = svc_stub_claim("torch");
    close(s);
    svc_stub_finish(claimed, OK_RECORD, "ok", 200);
    status_is("gone", "completed");
    assert_int_equal(jobs_in("done"), 1);
    assert_int_equal(svc_end(SIGTERM), 0);
}

/* T15: one id and one content is one run, whoever asks at once; under two ids each gets an answer
 * of its own. */
static void equal_requests_run_once(void **state)
{
    enum { N = 8 };
    int s[N];
    (void)state;
    svc_start("--no-work");
    for (int i = 0; i < N; i++) {
        s[i] = dial();
        send_post(s[i], "same", "");
    }
    svc_stub_finish(svc_stub_claim("torch"), OK_RECORD, "ok", 200);
    for (int i = 0; i < N; i++) {
        read_status(s[i], 200);
        close(s[i]);
    }
    assert_int_equal(jobs_in("done"), 1);
    assert_int_equal(jobs_in("waiting"), 0);
    assert_int_equal(evaluate("other", "", POLLS), 200);
    svc_stub_finish(svc_stub_claim("torch"), OK_RECORD, "ok", 200);
    status_is("other", "completed");
}

#define T(f) cmocka_unit_test_setup_teardown(f, svc_setup, svc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(long_and_odd_sources_arrive_whole),  T(many_posts_at_once_are_served),
        T(a_status_is_there_at_once),          T(health_is_answered_while_clients_poll),
        T(a_client_that_leaves_loses_nothing), T(equal_requests_run_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
