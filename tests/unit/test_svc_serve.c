/* The service as its clients see it: `kgym serve` with an api process, a worker and a store. Jobs
 * are replies without code, which take milliseconds, and a candidate that never ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/cobject.h"
#include "tests/support/svc_rig.h"

#define EMPTY "{\"problem\": \"silu\", \"reply\": \"nothing\"}"
#define ENDLESS                                                                                    \
    "{\"problem\": \"silu\", \"key\": \"endless\", \"set\": {\"stage.timing\": false},"            \
    " \"source\": \"void silu(const float *x, float *y, long n) "                                  \
    "{ (void)x; (void)y; (void)n; for (volatile int i = 0;; i++) { } }\"}"

static void id_of(const json_t *j, char out[32])
{
    snprintf(out, 32, "%s", svc_text(j, "id"));
    assert_int_equal(strlen(out), 26);
}

static void submit(const char *body, char id[32])
{
    json_t *j = svc_json(202, "POST", "/v1/evaluations", body);
    id_of(j, id);
    json_decref(j);
}

static int64_t attempts_of(const char *id)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/evaluations/%s", id);
    json_t *j = svc_json(200, "GET", path, "");
    int64_t n = json_integer_value(json_object_get(j, "attempts"));
    json_decref(j);
    return n;
}

static void batch_lines(struct kg_buf *out, int n)
{
    for (int i = 0; i < n; i++) {
        kg_buf_addf(out, "{\"id\": \"l%d\", \"problem\": \"%s\", \"reply\": \"nothing\"}\n", i,
                    i % 2 ? "silu" : "softmax");
    }
}

/* The address is told by a service that serves there, not by one that can't begin. */
static void a_service_that_cannot_begin_tells_no_address(void **state)
{
    char path[160], command[512], said[2048];
    struct kg_err err = KG_ERR_INIT;
    (void)state;
    snprintf(path, sizeof path, "%s/store/segments", svc_folder());
    assert_int_equal(kg_file_mkdirs(path, 0700, &err), KG_OK);
    snprintf(path, sizeof path, "%s/store/segments/01ARZ3NDEKTSV4RRFFQ69G5FAV.zst", svc_folder());
    assert_int_equal(kg_file_write_atomic(path, "r", 1, &err), KG_OK);
    snprintf(command, sizeof command, "%s serve --port 0 --folder %s/store 2>&1",
             cobject_built("kgym"), svc_folder());
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(said, 1, sizeof said - 1, f);
    said[n] = '\0';
    assert_int_equal(WEXITSTATUS(pclose(f)), 2);
    assert_non_null(strstr(said, "restore a backup"));
    assert_null(strstr(said, "http://"));
}

static void a_post_that_waits_gets_the_record(void **state)
{
    (void)state;
    svc_start("--jobs 1");
    json_t *j = svc_json(200, "POST", "/v1/evaluations?wait=200", EMPTY);
    assert_string_equal(svc_text(j, "state"), "done");
    assert_string_equal(svc_text(j, "verdict"), "no_code");
    const json_t *record = json_object_get(j, "record");
    assert_string_equal(svc_text(record, "schema"), "kgym.record/1");
    json_t *zero = svc_json(202, "POST", "/v1/evaluations?wait=0", EMPTY);
    assert_true(json_is_null(json_object_get(zero, "record")));
    json_decref(zero);
    json_decref(j);
    assert_int_equal(svc_end(SIGTERM), 0);
}

static void a_key_names_one_job(void **state)
{
    char first[32], again[32];
    (void)state;
    svc_start("--no-work");
    submit("{\"problem\": \"silu\", \"reply\": \"a\", \"key\": \"k\"}", first);
    submit("{\"key\": \"k\", \"reply\": \"a\", \"problem\": \"silu\"}", again);
    assert_string_equal(first, again);
    json_decref(svc_json(409, "POST", "/v1/evaluations",
                         "{\"problem\": \"silu\", \"reply\": \"b\", \"key\": \"k\"}"));
}

/* A job whose key looks like that of a batch's line takes nothing from the batch. */
static void a_batch_has_keys_of_its_own(void **state)
{
    char id[32];
    (void)state;
    svc_start("--no-work");
    submit("{\"problem\": \"silu\", \"reply\": \"a\", \"key\": \"b#1\"}", id);
    json_decref(svc_json(202, "POST", "/v1/batches?key=b",
                         "{\"id\": \"x\", \"problem\": \"silu\", \"reply\": \"a\"}\n"
                         "{\"id\": \"y\", \"problem\": \"silu\", \"reply\": \"b\"}\n"));
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "jobs"), "waiting")), 3);
    json_decref(j);
}

static void an_id_with_a_tail_is_no_id(void **state)
{
    static const struct {
        int status;
        const char *method, *path;
    } asked[] = {{404, "DELETE", "/v1/evaluations/%sA"},
                 {404, "GET", "/v1/evaluations/%sA?wait=1"},
                 {404, "POST", "/v1/evaluations/%sA/requeue"},
                 {404, "GET", "/v1/evaluations/%sA/feedback"},
                 {400, "GET", "/v1/events?job=%sA"}};
    char id[32], path[128];
    (void)state;
    svc_start("--no-work");
    submit(EMPTY, id);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const char *tail = strstr(asked[i].path, "%s") + 2;
        snprintf(path, sizeof path, "%.*s%s%s", (int)(tail - 2 - asked[i].path), asked[i].path, id,
                 tail);
        json_decref(svc_json(asked[i].status, asked[i].method, path, ""));
    }
    svc_await(id, "waiting");
}

/* The candidate runs until the kill, then it soon ends. The term is long enough for a busy host,
 * where a renewal may come late. */
static void all_that_was_accepted_is_answered_after_a_kill(void **state)
{
    enum { N = 12 };
    char id[N][32], running[32];
    (void)state;
    setenv("KGYM_DEADLINE_RUN", "3000", 1);
    setenv("KGYM_DEADLINE_EVAL", "3000", 1);
    svc_start("--jobs 2 --term 3");
    submit(ENDLESS, running);
    svc_await(running, "running");
    for (int i = 0; i < N; i++) {
        submit(EMPTY, id[i]);
    }
    assert_int_equal(svc_end(SIGKILL), -1);
    unsetenv("KGYM_DEADLINE_EVAL");
    setenv("KGYM_DEADLINE_RUN", "0.3", 1);
    svc_start("--jobs 2 --term 3");
    for (int i = 0; i < N; i++) {
        svc_await(id[i], "done");
    }
    svc_await(running, "done");
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "jobs"), "done")),
                     N + 1);
    json_decref(j);
    unsetenv("KGYM_DEADLINE_RUN");
}

/* The run deadline is far away, so the second job is judged because the first one's candidate has
 * been ended. */
static void a_cancelled_job_frees_its_worker(void **state)
{
    char id[32], path[128];
    (void)state;
    setenv("KGYM_DEADLINE_RUN", "3000", 1);
    setenv("KGYM_DEADLINE_EVAL", "3000", 1);
    svc_start("--jobs 1");
    submit(ENDLESS, id);
    svc_await(id, "running");
    snprintf(path, sizeof path, "/v1/evaluations/%s", id);
    json_t *j = svc_json(200, "DELETE", path, "");
    assert_string_equal(svc_text(j, "state"), "cancelled");
    json_decref(j);
    json_decref(svc_json(200, "POST", "/v1/evaluations?wait=200", EMPTY));
    json_decref(svc_json(200, "DELETE", path, "")); /* once more: nothing changes */
    json_decref(svc_json(404, "DELETE", "/v1/evaluations/none", ""));
    unsetenv("KGYM_DEADLINE_RUN");
    unsetenv("KGYM_DEADLINE_EVAL");
}

static void a_new_api_process_interrupts_nothing(void **state)
{
    char id[32];
    (void)state;
    setenv("KGYM_DEADLINE_RUN", "1", 1);
    svc_start("--jobs 1");
    submit(ENDLESS, id);
    svc_await(id, "running");
    kill(svc_child("serve-api"), SIGKILL);
    svc_await(id, "done");
    assert_int_equal(attempts_of(id), 1);
    unsetenv("KGYM_DEADLINE_RUN");
}

static int64_t waiting(void)
{
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    int64_t n = json_integer_value(json_object_get(json_object_get(j, "jobs"), "waiting"));
    json_decref(j);
    return n;
}

/* The service stops while it reads or writes a large batch, early and late: what it has accepted it
 * has answered, and the other way round. */
static void what_was_accepted_is_answered_before_the_end(void **state)
{
    enum { N = 300, TEXT = 60000 };
    static const useconds_t after_us[] = {30000, 120000};
    struct kg_buf lines;
    char path[64];
    int64_t accepted = 0;
    (void)state;
    kg_buf_init(&lines, 64 << 20);
    for (int i = 0; i < N; i++) {
        kg_buf_addf(&lines, "{\"id\": \"l%d\", \"problem\": \"silu\", \"reply\": \"%0*d\"}\n", i,
                    TEXT, i);
    }
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof after_us / sizeof *after_us; i++) {
        pid_t api = svc_child("serve-api"), stops = fork();
        if (stops == 0) {
            usleep(after_us[i]);
            kill(api, SIGTERM);
            _exit(0);
        }
        snprintf(path, sizeof path, "/v1/batches?key=%zu", i);
        int status = svc_request("POST", path, "", lines.data, lines.len, NULL);
        assert_true(status == 202 || status == 0 || status == 503);
        accepted += status == 202 ? N : 0;
        waitpid(stops, NULL, 0);
        assert_int_equal(waiting(), accepted);
    }
    kg_buf_deinit(&lines);
}

static void a_worker_hands_back_what_it_holds(void **state)
{
    char id[32];
    (void)state;
    setenv("KGYM_DEADLINE_RUN", "3000", 1);
    svc_start("--jobs 1");
    submit(ENDLESS, id);
    svc_await(id, "running");
    assert_int_equal(svc_end(SIGTERM), 0);
    svc_start("--no-work");
    svc_await(id, "waiting");
    assert_int_equal(attempts_of(id), 0);
    assert_int_equal(svc_end(SIGTERM), 0);
    setenv("KGYM_DEADLINE_RUN", "0.3", 1);
    svc_start("--jobs 1");
    svc_await(id, "done");
    assert_int_equal(attempts_of(id), 1);
    unsetenv("KGYM_DEADLINE_RUN");
}

/* A terminal's interrupt goes to the whole group of the parent. */
static void an_interrupt_ends_all_in_order(void **state)
{
    char id[32];
    (void)state;
    setenv("KGYM_DEADLINE_RUN", "3000", 1);
    svc_start("--jobs 1");
    assert_int_equal(getpgid(svc_pid), getpgrp());
    assert_int_not_equal(getpgid(svc_child("serve-api")), getpgrp());
    assert_int_not_equal(getpgid(svc_child("serve-worker")), getpgrp());
    submit(ENDLESS, id);
    svc_await(id, "running");
    assert_int_equal(svc_end(SIGINT), 0);
    svc_start("--no-work");
    svc_await(id, "waiting");
    assert_int_equal(attempts_of(id), 0);
    unsetenv("KGYM_DEADLINE_RUN");
}

static void a_killed_worker_is_replaced(void **state)
{
    char id[32];
    (void)state;
    setenv("KGYM_DEADLINE_RUN", "1", 1);
    svc_start("--jobs 1 --term 3");
    submit(ENDLESS, id);
    svc_await(id, "running");
    kill(svc_child("serve-worker"), SIGKILL);
    svc_await(id, "done");
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    assert_true(json_integer_value(json_object_get(j, "claims_expired")) <= 1);
    json_decref(j);
    unsetenv("KGYM_DEADLINE_RUN");
}

/* --- the worker's side, played by the test --- */

/* One claim, or NULL. */
static json_t *claim_one(void)
{
    json_t *j = svc_json(200, "POST", "/v1/worker/claim",
                         "{\"worker\": \"w\", \"devices\": [\"cpu\"], \"slots\": [{}]}");
    json_t *first = json_incref(json_array_get(json_object_get(j, "claims"), 0));
    json_decref(j);
    return first;
}

static void end_claim(int status, const json_t *claim, const char *outcome, const char *more)
{
    char body[1024];
    snprintf(body, sizeof body,
             "{\"id\": \"%s\", \"claim\": \"%s\", \"fence\": %lld, \"outcome\": \"%s\"%s}",
             svc_text(claim, "id"), svc_text(claim, "claim"),
             (long long)json_integer_value(json_object_get(claim, "fence")), outcome, more);
    json_decref(svc_json(status, "POST", "/v1/worker/finish", body));
}

/* Three attempts that fail end in an error of the gym, never in a verdict; it can be asked again.
 */
static void a_job_that_fails_is_dead_and_comes_back(void **state)
{
    static const char why[] = ", \"error\": \"gym\", \"blame\": \"gym\", \"message\": \"m\"";
    char id[32], path[128];
    json_t *claim, *old = NULL;
    (void)state;
    svc_start("--no-work");
    submit(EMPTY, id);
    for (int i = 0; i < 3; i++) {
        claim = claim_one();
        assert_non_null(claim);
        assert_string_equal(svc_text(json_object_get(claim, "task"), "text"), "nothing");
        end_claim(200, claim, "failed", why);
        end_claim(409, claim, "failed", why); /* once only */
        json_decref(old);
        old = claim;
    }
    assert_null(claim_one());
    snprintf(path, sizeof path, "/v1/evaluations/%s", id);
    json_t *j = svc_json(200, "GET", path, "");
    assert_string_equal(svc_text(j, "state"), "dead");
    assert_string_equal(svc_text(json_object_get(j, "error"), "blame"), "gym");
    assert_true(json_is_null(json_object_get(j, "verdict")));
    json_decref(j);
    snprintf(path, sizeof path, "/v1/evaluations/%s/requeue", id);
    json_decref(svc_json(200, "POST", path, ""));
    json_decref(svc_json(409, "POST", path, ""));
    claim = claim_one();
    end_claim(409, old, "finished", ", \"record\": \"{\\\"old\\\": 1}\"");
    end_claim(400, claim, "finished", ", \"record\": \"no object\"");
    end_claim(200, claim, "finished", ", \"record\": \"{\\\"new\\\":  1}\", \"verdict\": \"ok\"");
    snprintf(path, sizeof path, "/v1/evaluations/%s", id);
    struct kg_buf out;
    kg_buf_init(&out, 1 << 20);
    assert_int_equal(svc_request("GET", path, "", "", 0, &out), 200);
    assert_non_null(strstr(out.data, "\"record\":{\"new\":  1}")); /* byte for byte */
    kg_buf_deinit(&out);
    json_decref(claim);
    json_decref(old);
}

/* --- batches --- */

static void a_batch_comes_back_in_order(void **state)
{
    enum { N = 20 };
    struct kg_buf lines, out;
    char id[32], again[32], path[128], want[16];
    (void)state;
    kg_buf_init(&lines, 1 << 20);
    kg_buf_init(&out, 64 << 20);
    batch_lines(&lines, N);
    svc_start("--jobs 2");
    json_t *j = svc_json(202, "POST", "/v1/batches?key=b", lines.data);
    id_of(j, id);
    json_decref(j);
    j = svc_json(202, "POST", "/v1/batches?key=b", lines.data);
    id_of(j, again);
    json_decref(j);
    assert_string_equal(id, again);
    snprintf(path, sizeof path, "/v1/batches/%s/records?offset=3", id);
    assert_int_equal(svc_request("GET", path, "", "", 0, &out), 200);
    int at = 3;
    for (char *line = strtok(out.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        json_t *r = json_loads(line, 0, NULL);
        snprintf(want, sizeof want, "l%d", at++);
        assert_string_equal(svc_text(r, "batch_id"), want);
        json_decref(r);
    }
    assert_int_equal(at, N);
    kg_buf_reset(&lines);
    batch_lines(&lines, N - 1);
    json_decref(svc_json(409, "POST", "/v1/batches?key=b", lines.data));
    snprintf(path, sizeof path, "/v1/batches/%s", id);
    j = svc_json(200, "GET", path, "");
    assert_int_equal(json_integer_value(json_object_get(j, "lines")), N);
    json_decref(j);
    kg_buf_deinit(&lines);
    kg_buf_deinit(&out);
}

static void load_lines(const char *text, json_t *out[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(text, "\n");
        out[i] = json_loadb(text, len, 0, NULL);
        assert_non_null(out[i]);
        text += len + 1;
    }
    assert_string_equal(text, "");
}

static void assert_same(const json_t *a, const json_t *b, const char *key)
{
    if (!json_equal(json_object_get(a, key), json_object_get(b, key))) {
        char *x = json_dumps(json_object_get(a, key), JSON_ENCODE_ANY);
        char *y = json_dumps(json_object_get(b, key), JSON_ENCODE_ANY);
        fail_msg("%s: %s in the service, %s in a batch", key, x, y);
    }
}

/* Records of the service are those of `kgym eval --batch`, key by key; what differs by chance, by
 * time or by process is left out. */
static void records_equal_those_of_a_batch(void **state)
{
    static const char lines[] =
        "{\"id\": \"none\", \"problem\": \"silu\", \"reply\": \"nothing\"}\n"
        "{\"id\": \"broken\", \"problem\": \"silu\", \"source\": \"void silu(\"}\n"
        "{\"id\": \"wrong\", \"problem\": \"silu\", \"source\":"
        " \"void silu(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = "
        "x[i]; }"
        "\"}\n";
    static const char *const same[] = {
        "schema", "batch_id", "input_sha256", "problem", "candidate", "verdict",
        "reason", "config",   "rewards",      "error",   NULL};
    enum { N = 3 };
    json_t *served[N], *judged[N];
    struct kg_buf out;
    char path[128], command[1024];
    (void)state;
    kg_buf_init(&out, 64 << 20);
    svc_start("--jobs 2");
    json_t *j = svc_json(202, "POST", "/v1/batches?rewards=dr-kernel,binary", lines);
    snprintf(path, sizeof path, "/v1/batches/%s/records", svc_text(j, "id"));
    json_decref(j);
    assert_int_equal(svc_request("GET", path, "", "", 0, &out), 200);
    load_lines(out.data, served, N);
    snprintf(path, sizeof path, "%s/in.jsonl", svc_folder());
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_file_write_atomic(path, lines, strlen(lines), &err), KG_OK);
    snprintf(command, sizeof command,
             "${KGYM_BUILD:-build/release}/kgym eval --batch %s --out %s/out.jsonl "
             "--rewards dr-kernel,binary >/dev/null 2>&1",
             path, svc_folder());
    (void)!system(command);
    snprintf(path, sizeof path, "%s/out.jsonl", svc_folder());
    kg_buf_reset(&out);
    assert_int_equal(kg_file_read(path, &out, &err), KG_OK);
    load_lines(out.data, judged, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(json_object_size(served[i]), json_object_size(judged[i]));
        for (size_t k = 0; same[k] != NULL; k++) {
            assert_same(served[i], judged[i], same[k]);
        }
        json_decref(served[i]);
        json_decref(judged[i]);
    }
    kg_buf_deinit(&out);
}

static void a_prompt_and_the_problems(void **state)
{
    (void)state;
    svc_start("--no-work");
    json_t *j = svc_json(200, "GET", "/v1/problems/silu/prompt", "");
    assert_non_null(strstr(svc_text(j, "prompt"), "void silu("));
    json_decref(j);
    json_decref(svc_json(404, "GET", "/v1/problems/slui/prompt", ""));
    json_decref(svc_json(400, "GET", "/v1/problems/..%2Fsilu.c/prompt", ""));
    json_decref(svc_json(400, "GET", "/v1/problems/silu/prompt?language=latin", ""));
    j = svc_json(200, "GET", "/v1/problems", "");
    assert_true(json_array_size(json_object_get(j, "problems")) > 50);
    json_decref(j);
}

static void events_are_sent_as_they_happen(void **state)
{
    struct kg_buf out;
    char id[32], path[128];
    (void)state;
    kg_buf_init(&out, 1 << 20);
    svc_start("--no-work");
    submit(EMPTY, id);
    snprintf(path, sizeof path, "/v1/evaluations/%s", id);
    json_decref(svc_json(200, "DELETE", path, ""));
    snprintf(path, sizeof path, "/v1/events?job=%s", id);
    json_t *j = svc_json(200, "GET", path, "");
    const json_t *events = json_object_get(j, "events");
    assert_int_equal(json_array_size(events), 2);
    assert_string_equal(svc_text(json_array_get(events, 1), "type"), "cancelled");
    json_decref(j);
    int stream = svc_open("/v1/events?after=1", "Accept: text/event-stream\r\n");
    svc_read_until(stream, "id: 2\nevent: cancelled\n", &out);
    assert_null(strstr(out.data, "id: 1\n"));
    submit(EMPTY, id);
    svc_read_until(stream, "id: 3\nevent: submitted\n", &out);
    assert_int_equal(svc_end(SIGTERM), 0); /* an open stream keeps nobody from ending */
    close(stream);
    kg_buf_deinit(&out);
}

/* --- what is refused --- */

static const struct {
    int status;
    const char *method, *path, *body, *code, *field;
} refused[] = {
    {400, "POST", "/v1/evaluations", "{\"problm\": 1}", "unknown_member", "problm"},
    {400, "POST", "/v1/evaluations", "[1]", "bad_body", ""},
    {400, "POST", "/v1/evaluations", "{", "bad_json", ""},
    {400, "POST", "/v1/evaluations", "{\"reply\": \"a\", \"reply\": \"b\"}", "bad_json", ""},
    {404, "POST", "/v1/evaluations", "{\"problem\": \"slui\", \"reply\": \"a\"}", "no_problem",
     "problem"},
    {400, "POST", "/v1/evaluations", "{\"problem\": \"/etc/passwd\", \"reply\": \"a\"}",
     "bad_problem", "problem"},
    {400, "POST", "/v1/evaluations", "{\"problem\": \"silu.c\", \"reply\": \"a\"}", "bad_problem",
     "problem"},
    {400, "POST", "/v1/evaluations", "{\"problem\": \"silu\"}", "bad_body", "reply"},
    {400, "POST", "/v1/evaluations", "{\"problem\": \"silu\", \"reply\": 5}", "bad_body", "reply"},
    {400, "POST", "/v1/evaluations", "{\"problem\": \"silu\", \"reply\": \"a\", \"source\": \"b\"}",
     "bad_body", "reply"},
    {400, "POST", "/v1/evaluations",
     "{\"problem\": \"silu\", \"reply\": \"a\", \"set\": {\"python\": \"/bin/sh\"}}", "bad_setting",
     "set"},
    {400, "POST", "/v1/evaluations",
     "{\"problem\": \"silu\", \"reply\": \"a\", \"set\": {\"device\": \"cpu\"}}", "bad_setting",
     "set"},
    {400, "POST", "/v1/evaluations",
     "{\"problem\": \"silu\", \"reply\": \"a\", \"set\": {\"laws\": []}}", "bad_set", "set"},
    {400, "POST", "/v1/evaluations",
     "{\"problem\": \"silu\", \"reply\": \"a\", \"preset\": \"/x.yaml\"}", "bad_setting", "preset"},
    {400, "POST", "/v1/evaluations",
     "{\"problem\": \"silu\", \"reply\": \"a\", \"preset\": \"trian\", \"set\": {\"laws\": 2}}",
     "bad_setting", "preset"},
    {400, "POST", "/v1/evaluations",
     "{\"problem\": \"silu\", \"reply\": \"a\", \"rewards\": \"much\", \"set\": {\"laws\": 2}}",
     "bad_setting", "rewards"},
    {400, "POST", "/v1/evaluations",
     "{\"problem\": \"silu\", \"reply\": \"a\", \"priority\": \"urgent\"}", "bad_priority",
     "priority"},
    {400, "POST", "/v1/evaluations",
     "{\"problem\": \"silu\", \"reply\": \"a\", \"deadline_s\": -1}", "bad_deadline", "deadline_s"},
    {400, "POST", "/v1/evaluations?wait=1000", EMPTY, "bad_query", "wait"},
    {400, "POST", "/v1/evaluations?wiat=1", EMPTY, "bad_query", ""},
    {400, "GET", "/v1/evaluations?state=lost", "", "bad_query", "state"},
    {404, "GET", "/v1/evaluations/none", "", "not_found", ""},
    {404, "GET", "/v1/batches/none", "", "not_found", ""},
    {404, "GET", "/v2", "", "no_path", ""},
    {405, "PUT", "/v1/evaluations", "", "bad_method", ""},
    {400, "POST", "/v1/batches", "", "bad_body", ""},
    {400, "POST", "/v1/batches", "{\"id\": \"a\", \"problem\": \"silu\", \"reply_file\": \"x\"}",
     "bad_line", ""},
    {400, "POST", "/v1/worker/finish", "{\"id\": \"x\"}", "bad_finish", "outcome"},
    {409, "POST", "/v1/evaluations/x/requeue", "", "", ""},
};

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        int status = strstr(refused[i].path, "requeue") != NULL ? 404 : refused[i].status;
        json_t *j = svc_json(status, refused[i].method, refused[i].path, refused[i].body);
        if (refused[i].code[0] != '\0') {
            assert_string_equal(svc_text(j, "code"), refused[i].code);
            assert_string_equal(svc_text(j, "field"), refused[i].field);
        }
        assert_true(svc_text(j, "message")[0] != '\0');
        json_decref(j);
    }
    json_t *j = svc_json(200, "GET", "//v1///stats/", ""); /* slashes do not matter */
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "jobs"), "waiting")), 0);
    json_decref(j);
}

static void pages_of_other_sites_are_refused(void **state)
{
    static const struct {
        int status;
        const char *headers;
    } asked[] = {
        {200, "Host: localhost:10907\r\n"},
        {200, "Host: [::1]:10907\r\n"},
        {200, "Host: 127.0.0.1:10907\r\nOrigin: http://127.0.0.1:10907\r\n"},
        {403, "Host: 127.0.0.1:10907\r\nOrigin: http://127.0.0.1:10908\r\n"},
        {403, "Host: 127.0.0.1:10907\r\nOrigin: null\r\n"},
        {403, "Host: localhost.evil.example\r\n"},
        {403, "Host: evil.example:10907\r\nOrigin: http://evil.example:10907\r\n"},
        {403, "Host: 127.0.0.1:10907.evil.example\r\n"},
        {403, "Host: 127.0.0.1.evil.example\r\n"},
        {403, "Host: [::1].evil.example\r\n"},
    };
    (void)state;
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        char text[512];
        int n = snprintf(text, sizeof text, "GET /v1/live HTTP/1.1\r\n%sConnection: close\r\n\r\n",
                         asked[i].headers);
        int status = svc_raw(text, (size_t)n);
        if (status != asked[i].status) {
            fail_msg("%s: %d, not %d", asked[i].headers, status, asked[i].status);
        }
    }
    static const char old[] = "GET /v1/live HTTP/1.0\r\n\r\n"; /* no Host at all */
    assert_int_equal(svc_raw(old, sizeof old - 1), 200);
}

/* A new api process under a small limit of files, so that few clients are many. */
static void more_clients_than_files_are_refused(void **state)
{
    enum { FILES = 128, OPEN = FILES / 2, HELD = OPEN - OPEN / 8 }; /* the rest is for workers */
    const struct rlimit few = {.rlim_cur = 64, .rlim_max = FILES};
    struct kg_buf out;
    struct kg_err err = KG_ERR_INIT;
    char path[64];
    int held[HELD];
    (void)state;
    kg_buf_init(&out, 1 << 20);
    svc_start("--no-work");
    assert_int_equal(prlimit(svc_pid, RLIMIT_NOFILE, &few, NULL), 0);
    pid_t api = svc_child("serve-api");
    kill(api, SIGKILL);
    while (svc_child("serve-api") == api) {
        usleep(1000);
    }
    for (int i = 0; i < HELD; i++) {
        kg_buf_reset(&out);
        held[i] = svc_open("/v1/events", "Accept: text/event-stream\r\n");
        svc_read_until(held[i], ": kgym", &out);
    }
    assert_int_equal(svc_request("GET", "/v1/live", "", "", 0, &out), 503);
    assert_non_null(strstr(out.data, "\"busy\""));
    snprintf(path, sizeof path, "/proc/%d/limits", (int)svc_child("serve-api"));
    kg_buf_reset(&out);
    assert_int_equal(kg_file_read(path, &out, &err), KG_OK);
    const char *line = strstr(out.data, "Max open files");
    assert_non_null(line);
    assert_int_equal(atoi(line + strlen("Max open files")), FILES); /* the soft one */
    for (int i = 0; i < HELD; i++) {
        close(held[i]);
    }
    kg_buf_deinit(&out);
}

static void serving_others_needs_tokens(void **state)
{
    char command[512];
    (void)state;
    snprintf(command, sizeof command,
             "${KGYM_BUILD:-build/release}/kgym serve --host 0.0.0.0 --port 0 --folder %s/x "
             ">/dev/null 2>&1",
             svc_folder());
    int status = system(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
}

/* Its second service says so and ends, and does not try for ever. */
static void a_folder_has_one_service(void **state)
{
    char command[512], said[4096];
    (void)state;
    svc_start("--no-work");
    snprintf(command, sizeof command, "%s serve --no-work --port 0 --folder %s/store 2>&1",
             cobject_built("kgym"), svc_folder());
    FILE *f = popen(command, "r");
    assert_non_null(f);
    said[fread(said, 1, sizeof said - 1, f)] = '\0';
    int status = pclose(f);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
    const char *why = strstr(said, "another process serves this store");
    assert_non_null(why);
    assert_null(strstr(why + 1, "another"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, svc_setup, svc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_service_that_cannot_begin_tells_no_address),
        T(a_post_that_waits_gets_the_record),
        T(a_key_names_one_job),
        T(a_batch_has_keys_of_its_own),
        T(an_id_with_a_tail_is_no_id),
        T(all_that_was_accepted_is_answered_after_a_kill),
        T(a_cancelled_job_frees_its_worker),
        T(a_new_api_process_interrupts_nothing),
        T(what_was_accepted_is_answered_before_the_end),
        T(a_worker_hands_back_what_it_holds),
        T(an_interrupt_ends_all_in_order),
        T(a_killed_worker_is_replaced),
        T(a_job_that_fails_is_dead_and_comes_back),
        T(a_batch_comes_back_in_order),
        T(records_equal_those_of_a_batch),
        T(a_prompt_and_the_problems),
        T(events_are_sent_as_they_happen),
        T(what_is_wrong_is_refused),
        T(pages_of_other_sites_are_refused),
        T(more_clients_than_files_are_refused),
        T(serving_others_needs_tokens),
        T(a_folder_has_one_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
