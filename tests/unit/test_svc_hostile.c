/* Clients of the service that mean harm, or err: what is odd is refused as a whole, what breaks off
 * shows that it does, and who has gone holds nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tests/support/svc_rig.h"
#include "tests/support/svc_stub.h"

#define LINE(id) "{\"id\": \"" id "\", \"problem\": \"silu\", \"reply\": \"a\"}\n"

/* The rest of what comes on a connection, which is closed. */
static void read_all(int connection, struct kg_buf *out)
{
    char piece[4096];
    for (ssize_t n; (n = recv(connection, piece, sizeof piece, 0)) > 0;) {
        kg_buf_add(out, piece, (size_t)n);
    }
    close(connection);
}

/* --- answers that break off --- */

static void records_path(const char *lines, char out[128])
{
    json_t *j = svc_json(202, "POST", "/v1/batches", lines);
    snprintf(out, 128, "/v1/batches/%s/records", svc_text(j, "id"));
    json_decref(j);
}

static bool ends_whole(const struct kg_buf *answer)
{
    static const char last[] = "\r\n0\r\n\r\n";
    const size_t n = sizeof last - 1;
    return answer->len >= n && memcmp(answer->data + answer->len - n, last, n) == 0;
}

static void damage_segments(void)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf bytes;
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/store/segments/*", svc_folder());
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        kg_buf_init(&bytes, 1 << 20);
        assert_int_equal(kg_file_read(found.gl_pathv[i], &bytes, &err), KG_OK);
        for (size_t k = 0; k < bytes.len; k++) {
            bytes.data[k] ^= 1;
        }
        assert_int_equal(kg_file_write_atomic(found.gl_pathv[i], bytes.data, bytes.len, &err),
                         KG_OK);
        kg_buf_deinit(&bytes);
    }
    globfree(&found);
}

/* A reader must not take a part of the records for all of them. */
static void records_that_break_off_do_not_end(void **state)
{
    struct kg_buf out;
    char path[128];
    (void)state;
    kg_buf_init(&out, 1 << 20);
    svc_start("--no-work");
    records_path(LINE("a") LINE("b"), path);
    svc_stub_finish(svc_stub_claim("cpu"), SVC_STUB_RECORD("\"ok\""), "ok", 200);
    svc_stub_finish(svc_stub_claim("cpu"), SVC_STUB_RECORD("\"ok\""), "ok", 200);
    int reader = svc_open(path, "Connection: close\r\n");
    read_all(reader, &out);
    assert_true(ends_whole(&out));
    kg_buf_reset(&out);
    records_path(LINE("a") LINE("b"), path);
    svc_stub_finish(svc_stub_claim("cpu"), SVC_STUB_RECORD("\"ok\""), "ok", 200);
    reader = svc_open(path, "Connection: close\r\n");
    svc_read_until(reader, "kgym.record", &out);
    assert_int_equal(svc_end(SIGTERM), 0); /* the second one has no record yet */
    read_all(reader, &out);
    assert_false(ends_whole(&out));
    svc_start("--no-work");
    damage_segments();
    kg_buf_reset(&out);
    reader = svc_open(path, "Connection: close\r\n");
    read_all(reader, &out);
    assert_non_null(strstr(out.data, "200 OK"));
    assert_false(ends_whole(&out));
    kg_buf_deinit(&out);
}

/* --- requests --- */

/* The answers to bytes that are sent as they are, all of them. */
static void send_raw(const char *bytes, struct kg_buf *out)
{
    int connection = svc_open("/v1/live", "");
    kg_buf_reset(out);
    svc_read_until(connection, "true}", out);
    kg_buf_reset(out);
    assert_int_equal(send(connection, bytes, strlen(bytes), MSG_NOSIGNAL), strlen(bytes));
    read_all(connection, out);
}

/* A body in an answer to HEAD is the next answer for whoever reads it. */
static void head_is_answered_without_a_body(void **state)
{
    static const char open[] = "HEAD /v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                               "GET /v2 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    static const char other[] = "HEAD /v1/stats HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                                "GET /v2 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    struct kg_buf out;
    (void)state;
    kg_buf_init(&out, 1 << 20);
    svc_start("--no-work");
    send_raw(open, &out);
    assert_int_equal(strncmp(out.data, "HTTP/1.1 200", 12), 0);
    assert_non_null(strstr(out.data, "Content-Length: 14\r\n"));
    assert_non_null(strstr(out.data, "\r\n\r\nHTTP/1.1 404"));
    send_raw(other, &out);
    assert_int_equal(strncmp(out.data, "HTTP/1.1 405", 12), 0);
    assert_non_null(strstr(out.data, "\r\n\r\nHTTP/1.1 404"));
    kg_buf_deinit(&out);
}

static void a_url_must_name_the_host_of_the_request(void **state)
{
    static const struct {
        const char *target;
        int status;
    } asked[] = {{"http://127.0.0.1/v1/live", 200},
                 {"HTTP://127.0.0.1/v1/live?", 200},
                 {"http://evil.example/v1/live", 400},
                 {"http://127.0.0.1.evil/v1/live", 400},
                 {"http://127.0.0.1@evil/v1/live", 400},
                 {"ftp://127.0.0.1/v1/live", 400},
                 {"v1/live", 400},
                 {"*", 400}};
    char text[256];
    (void)state;
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        int n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                         asked[i].target);
        int status = svc_raw(text, (size_t)n);
        if (status != asked[i].status) {
            fail_msg("%s: %d, not %d", asked[i].target, status, asked[i].status);
        }
    }
}

/* Sends n bytes, as far as somebody takes them within a minute, before it reads. */
static void send_blindly(int connection, size_t n)
{
    static char piece[1 << 20];
    const struct timeval minute = {.tv_sec = 60, .tv_usec = 0};
    assert_int_equal(setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &minute, sizeof minute), 0);
    for (size_t sent = 0; sent < n;) {
        ssize_t k = send(connection, piece, sizeof piece, MSG_NOSIGNAL);
        if (k < 0) {
            assert_true(errno == EPIPE || errno == ECONNRESET); /* and no write that waits */
            return;
        }
        sent += (size_t)k;
    }
}

/* Most clients read nothing before they have sent all. */
static void a_large_body_is_refused_to_who_sends_all_first(void **state)
{
    static const char head[] = "POST /v1/evaluations HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                               "Content-Length: 900000000\r\n\r\n";
    struct kg_buf out;
    (void)state;
    kg_buf_init(&out, 1 << 20);
    svc_start("--no-work --body-mb 4");
    for (int mb = 7; mb < 100; mb += 90) {
        int connection = svc_open("/v1/live", "");
        svc_read_until(connection, "true}", &out);
        kg_buf_reset(&out);
        assert_int_equal(send(connection, head, sizeof head - 1, MSG_NOSIGNAL), sizeof head - 1);
        send_blindly(connection, (size_t)mb << 20);
        shutdown(connection, SHUT_WR);
        read_all(connection, &out);
        assert_true(mb > 7 || strstr(out.data, "HTTP/1.1 413") != NULL);
        kg_buf_reset(&out);
    }
    kg_buf_deinit(&out);
}

/* --- names, queries, lines --- */

/* What is listed can be judged; a row of a file is listed as a name. */
static void all_problems_that_are_listed_are_taken(void **state)
{
    struct kg_buf lines;
    bool rows = false;
    size_t i;
    const json_t *p;
    (void)state;
    kg_buf_init(&lines, 1 << 20);
    svc_start("--no-work");
    json_t *j = svc_json(200, "GET", "/v1/problems", "");
    json_array_foreach(json_object_get(j, "problems"), i, p)
    {
        const char *name = svc_text(p, "problem");
        rows = rows || strcmp(name, "rows.jsonl#1") == 0;
        kg_buf_addf(&lines, "{\"id\": \"%zu\", \"problem\": \"%s\", \"reply\": \"a\"}\n", i, name);
    }
    json_decref(j);
    assert_true(rows);
    json_decref(svc_json(202, "POST", "/v1/batches", lines.data));
    json_decref(svc_json(200, "GET", "/v1/problems/rows.jsonl%231/prompt", ""));
    kg_buf_deinit(&lines);
}

/* A row that no suite has is none, also where the service was started beside a file of its name. */
static void a_row_is_not_looked_for_elsewhere(void **state)
{
    static const char row[] = "{\"python_code\": \"class A: pass\", \"entry_point\": \"A\"}\n";
    struct kg_err err = KG_ERR_INIT;
    char here[4096];
    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(svc_folder()), 0);
    assert_int_equal(kg_file_write_atomic("mine.jsonl", row, strlen(row), &err), KG_OK);
    svc_start("--no-work");
    assert_int_equal(chdir(here), 0);
    json_decref(svc_json(404, "POST", "/v1/evaluations",
                         "{\"problem\": \"mine.jsonl#1\", \"reply\": \"a\"}"));
    json_decref(svc_json(404, "GET", "/v1/problems/mine.jsonl%231/prompt", ""));
    json_decref(svc_json(400, "GET", "/v1/problems/mine.jsonl/prompt", ""));
}

static const struct {
    int status;
    const char *method, *path, *body, *code, *field;
} refused[] = {
    {400, "GET", "/v1/evaluations?limit=1&limit=2", "", "bad_query", ""},
    {400, "GET", "/v1/evaluations?LIMIT=1&limit=2", "", "bad_query", ""},
    {400, "GET", "/v1/evaluations?problem=silu%00x", "", "bad_query", ""},
    {400, "GET", "/v1/evaluations?limit=1.5", "", "bad_query", "limit"},
    {400, "GET", "/v1/evaluations?limit=0x1", "", "bad_query", "limit"},
    {400, "GET", "/v1/evaluations?limit=1001", "", "bad_query", "limit"},
    {400, "GET", "/v1/evaluations?limit=99999999999999999999", "", "bad_query", "limit"},
    {400, "GET", "/v1/evaluations?after=x", "", "bad_query", "after"},
    {400, "GET", "/v1/evaluations?after=0123456789abcdefghjkmnpqrs", "", "bad_query", "after"},
    {400, "GET", "/v1/trajectories?after=x", "", "bad_query", "after"},
    {400, "GET", "/v1/trajectories?limit=-1", "", "bad_query", "limit"},
    {400, "GET", "/v1/events?after=1e3", "", "bad_query", "after"},
    {400, "GET", "/v1/evaluations/x?wiat=1", "", "bad_query", ""},
    {400, "GET", "/v1/evaluations/00000000000000000000000000?wait=0x1", "", "bad_query", "wait"},
    {400, "GET", "/v1/evaluations/00000000000000000000000000?wait=%2B1", "", "bad_query", "wait"},
    {400, "GET", "/v1/batches/x/records?ofset=1", "", "bad_query", ""},
    {400, "GET", "/v1/batches/x/records?offset=0.5", "", "bad_query", "offset"},
    {400, "POST", "/v1/evaluations", "{\"problem\": \"\", \"reply\": \"a\"}", "bad_problem",
     "problem"},
    {400, "POST", "/v1/evaluations", "{\"problem_source\": \"\", \"reply\": \"a\"}", "bad_text",
     "problem_source"},
    {400, "POST", "/v1/evaluations", "{\"problem\": \"silu\", \"reply\": \"a\", \"replay\": \"\"}",
     "bad_text", "replay"},
    {400, "POST", "/v1/evaluations",
     "{\"problem\": \"silu\", \"reply\": \"a\", \"rewards\": \"nope\"}", "bad_setting", "rewards"},
    {400, "POST", "/v1/evaluations",
     "{\"problem\": \"silu\", \"reply\": \"a\", \"preset\": \"nope\", \"set\": {\"laws\": 2}}",
     "bad_setting", "preset"},
    {400, "POST", "/v1/batches", "{\"id\": \"a\", \"problem\": \"silu\\u0000x\", \"reply\": \"a\"}",
     "bad_line", ""},
    {400, "POST", "/v1/batches", "{\"id\": \"a\\u0000x\", \"problem\": \"silu\", \"reply\": \"a\"}",
     "bad_line", ""},
};

/* Where a part could be read in another way than its sender means, nothing of it is done. */
static void what_is_understood_in_part_is_refused(void **state)
{
    (void)state;
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        json_t *j =
            svc_json(refused[i].status, refused[i].method, refused[i].path, refused[i].body);
        if (strcmp(svc_text(j, "code"), refused[i].code) != 0 ||
            strcmp(svc_text(j, "field"), refused[i].field) != 0) {
            fail_msg("%s %s: %s, %s", refused[i].path, refused[i].body, svc_text(j, "code"),
                     svc_text(j, "field"));
        }
        json_decref(j);
    }
}

/* --- who has gone --- */

static int open_requests(void)
{
    static const char name[] = "\nkgym_http_open_requests ";
    struct kg_buf out;
    kg_buf_init(&out, 1 << 20);
    assert_int_equal(svc_request("GET", "/metrics", "Accept: text/plain\r\n", "", 0, &out), 200);
    const char *at = strstr(out.data, name);
    assert_non_null(at);
    int n = atoi(at + sizeof name - 1);
    kg_buf_deinit(&out);
    return n;
}

static int64_t waiting(void)
{
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    int64_t n = json_integer_value(json_object_get(json_object_get(j, "jobs"), "waiting"));
    json_decref(j);
    return n;
}

static void await_open_requests(int n)
{
    int64_t until = kg_clock_ns() + INT64_C(120000000000);
    for (int now; (now = open_requests()) != n;) {
        if (kg_clock_ns() > until) {
            fail_msg("%d requests are open, not %d", now, n);
        }
        usleep(20000);
    }
}

/* Sends a request whose answer waits, on a connection that was used before. */
static int ask(const char *method, const char *path, const char *body, const char *more)
{
    char text[1024];
    struct kg_buf out;
    kg_buf_init(&out, 1 << 16);
    int connection = svc_open("/v1/live", "");
    svc_read_until(connection, "true}", &out);
    int n = snprintf(text, sizeof text,
                     "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n\r\n%s%s", method,
                     path, strlen(body), body, more);
    assert_int_equal(send(connection, text, (size_t)n, MSG_NOSIGNAL), n);
    kg_buf_deinit(&out);
    return connection;
}

/* Requests that wait for minutes count no more once their clients have gone, also where bytes of a
 * further request were sent. */
static void who_has_gone_holds_no_request(void **state)
{
    enum { WAITS = 6 };
    char id[32], one[128], turns[128], turn[128];
    int waits[WAITS];
    (void)state;
    svc_start("--no-work");
    json_t *j =
        svc_json(202, "POST", "/v1/evaluations", "{\"problem\": \"silu\", \"reply\": \"a\"}");
    snprintf(one, sizeof one, "/v1/evaluations/%s?wait=300", svc_text(j, "id"));
    json_decref(j);
    j = svc_json(200, "POST", "/v1/trajectories", "{\"problem\": \"silu\"}");
    snprintf(id, sizeof id, "%s", svc_text(j, "id"));
    json_decref(j);
    snprintf(turns, sizeof turns, "/v1/trajectories/%s/turns?wait=300", id);
    snprintf(turn, sizeof turn, "/v1/trajectories/%s/turns/1?wait=300", id);
    waits[0] = ask("GET", one, "", "");
    waits[1] = ask("GET", one, "", "GET /v1/live");
    waits[2] = ask("POST", turns, "{\"n\": 1, \"reply\": \"a\"}", "");
    for (int status = 404; status == 404;) { /* until the turn is there */
        *strchr(turn, '?') = '\0';
        status = svc_request("GET", turn, "", "", 0, NULL);
        turn[strlen(turn)] = '?';
    }
    waits[3] = ask("GET", turn, "", "");
    waits[4] = ask("POST", "/v1/reward?wait=100",
                   "{\"prompt\": \"\", \"response\": \"a\", \"label\": \"silu\"}", "");
    waits[5] =
        ask("POST", "/v1/evaluations?wait=300", "{\"problem\": \"silu\", \"reply\": \"b\"}", "");
    await_open_requests(1 + WAITS);
    for (int i = 0; i < WAITS; i++) {
        close(waits[i]);
    }
    await_open_requests(1);
    *strchr(turn, '?') = '\0';
    json_decref(svc_json(202, "GET", turn, "")); /* what they asked for goes on */
    while (waiting() > 0) {
        svc_stub_finish(svc_stub_claim("cpu"), SVC_STUB_RECORD("\"ok\""), "ok", 200);
    }
    assert_int_equal(open_requests(), 1);
}

/* --- records of a worker that forges them --- */

/* A record of no gym is a turn of its own trajectory alone: it can be read, and what others export
 * is whole. */
static void a_forged_record_harms_no_export(void **state)
{
    static const struct {
        int status;
        const char *record;
    } forged[] = {
        {200, "{}"},
        {400, "{\"verdict\": {\"a\": 1}}"},
        {400, "{\"reason\": []}"},
        {400, "{\"stage\": 5}"},
        {400, "{\"rewards\": [1]}"},
        {200, "{\"rewards\": {\"binary\": {\"value\": \"much\"}}, \"stages\": 5}"},
        {200, "{\"rewards\": {\"binary\": 7}}"},
    };
    struct kg_buf out;
    char path[128];
    (void)state;
    kg_buf_init(&out, 1 << 20);
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        json_t *j = svc_json(200, "POST", "/v1/trajectories",
                             "{\"problem\": \"silu\", \"max_turns\": 1, \"rewards\": \"binary\"}");
        snprintf(path, sizeof path, "/v1/trajectories/%s/turns", svc_text(j, "id"));
        json_decref(j);
        json_decref(svc_json(202, "POST", path, "{\"n\": 1, \"reply\": \"a\"}"));
        svc_stub_finish(svc_stub_claim("cpu"), forged[i].record, "ok", forged[i].status);
        if (forged[i].status == 200) {
            strcat(path, "/1?wait=60");
            j = svc_json(200, "GET", path, "");
            assert_string_equal(svc_text(j, "state"), "judged");
            assert_true(json_is_null(json_object_get(j, "reward")));
            json_decref(j);
        }
    }
    read_all(svc_open("/v1/trajectories/export", "Connection: close\r\n"), &out);
    assert_true(ends_whole(&out));
    kg_buf_deinit(&out);
}

static int64_t bytes_of_segments(void)
{
    char pattern[256];
    glob_t found;
    struct stat st;
    int64_t n = 0;
    snprintf(pattern, sizeof pattern, "%s/store/segments/*", svc_folder());
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            assert_int_equal(stat(found.gl_pathv[i], &st), 0);
            n += st.st_size;
        }
        globfree(&found);
    }
    return n;
}

/* Else a token of workers could fill the disk. */
static void an_answer_without_a_claim_leaves_nothing(void **state)
{
    enum { N = 5 };
    (void)state;
    svc_start("--no-work");
    json_decref(
        svc_json(202, "POST", "/v1/evaluations", "{\"problem\": \"silu\", \"reply\": \"a\"}"));
    json_t *claimed = svc_stub_claim("cpu");
    for (int i = 0; i < N; i++) {
        json_t *other = json_deep_copy(claimed);
        json_object_set_new(other, "fence", json_integer(2));
        svc_stub_finish(other, SVC_STUB_RECORD("\"ok\""), "ok", 409);
    }
    assert_int_equal(bytes_of_segments(), 0);
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    assert_int_equal(json_integer_value(json_object_get(j, "answers_refused")), N);
    json_decref(j);
    svc_stub_finish(claimed, SVC_STUB_RECORD("\"ok\""), "ok", 200);
    assert_true(bytes_of_segments() > 0);
}

/* The same of a client: turns that are refused, for their number or for a full queue. */
static void a_refused_turn_leaves_nothing(void **state)
{
    static const char *const turns[] = {"{\"n\": 3, \"reply\": \"a\"}",
                                        "{\"n\": 1, \"reply\": \"other\"}"};
    char path[96], full[96];
    (void)state;
    svc_start("--no-work --queue-limit 1");
    json_t *j = svc_json(200, "POST", "/v1/trajectories", "{\"problem\": \"silu\"}");
    snprintf(path, sizeof path, "/v1/trajectories/%s/turns", svc_text(j, "id"));
    json_decref(j);
    j = svc_json(200, "POST", "/v1/trajectories", "{\"problem\": \"silu\"}");
    snprintf(full, sizeof full, "/v1/trajectories/%s/turns", svc_text(j, "id"));
    json_decref(j);
    json_decref(svc_json(202, "POST", path, "{\"n\": 1, \"reply\": \"a\"}"));
    int64_t bytes = bytes_of_segments();
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        json_decref(svc_json(409, "POST", path, turns[i]));
    }
    json_decref(svc_json(429, "POST", full, "{\"n\": 1, \"reply\": \"a\"}"));
    assert_int_equal(bytes_of_segments(), bytes);
}

/* --- short terms --- */

/* A job that runs for several terms ends with its record: before its claim runs out it is renewed
 * as often as it takes. */
static void a_job_outlives_a_short_term(void **state)
{
    char id[32];
    (void)state;
    setenv("KGYM_DEADLINE_RUN", "4", 1);
    svc_start("--jobs 1 --term 2");
    json_t *j = svc_json(202, "POST", "/v1/evaluations",
                         "{\"problem\": \"silu\", \"set\": {\"stage.timing\": false}, \"source\":"
                         " \"void silu(const float *x, float *y, long n) "
                         "{ (void)x; (void)y; (void)n; for (volatile int i = 0;; i++) { } }\"}");
    snprintf(id, sizeof id, "%s", svc_text(j, "id"));
    json_decref(j);
    svc_await(id, "done"); /* never where it is dead */
    unsetenv("KGYM_DEADLINE_RUN");
}

#define T(f) cmocka_unit_test_setup_teardown(f, svc_setup, svc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(records_that_break_off_do_not_end),
        T(head_is_answered_without_a_body),
        T(a_url_must_name_the_host_of_the_request),
        T(a_large_body_is_refused_to_who_sends_all_first),
        T(all_problems_that_are_listed_are_taken),
        T(a_row_is_not_looked_for_elsewhere),
        T(what_is_understood_in_part_is_refused),
        T(who_has_gone_holds_no_request),
        T(a_forged_record_harms_no_export),
        T(an_answer_without_a_claim_leaves_nothing),
        T(a_refused_turn_leaves_nothing),
        T(a_job_outlives_a_short_term),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
