/* Trajectories of the service: members that come back byte for byte, conversations through `kgym
 * serve`, their ends and their export. Replies are without code, so each turn takes milliseconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "svc/traj_text.h"
#include "tests/support/redis_server.h"
#include "tests/support/svc_rig.h"

#define OPEN "{\"problem\": \"silu\", \"max_turns\": 2, \"rewards\": \"ladder,dr-kernel\"%s}"
#define RAW                                                                                        \
    "{\"ids\": [12345678901234567890, 1],\r\n \"logp\":[1e-3 ,0.10,-0.0], \"t\": "                 \
    "\"\\u00e9\\ud800\"}"

enum { PATH = 256, PATIENCE_S = 240 };

/* --- cutting --- */

static void cut_is(const char *text, const char *value, const char *rest_wanted)
{
    static const char *const names[] = {"extra"};
    struct kg_svc_slice it;
    struct kg_buf rest;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&rest, 4096);
    enum kg_code code = kg_svc_traj_cut(text, strlen(text), names, 1, &it, &rest, &err);
    assert_int_equal(code, rest_wanted != NULL ? KG_OK : KG_E_USAGE);
    if (rest_wanted != NULL) {
        assert_string_equal(rest.data, rest_wanted);
        assert_int_equal(it.len, value != NULL ? strlen(value) : 0);
        assert_int_equal(it.at != NULL, value != NULL);
        assert_memory_equal(it.at != NULL ? it.at : "", value != NULL ? value : "", it.len);
    }
    kg_buf_deinit(&rest);
}

static void a_member_is_cut_out(void **state)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "{\"a\":01}",
                                      "{\"a\":1,}",
                                      "{\"a\":[1,]}",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12\"}",
                                      "{\"a\":.5}",
                                      "{\"a\":1.}",
                                      "{\"a\":1e}",
                                      "{\"a\":nul}",
                                      "{a:1}",
                                      "{\"a\" 1}",
                                      "{\"a\":1} x",
                                      "{\"a\":\"\n\"}",
                                      "{\"a\":\"\xff\"}",
                                      "{\"a\":{\"b\":1]}",
                                      "{\"a\":-}",
                                      "{\"a\":\"b}"};
    char deep[400];
    (void)state;
    cut_is("{\"n\":1, \"extra\" : " RAW "  }", RAW, "{\"n\":1,\"extra\":null}");
    cut_is(" { } ", NULL, "{}");
    cut_is("{\"a\": {\"extra\": 1}}", NULL, "{\"a\":{\"extra\": 1}}");
    cut_is("{\"extr\\u0061\": [ ], \"b\": 0.10}", "[ ]", "{\"extr\\u0061\":null,\"b\":0.10}");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cut_is(bad[i], NULL, NULL);
    }
    snprintf(deep, sizeof deep, "{\"a\":%.*s%.*s}", 63,
             "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 63,
             "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    cut_is(deep, NULL, deep);
    snprintf(deep, sizeof deep, "{\"a\":%.*s", 300,
             "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
    cut_is(deep, NULL, NULL);
}

/* --- helpers of a conversation --- */

static void open_one(const char *more, char id[32])
{
    char body[512];
    snprintf(body, sizeof body, OPEN, more);
    json_t *j = svc_json(200, "POST", "/v1/trajectories", body);
    snprintf(id, 32, "%s", svc_text(j, "id"));
    assert_int_equal(strlen(id), 26);
    json_decref(j);
}

static json_t *turn(int status, const char *id, double wait, const char *body)
{
    char path[PATH];
    snprintf(path, sizeof path, "/v1/trajectories/%s/turns?wait=%g", id, wait);
    return svc_json(status, "POST", path, body);
}

static json_t *get_turn(int status, const char *id, int n, double wait)
{
    char path[PATH];
    snprintf(path, sizeof path, "/v1/trajectories/%s/turns/%d?wait=%g", id, n, wait);
    return svc_json(status, "GET", path, "");
}

static json_t *whole(const char *id)
{
    char path[PATH];
    snprintf(path, sizeof path, "/v1/trajectories/%s", id);
    return svc_json(200, "GET", path, "");
}

static int64_t number(const json_t *j, const char *name)
{
    assert_true(json_is_integer(json_object_get(j, name)));
    return json_integer_value(json_object_get(j, name));
}

static size_t jobs(void)
{
    json_t *j = svc_json(200, "GET", "/v1/evaluations?limit=1000", "");
    size_t n = json_array_size(json_object_get(j, "evaluations"));
    json_decref(j);
    return n;
}

static void text_holds(const char *path, const char *word)
{
    struct kg_buf out;
    kg_buf_init(&out, 64u << 20);
    assert_int_equal(svc_request("GET", path, "", "", 0, &out), 200);
    if (strstr(out.data, word) == NULL) {
        fail_msg("%s holds no %s: %.2000s", path, word, out.data);
    }
    kg_buf_deinit(&out);
}

/* --- a conversation --- */

static void check_answer(const json_t *j, int n, bool done)
{
    assert_string_equal(svc_text(j, "state"), "judged");
    assert_string_equal(svc_text(j, "verdict"), "no_code");
    assert_string_equal(svc_text(json_object_get(j, "record"), "schema"), "kgym.record/1");
    assert_true(json_number_value(json_object_get(j, "reward")) == -1.0);
    assert_int_equal(json_object_size(json_object_get(j, "rewards")), 2);
    assert_true(strlen(svc_text(j, "feedback")) > 20);
    assert_int_equal(number(j, "n"), n);
    assert_int_equal(number(j, "best"), 1);
    assert_int_equal(json_is_true(json_object_get(j, "done")), done);
}

static void check_whole(const char *id)
{
    static const char *const members[] = {"schema",        "id",     "group",  "problem",
                                          "configuration", "source", "system", "prompt",
                                          "turns",         "end",    "extra"};
    static const char *const of_turn[] = {"turn",       "reply",    "finish",  "record", "verdict",
                                          "reason",     "speedup",  "rewards", "shared", "feedback",
                                          "speedup_lo", "coverage", "extra"};
    char path[PATH];
    struct kg_buf out;
    kg_buf_init(&out, 64u << 20);
    snprintf(path, sizeof path, "/v1/trajectories/export");
    assert_int_equal(svc_request("GET", path, "", "", 0, &out), 200);
    char *line = strstr(out.data, id);
    assert_non_null(line);
    while (line > out.data && line[-1] != '\n') {
        line--;
    }
    *strchr(line, '\n') = '\0';
    assert_non_null(strstr(line, "[12345678901234567890, 1],   \"logp\":[1e-3 ,0.10,-0.0]"));
    assert_non_null(strstr(line, "\\u00e9\\ud800"));
    char *big = strstr(line, "12345678901234567890"); /* which no int64 holds, */
    memset(big + 10, ' ', 10);
    char *half = strstr(line, "\\ud800"); /* and half a pair is no text */
    memcpy(half, "\\u0041", 6);
    json_t *j = json_loads(line, 0, NULL);
    assert_non_null(j);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        assert_non_null(json_object_get(j, members[i]));
    }
    assert_string_equal(svc_text(j, "end"), "done");
    assert_string_equal(svc_text(j, "group"), "g");
    assert_int_equal(strlen(svc_text(json_object_get(j, "problem"), "hash")), 64);
    assert_int_equal(strlen(svc_text(j, "configuration")), 64);
    const json_t *turns = json_object_get(j, "turns");
    assert_int_equal(json_array_size(turns), 2);
    for (size_t t = 0; t < 2; t++) {
        const json_t *one = json_array_get(turns, t);
        for (size_t i = 0; i < sizeof of_turn / sizeof *of_turn; i++) {
            assert_non_null(json_object_get(one, of_turn[i]));
        }
        assert_int_equal(json_is_string(json_object_get(one, "feedback")), t == 0);
        assert_int_equal(strlen(svc_text(one, "record")), 64);
    }
    json_decref(j);
    kg_buf_deinit(&out);
}

static void converse(void)
{
    char id[32], again[32], path[PATH];
    open_one(", \"group\": \"g\", \"key\": \"k\", \"meta\": {\"seed\": 0.10}", id);
    open_one(", \"key\": \"k\", \"group\": \"g\", \"meta\": {\"seed\": 0.10}", again);
    assert_string_equal(id, again);
    json_decref(svc_json(409, "POST", "/v1/trajectories",
                         "{\"problem\": \"silu\", \"key\": \"k\", \"max_turns\": 3}"));
    json_decref(turn(409, id, 0, "{\"n\": 2, \"reply\": \"none\"}"));
    json_t *j = turn(200, id, 200, "{\"n\": 1, \"reply\": \"nothing\", \"extra\": " RAW "}");
    check_answer(j, 1, false);
    json_decref(j);
    j = turn(200, id, 0, "{\"n\": 1, \"reply\": \"nothing\", \"extra\": " RAW "}");
    check_answer(j, 1, false);
    json_decref(j);
    json_decref(turn(409, id, 0, "{\"n\": 1, \"reply\": \"other\", \"extra\": " RAW "}"));
    json_decref(turn(409, id, 0, "{\"n\": 1, \"reply\": \"nothing\"}"));
    assert_int_equal(jobs(), 1);
    snprintf(path, sizeof path, "/v1/trajectories/%s/turns/1", id);
    text_holds(path, "\"extra\":" RAW ",");
    j = svc_json(200, "POST", "/v1/trajectories", /* what it was opened with, and goes on from */
                 "{\"problem\": \"silu\", \"max_turns\": 2, \"rewards\": \"ladder,dr-kernel\","
                 " \"key\": \"k\", \"group\": \"g\", \"meta\": {\"seed\": 0.10}}");
    assert_int_equal(json_array_size(json_object_get(j, "messages")), 3);
    json_decref(j);
    j = turn(200, id, 200, "{\"n\": 2, \"reply\": \"still nothing\", \"finish\": \"length\"}");
    check_answer(j, 2, true);
    json_decref(j);
    json_decref(turn(409, id, 0, "{\"n\": 3, \"reply\": \"more\"}"));
    check_whole(id);
    snprintf(path, sizeof path, "/v1/trajectories/%s", id);
    text_holds(path, "\"meta\":{\"seed\": 0.10}");
}

static void a_conversation_is_judged_turn_by_turn(void **state)
{
    (void)state;
    svc_start("--jobs 1");
    converse();
}

static void the_same_in_redis(void **state)
{
    struct redis_server server;
    char options[256];
    (void)state;
    if (!redis_server_there()) {
        print_message("skipped: no redis-server is installed\n");
        skip();
    }
    redis_server_start(&server, NULL);
    snprintf(options, sizeof options, "--store %s --jobs 1", server.place);
    svc_start(options);
    converse();
    svc_end(SIGTERM);
    redis_server_end(&server);
}

/* But for what two evaluations of one reply differ in: id, secret key, times. */
static void strip(json_t *record)
{
    const char *name;
    json_t *value;
    void *next;
    size_t i;
    json_object_del(record, "id");
    json_object_foreach_safe(record, next, name, value)
    {
        json_object_del(value, "key");
        if (strcmp(name, "setup_ns") == 0) {
            json_object_del(record, name);
        }
    }
    json_array_foreach(json_object_get(record, "stages"), i, value)
    {
        json_object_del(value, "ns");
    }
}

static void a_record_is_that_of_an_evaluation(void **state)
{
    char id[32];
    (void)state;
    svc_start("--jobs 1");
    open_one("", id);
    json_t *a = turn(200, id, 200, "{\"n\": 1, \"reply\": \"nothing\"}");
    json_t *b = svc_json(200, "POST", "/v1/evaluations?wait=200",
                         "{\"problem\": \"silu\", \"reply\": \"nothing\","
                         " \"rewards\": \"ladder,dr-kernel\"}");
    json_t *one = json_object_get(a, "record"), *other = json_object_get(b, "record");
    strip(one);
    strip(other);
    char *x = json_dumps(one, JSON_SORT_KEYS), *y = json_dumps(other, JSON_SORT_KEYS);
    assert_string_equal(x, y);
    free(x);
    free(y);
    json_decref(a);
    json_decref(b);
}

/* --- faults --- */

static void a_turn_survives_a_kill(void **state)
{
    char id[32];
    (void)state;
    svc_start("--no-work");
    open_one("", id);
    json_t *j = turn(202, id, 0, "{\"n\": 1, \"reply\": \"nothing\"}");
    assert_string_equal(svc_text(j, "state"), "waiting");
    assert_true(json_is_null(json_object_get(j, "reward")));
    json_decref(j);
    json_decref(turn(409, id, 0, "{\"n\": 2, \"reply\": \"too early\"}"));
    assert_int_equal(svc_end(SIGKILL), -1);
    svc_start("--jobs 1");
    j = get_turn(200, id, 1, 200);
    check_answer(j, 1, false);
    assert_string_equal(svc_text(j, "reply"), "nothing");
    json_decref(j);
    assert_int_equal(jobs(), 1);
}

struct sender {
    const char *id;
    int status;
};

static void *send_turn(void *arg)
{
    static const char body[] = "{\"n\": 1, \"reply\": \"nothing\"}";
    struct sender *s = arg;
    char path[PATH];
    snprintf(path, sizeof path, "/v1/trajectories/%s/turns?wait=5", s->id);
    s->status = svc_request("POST", path, "", body, strlen(body), NULL);
    return NULL;
}

/* Sends turn 1 twice, the second time to wait, and cancels its evaluation. Returns the status of
 * the one that waited: 503, but for one that came after the end, and so made another job. */
static int lose_turn(const char *id, char job[32])
{
    struct sender s = {.id = id};
    pthread_t thread;
    char path[PATH];
    json_t *j = turn(202, id, 0, "{\"n\": 1, \"reply\": \"nothing\"}");
    assert_string_not_equal(svc_text(j, "evaluation"), job);
    snprintf(job, 32, "%s", svc_text(j, "evaluation"));
    json_decref(j);
    assert_int_equal(pthread_create(&thread, NULL, send_turn, &s), 0);
    usleep(100000);
    snprintf(path, sizeof path, "/v1/evaluations/%s", job);
    json_decref(svc_json(200, "DELETE", path, ""));
    pthread_join(thread, NULL);
    if (s.status != 503) { /* another job waits */
        j = get_turn(200, id, 1, 0);
        snprintf(path, sizeof path, "/v1/evaluations/%s", svc_text(j, "evaluation"));
        json_decref(j);
        json_decref(svc_json(200, "DELETE", path, ""));
    }
    return s.status;
}

/* What the gym could not judge has no reward, and is sent again. */
static void a_lost_turn_is_an_error_and_sent_again(void **state)
{
    char id[32], job[32] = "";
    (void)state;
    svc_start("--no-work");
    open_one("", id);
    int status = 0;
    for (int i = 0; i < 3 && status != 503; i++) {
        status = lose_turn(id, job);
    }
    assert_int_equal(status, 503);
    json_t *j = get_turn(200, id, 1, 0);
    assert_string_equal(svc_text(j, "state"), "lost");
    assert_string_equal(svc_text(json_object_get(j, "error"), "code"), "cancelled");
    assert_true(json_is_null(json_object_get(j, "reward")));
    assert_int_equal(json_object_size(json_object_get(j, "rewards")), 0);
    json_decref(j);
    json_decref(turn(409, id, 0, "{\"n\": 2, \"reply\": \"next\"}"));
    json_decref(turn(409, id, 0, "{\"n\": 1, \"reply\": \"other\"}"));
    j = turn(202, id, 0, "{\"n\": 1, \"reply\": \"nothing\"}");
    assert_string_not_equal(svc_text(j, "evaluation"), job);
    json_decref(j);
    svc_end(SIGTERM);
    svc_start("--jobs 1");
    j = get_turn(200, id, 1, 200);
    check_answer(j, 1, false);
    json_decref(j);
}

/* --- ends --- */

/* Lines of an export; last gets the id of the last one. */
static int export(const char *query, const char *member, json_t *seen, char last[32])
{
    char path[PATH];
    struct kg_buf out;
    int n = 0;
    kg_buf_init(&out, 64u << 20);
    snprintf(path, sizeof path, "/v1/trajectories/export%s", query);
    assert_int_equal(svc_request("GET", path, "", "", 0, &out), 200);
    assert_true(out.len == 0 || out.data[out.len - 1] == '\n');
    for (char *line = out.data, *next; *line != '\0'; line = next + 1, n++) {
        next = strchr(line, '\n');
        *next = '\0';
        json_t *j = json_loads(line, 0, NULL);
        assert_non_null(j); /* no torn line */
        snprintf(last, 32, "%s", svc_text(j, member));
        assert_null(json_object_get(seen, last)); /* no double one */
        json_object_set_new(seen, last, json_true());
        json_decref(j);
    }
    kg_buf_deinit(&out);
    return n;
}

static int exported(const char *query, const char *member)
{
    char last[32];
    json_t *seen = json_object();
    int n = export(query, member, seen, last);
    json_decref(seen);
    return n;
}

static void await_end(const char *id, const char *end)
{
    char now[16] = "";
    for (int64_t until = kg_clock_ns() + (int64_t)PATIENCE_S * 1000000000; strcmp(now, end) != 0;
         usleep(20000)) {
        json_t *j = whole(id);
        snprintf(now, sizeof now, "%s", svc_text(j, "end"));
        json_decref(j);
        assert_true(kg_clock_ns() < until);
    }
}

static void ends(void **state)
{
    char idle[32], open[32], busy[32], path[PATH];
    (void)state;
    svc_start("--no-work");
    open_one(", \"idle_s\": 0.1", idle);
    open_one("", open);
    open_one(", \"idle_s\": 0.1", busy);
    json_decref(turn(202, busy, 0, "{\"n\": 1, \"reply\": \"nothing\"}"));
    await_end(idle, "idle");
    json_decref(turn(409, idle, 0, "{\"n\": 1, \"reply\": \"late\"}"));
    json_t *j = whole(busy); /* it waits for its verdict, which is not its client's fault */
    assert_string_equal(svc_text(j, "end"), "open");
    json_decref(j);
    snprintf(path, sizeof path, "/v1/trajectories/%s", busy);
    json_decref(svc_json(409, "DELETE", path, ""));
    snprintf(path, sizeof path, "/v1/trajectories/%s?end=nonsense", open);
    json_decref(svc_json(400, "DELETE", path, ""));
    snprintf(path, sizeof path, "/v1/trajectories/%s?end=full", open);
    for (int i = 0; i < 2; i++) { /* the second one changes nothing */
        j = svc_json(200, "DELETE", path, "");
        assert_string_equal(svc_text(j, "end"), "full");
        json_decref(j);
        snprintf(path, sizeof path, "/v1/trajectories/%s", open);
    }
    json_decref(turn(409, open, 0, "{\"n\": 1, \"reply\": \"late\"}"));
    assert_int_equal(exported("", "id"), 0); /* no line without a turn: readers refuse it */
    j = svc_json(200, "GET", "/v1/trajectories?problem=silu&limit=2", "");
    assert_int_equal(json_array_size(json_object_get(j, "trajectories")), 2);
    assert_string_equal(svc_text(json_array_get(json_object_get(j, "trajectories"), 0), "id"),
                        busy);
    assert_string_equal(svc_text(j, "next"), open);
    json_decref(j);
}

/* The worker's side: three attempts at the one job fail, so it is dead. */
static void fail_the_job(void)
{
    for (int i = 0; i < 3; i++) {
        char body[512];
        json_t *j = svc_json(200, "POST", "/v1/worker/claim",
                             "{\"worker\": \"w\", \"devices\": [\"cpu\"], \"slots\": [{}]}");
        const json_t *claim = json_array_get(json_object_get(j, "claims"), 0);
        snprintf(body, sizeof body,
                 "{\"id\": \"%s\", \"claim\": \"%s\", \"fence\": %d, \"outcome\": \"failed\","
                 " \"error\": \"gym\", \"blame\": \"gym\", \"message\": \"m\"}",
                 svc_text(claim, "id"), svc_text(claim, "claim"), (int)number(claim, "fence"));
        json_decref(svc_json(200, "POST", "/v1/worker/finish", body));
        json_decref(j);
    }
}

static void is_lost_for_ever(const char *id)
{
    json_t *j = whole(id);
    const json_t *t = json_array_get(json_object_get(j, "turns"), 0);
    assert_string_equal(svc_text(j, "end"), "infra");
    assert_string_equal(svc_text(t, "state"), "lost");
    assert_string_equal(svc_text(t, "verdict"), "");
    assert_int_equal(json_object_size(json_object_get(t, "rewards")), 0);
    json_decref(j);
}

/* Its job is begun anew by hand: an export that was read must not be another one afterwards. */
static void what_has_ended_stays_as_it_is(void **state)
{
    char id[32], job[32], path[PATH];
    (void)state;
    svc_start("--no-work");
    open_one("", id);
    json_t *j = turn(202, id, 0, "{\"n\": 1, \"reply\": \"nothing\"}");
    snprintf(job, sizeof job, "%s", svc_text(j, "evaluation"));
    json_decref(j);
    fail_the_job();
    snprintf(path, sizeof path, "/v1/trajectories/%s", id);
    json_decref(svc_json(200, "DELETE", path, ""));
    is_lost_for_ever(id);
    snprintf(path, sizeof path, "/v1/evaluations/%s/requeue", job);
    json_decref(svc_json(200, "POST", path, ""));
    is_lost_for_ever(id);
    svc_end(SIGTERM);
    svc_start("--jobs 1");
    svc_await(job, "done");
    is_lost_for_ever(id);
}

/* --- the export --- */

enum { MANY = 24 };

static void *send_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < MANY; i++) {
        struct kg_buf out;
        char path[PATH], body[PATH];
        kg_buf_init(&out, 1u << 20);
        snprintf(body, sizeof body, "{\"problem\": \"%s\", \"max_turns\": 1}",
                 i % 2 ? "silu" : "axpby");
        svc_request("POST", "/v1/trajectories", "", body, strlen(body), &out);
        json_t *j = json_loads(out.data, 0, NULL);
        snprintf(path, sizeof path, "/v1/trajectories/%s/turns?wait=200", svc_text(j, "id"));
        json_decref(j);
        snprintf(body, sizeof body, "{\"n\": 1, \"reply\": \"nothing %d\"}", i);
        svc_request("POST", path, "", body, strlen(body), NULL);
        kg_buf_deinit(&out);
    }
    return NULL;
}

static void no_line_is_torn_or_doubled(void **state)
{
    pthread_t thread;
    char last[32] = "", query[PATH];
    json_t *seen = json_object();
    (void)state;
    svc_start("--jobs 1");
    assert_int_equal(pthread_create(&thread, NULL, send_many, NULL), 0);
    for (int64_t until = kg_clock_ns() + (int64_t)PATIENCE_S * 1000000000;
         json_object_size(seen) < MANY;) {
        snprintf(query, sizeof query, last[0] != '\0' ? "?after=%s" : "%s", last);
        export(query, "id", seen, last);
        assert_true(kg_clock_ns() < until);
        usleep(10000); /* jobs need this CPU, too */
    }
    pthread_join(thread, NULL);
    json_decref(seen);
    snprintf(query, sizeof query, "?after=%s", last);
    assert_int_equal(exported(query, "id"), 0);
    assert_int_equal(exported("", "id"), MANY);
    assert_int_equal(exported("?form=chat&problem=axpby", "id"), MANY / 2);
    assert_int_equal(exported("?form=turns&problem=silu&extra=no", "trajectory"), MANY / 2);
    assert_int_equal(exported("?verdict=no_code&reward=dr-kernel&least=0", "id"), MANY);
    assert_int_equal(exported("?reward=dr-kernel&least=0.01", "id"), 0);
    assert_int_equal(exported("?verdict=ok&form=turns", "trajectory"), 0);
}

static void bad_requests(void **state)
{
    static const struct {
        int status;
        const char *method, *path, *body, *field;
    } asked[] = {
        {400, "POST", "/v1/trajectories", "{\"problm\": \"silu\"}", "problm"},
        {400, "POST", "/v1/trajectories", "{\"problem\": \"../x.c\"}", "problem"},
        {404, "POST", "/v1/trajectories", "{\"problem\": \"sillu\"}", "problem"},
        {400, "POST", "/v1/trajectories", "{}", "problem"},
        {400, "POST", "/v1/trajectories", "{\"problem\": \"silu\", \"max_turns\": 0}", "max_turns"},
        {400, "POST", "/v1/trajectories", "{\"problem\": \"silu\", \"idle_s\": -1}", "idle_s"},
        {400, "POST", "/v1/trajectories", "{\"problem\": \"silu\", \"meta\": [1]}", "meta"},
        {400, "POST", "/v1/trajectories", "{\"problem\": \"silu\", \"set\": {\"python\": \"/x\"}}",
         "set"},
        {400, "POST", "/v1/trajectories", "{\"problem\": \"silu\", \"preset\": \"none\"}",
         "preset"},
        {400, "POST", "/v1/trajectories", "{\"problem\": 01}", ""},
        {404, "GET", "/v1/trajectories/01ARZ3NDEKTSV4RRFFQ69G5FAV", "", ""},
        {404, "GET", "/v1/trajectories/x", "", ""},
        {404, "POST", "/v1/trajectories/01ARZ3NDEKTSV4RRFFQ69G5FAV/turns",
         "{\"n\": 1, \"reply\": \"a\"}", ""},
        {404, "GET", "/v1/trajectories/01ARZ3NDEKTSV4RRFFQ69G5FAV/turns/1", "", ""},
        {400, "GET", "/v1/trajectories/export?form=none", "", "form"},
        {400, "GET", "/v1/trajectories/export?after=none", "", "after"},
        {400, "GET", "/v1/trajectories/export?least=much", "", "least"},
    };
    static const struct {
        int status;
        const char *body, *field;
    } turns[] = {{400, "{\"reply\": \"a\"}", "n"},
                 {400, "{\"n\": 1}", "reply"},
                 {400, "{\"n\": 1, \"reply\": 1}", "reply"},
                 {400, "{\"n\": \"1\", \"reply\": \"a\"}", "n"},
                 {400, "{\"n\": 65, \"reply\": \"a\"}", "n"},
                 {400, "{\"n\": 1, \"reply\": \"a\", \"extra\": [1]}", "extra"},
                 {400, "{\"n\": 1, \"reply\": \"a\", \"finish\": \"no\"}", "finish"},
                 {400, "{\"n\": 1, \"replyy\": \"a\"}", "replyy"}};
    char id[32];
    (void)state;
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        json_t *j = svc_json(asked[i].status, asked[i].method, asked[i].path, asked[i].body);
        assert_string_equal(svc_text(j, "field"), asked[i].field);
        json_decref(j);
    }
    open_one("", id);
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        json_t *j = turn(turns[i].status, id, 0, turns[i].body);
        assert_string_equal(svc_text(j, "field"), turns[i].field);
        json_decref(j);
    }
    const size_t most = 4u << 20;
    struct kg_buf body;
    kg_buf_init(&body, most + 4096);
    for (size_t more = 0; more < 2; more++) { /* 4 MiB are taken, one byte more is not */
        char *pad = malloc(most);
        memset(pad, 'x', most);
        kg_buf_reset(&body);
        kg_buf_adds(&body, "{\"n\": 1, \"reply\": \"a\", \"extra\": {\"a\":\"");
        kg_buf_add(&body, pad, most - strlen("{\"a\":\"\"}") + 1 - more);
        kg_buf_adds(&body, "\"}}");
        json_decref(turn(more == 0 ? 413 : 202, id, 0, body.data));
        free(pad);
    }
    kg_buf_deinit(&body);
    assert_int_equal(jobs(), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, svc_setup, svc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_cut_out),
        T(a_conversation_is_judged_turn_by_turn),
        T(the_same_in_redis),
        T(a_record_is_that_of_an_evaluation),
        T(a_turn_survives_a_kill),
        T(a_lost_turn_is_an_error_and_sent_again),
        T(ends),
        T(what_has_ended_stays_as_it_is),
        T(no_line_is_torn_or_doubled),
        T(bad_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
