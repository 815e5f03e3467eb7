/* Trainers at a service that runs: POST /v1/reward, feedback, and the Python clients. The replies
 * hold no code, so that they are judged in milliseconds; preset `ladder` pays -1 for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>

#include "base/clock.h"
#include "tests/support/svc_rig.h"

#define SLIME  "{\"prompt\": \"p\", \"response\": \"nothing\", \"label\": \"silu\"}"
#define REWARD "/v1/reward?reward=ladder"

/* A scalar is an answer too. */
static double number_of(const char *path, const char *body)
{
    struct kg_buf out;
    char *end;
    kg_buf_init(&out, 1 << 16);
    int status = svc_request("POST", path, "", body, strlen(body), &out);
    if (status != 200) {
        fail_msg("%d: %s", status, out.data);
    }
    double x = strtod(out.data, &end);
    assert_true(end > out.data);
    kg_buf_deinit(&out);
    return x;
}

static int64_t jobs_in(const char *state)
{
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    int64_t n = json_integer_value(json_object_get(json_object_get(j, "jobs"), state));
    json_decref(j);
    return n;
}

static void slime_gets_a_number(void **state)
{
    (void)state;
    svc_start("--jobs 1");
    assert_true(number_of(REWARD, SLIME) == -1);
    assert_true(number_of(REWARD, SLIME) == -1);
    assert_int_equal(jobs_in("done"), 1);
    assert_true(number_of("/v1/reward?reward=binary&preset=quick", SLIME) == 0);
    assert_int_equal(jobs_in("done"), 2);
}

/* The prompt holds an example that compiles, for which `ladder` would pay more. */
static void an_example_in_a_prompt_is_not_judged(void **state)
{
    (void)state;
    static const char prompt[] =
        "write silu\\n```c\\nvoid silu(const float *x, float *y, long n) {}"
        "\\n```\\n";
    char body[2048];
    snprintf(body, sizeof body,
             "{\"query\": [\"<s>%snothing\", \"%sno\"], \"prompts\": [\"%s\", \"%s\"],"
             "\"labels\": [\"silu\", \"silu\"]}",
             prompt, prompt, prompt, prompt);
    svc_start("--jobs 1");
    json_t *j = svc_json(200, "POST", REWARD, body);
    const json_t *rewards = json_object_get(j, "rewards");
    assert_int_equal(json_array_size(rewards), 2);
    assert_true(json_number_value(json_array_get(rewards, 0)) == -1);
    assert_true(json_number_value(json_array_get(rewards, 1)) == -1);
    assert_true(json_equal(rewards, json_object_get(j, "scores")));
    json_decref(j);
}

static void a_retry_joins_its_job(void **state)
{
    (void)state;
    svc_start("--no-work");
    for (int i = 0; i < 3; i++) {
        json_t *j = svc_json(503, "POST", REWARD "&wait=0.01", SLIME);
        assert_string_equal(svc_text(j, "code"), "no_reward");
        json_decref(j);
    }
    assert_int_equal(jobs_in("waiting"), 1);
    assert_int_equal(svc_end(SIGKILL), -1);
    svc_start("--jobs 1");
    assert_true(number_of(REWARD, SLIME) == -1);
    assert_int_equal(jobs_in("done"), 1);
}

/* Two items and room for one: neither waits. Known ones need no room of their own. */
static void a_full_queue_takes_all_items_or_none(void **state)
{
    static const char two[] = "{\"query\": [\"pa\", \"pb\"], \"prompts\": [\"p\", \"p\"],"
                              " \"labels\": [\"silu\", \"silu\"]}";
    (void)state;
    svc_start("--no-work --queue-limit 2");
    json_decref(svc_json(503, "POST", REWARD "&wait=0", SLIME));
    json_decref(svc_json(429, "POST", REWARD "&wait=0", two));
    assert_int_equal(jobs_in("waiting"), 1);
    json_decref(svc_json(503, "POST", REWARD "&wait=0", SLIME));
    assert_int_equal(svc_end(SIGTERM), 0);
    svc_start("--no-work --queue-limit 3");
    json_decref(svc_json(503, "POST", REWARD "&wait=0", two));
    assert_int_equal(jobs_in("waiting"), 3);
    json_decref(svc_json(503, "POST", REWARD "&wait=0", two));
    assert_int_equal(jobs_in("waiting"), 3);
}

static double seconds_of(int status, const char *path)
{
    int64_t begun = kg_clock_ns();
    json_decref(svc_json(status, "POST", path, SLIME));
    return (double)(kg_clock_ns() - begun) / 1e9;
}

/* A trainer that is refused asks again a second later, and only five times. */
static void a_refusal_for_want_of_room_takes_its_time(void **state)
{
    (void)state;
    svc_start("--no-work --queue-limit 1");
    json_decref(
        svc_json(202, "POST", "/v1/evaluations", "{\"problem\": \"silu\", \"reply\": \"a\"}"));
    assert_true(seconds_of(429, REWARD "&wait=2") >= 1.9);
    assert_true(seconds_of(429, REWARD "&wait=0") < 1.9);
    double s = seconds_of(429, REWARD);
    assert_true(s >= 9.9 && s < 60);
}

/* A job that ended without a verdict is no reward, neither 0; the next request has it judged anew,
 * however often that was so. */
static void what_was_lost_is_judged_anew(void **state)
{
    char path[64];
    (void)state;
    svc_start("--no-work");
    json_decref(svc_json(503, "POST", REWARD "&wait=0", SLIME));
    for (int i = 1; i <= 12; i++) {
        json_t *j = svc_json(200, "GET", "/v1/evaluations?state=waiting", "");
        const json_t *job = json_array_get(json_object_get(j, "evaluations"), 0);
        snprintf(path, sizeof path, "/v1/evaluations/%s", svc_text(job, "id"));
        json_decref(svc_json(200, "DELETE", path, ""));
        json_decref(j);
        json_decref(svc_json(503, "POST", REWARD "&wait=0", SLIME));
        assert_int_equal(jobs_in("cancelled"), i);
        assert_int_equal(jobs_in("waiting"), 1);
        json_decref(svc_json(503, "POST", REWARD "&wait=0", SLIME));
        assert_int_equal(jobs_in("waiting"), 1);
    }
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *path, *body, *field;
    } bad[] = {
        {400, REWARD, "{", ""},
        {400, REWARD, "{\"response\": \"x\", \"label\": \"a/b.c\"}", "label"},
        {400, REWARD, "{\"query\": [\"a\"], \"prompts\": [\"b\"], \"labels\": [\"silu\"]}",
         "query.0"},
        {404, REWARD, "{\"response\": \"x\", \"label\": \"sillu\"}", "problem"},
        {400, "/v1/reward?reward=binary,ladder", SLIME, "reward"},
        {400, "/v1/reward?reward=none", SLIME, NULL},
        {400, "/v1/reward?preset=kernelbench", SLIME, "preset"},
        {400, "/v1/reward?wait=101", SLIME, "wait"},
        {400, "/v1/reward?more=1", SLIME, ""},
    };
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *j = svc_json(bad[i].status, "POST", bad[i].path, bad[i].body);
        if (bad[i].field && strcmp(svc_text(j, "field"), bad[i].field) != 0) {
            fail_msg("%s %s: %s", bad[i].path, bad[i].body, svc_text(j, "field"));
        }
        assert_true(strlen(svc_text(j, "message")) > 0);
        json_decref(j);
    }
    assert_int_equal(jobs_in("waiting"), 0);
}

static void feedback_of_a_judged_reply(void **state)
{
    char path[96];
    (void)state;
    svc_start("--jobs 1");
    json_t *j = svc_json(200, "POST", "/v1/evaluations?wait=200",
                         "{\"problem\": \"silu\", \"reply\": \"nothing\"}");
    snprintf(path, sizeof path, "/v1/evaluations/%s/feedback", svc_text(j, "id"));
    json_t *told = svc_json(200, "GET", path, "");
    assert_non_null(strstr(svc_text(told, "feedback"), "silu"));
    json_decref(told);
    json_decref(j);
    json_decref(svc_json(404, "GET", "/v1/evaluations/none/feedback", ""));
    assert_int_equal(svc_end(SIGTERM), 0);
    svc_start("--no-work");
    j = svc_json(202, "POST", "/v1/evaluations", "{\"problem\": \"silu\", \"reply\": \"other\"}");
    snprintf(path, sizeof path, "/v1/evaluations/%s/feedback", svc_text(j, "id"));
    json_decref(svc_json(409, "GET", path, ""));
    json_decref(j);
}

static void the_clients_speak_to_it(void **state)
{
    char command[1024], text[8192];
    const char *tree = getenv("KGYM_TREE");
    (void)state;
    svc_start("--jobs 2");
    snprintf(command, sizeof command,
             "python3 -B '%s/tests/clients/check_serve.py' http://127.0.0.1:%d 2>&1",
             tree ? tree : ".", svc_port);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    if (pclose(f) != 0 || !strstr(text, "OK\n")) {
        fail_msg("%s", text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slime_gets_a_number, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(an_example_in_a_prompt_is_not_judged, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(a_retry_joins_its_job, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(a_full_queue_takes_all_items_or_none, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(a_refusal_for_want_of_room_takes_its_time, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(what_was_lost_is_judged_anew, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(bad_requests_are_refused, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(feedback_of_a_judged_reply, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(the_clients_speak_to_it, svc_setup, svc_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
