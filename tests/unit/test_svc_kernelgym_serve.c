/* KernelGYM's clients at a service that runs. The test is the worker: it claims jobs over HTTP and
 * answers with records of its own, so nothing is judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "tests/support/svc_rig.h"

#define OK_RECORD                                                                                  \
    "\"verdict\": \"ok\", \"speedup\": {\"ratio\": 2.0, \"pairs\": 9}, \"timing\": {\"status\": "  \
    "\"measured\", \"candidate_ns\": 400000, \"reference_ns\": 800000, \"shortest_ns\": 100000}"
#define SYNTAX_RECORD                                                                              \
    "\"verdict\": \"compile_error\", \"reason\": \"syntax\", \"message\": \"line 2: bad\""

/* A request: the id and more members, which begin with a comma. */
static const char *ask(const char *id, const char *more)
{
    static char text[2048];
    snprintf(text, sizeof text,
             "{\"task_id\": \"%s\", \"reference_code\": \"class Model: pass\\nclass Net: pass\", "
             "\"kernel_code\": \"class ModelNew: pass\\nclass NetNew: pass\"%s}",
             id, more);
    return text;
}

static int64_t jobs_in(const char *state)
{
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    int64_t n = json_integer_value(json_object_get(json_object_get(j, "jobs"), state));
    json_decref(j);
    return n;
}

/* The next job. The caller frees it. */
static json_t *claim(void)
{
    json_t *j = svc_json(200, "POST", "/v1/worker/claim",
                         "{\"worker\": \"stub\", \"devices\": [\"torch\"], \"slots\": "
                         "[{\"lane\": \"\", \"held_ms\": 0}], \"wait_s\": 20}");
    json_t *one = json_incref(json_array_get(json_object_get(j, "claims"), 0));
    json_decref(j);
    assert_non_null(one);
    return one;
}

/* Answers a claim with these members of a record; as the gym does, the tag comes back in it. */
static void finish(json_t *claimed, const char *members, int status)
{
    char record[4096];
    char *tag =
        json_dumps(json_object_get(json_object_get(claimed, "task"), "tag"), JSON_ENCODE_ANY);
    assert_non_null(tag);
    snprintf(record, sizeof record,
             "{\"schema\": \"kgym.record/1\", \"batch_id\": %s, \"error\": null, \"compiled\": "
             "true, %s}",
             tag, members);
    json_t *j =
        json_pack("{s:O, s:O, s:O, s:s, s:s, s:s}", "id", json_object_get(claimed, "id"), "claim",
                  json_object_get(claimed, "claim"), "fence", json_object_get(claimed, "fence"),
                  "outcome", "finished", "record", record, "verdict", "ok");
    char *body = json_dumps(j, 0);
    json_decref(svc_json(status, "POST", "/v1/worker/finish", body));
    free(body);
    free(tag);
    json_decref(j);
    json_decref(claimed);
}

static void status_is(const char *path, const char *status)
{
    json_t *j = svc_json(200, "GET", path, "");
    assert_string_equal(svc_text(j, "status"), status);
    assert_int_equal(json_object_get(j, "error_message") != NULL, strcmp(status, "failed") == 0);
    json_decref(j);
}

/* The id of such a batch is longer than others are; its stream ends all the same. */
static void records_of_its_batch_end(void)
{
    char path[256];
    struct kg_buf out;
    kg_buf_init(&out, 1 << 20);
    json_t *j = svc_json(200, "GET", "/v1/evaluations", "");
    const json_t *job = json_array_get(json_object_get(j, "evaluations"), 0);
    snprintf(path, sizeof path, "/v1/batches/%s/records", svc_text(job, "batch"));
    assert_int_equal(svc_request("GET", path, "", "", 0, &out), 200);
    assert_non_null(strstr(out.data, "kgym.record/1"));
    json_decref(j);
    kg_buf_deinit(&out);
}

#define POLLS ", \"detect_decoy_kernel\": true"

static void a_polling_client_gets_its_result(void **state)
{
    (void)state;
    svc_start("--no-work");
    json_t *j = svc_json(200, "POST", "/evaluate", ask("t", POLLS ", \"uuid\": \"u\""));
    assert_int_equal(json_object_size(j), 14);
    assert_string_equal(svc_text(j, "status"), "pending");
    json_decref(j);
    status_is("/status/t", "pending");
    json_decref(svc_json(404, "GET", "/results/t", ""));
    json_decref(svc_json(404, "GET", "/status/other", ""));
    json_decref(svc_json(200, "POST", "//evaluate/", ask("t", POLLS ", \"uuid\": \"u\"")));
    assert_int_equal(jobs_in("waiting"), 1);

    assert_int_equal(svc_end(SIGKILL), -1); /* accepted is accepted */
    svc_start("--no-work");
    status_is("/status/t", "pending");
    json_t *claimed = claim();
    const json_t *task = json_object_get(claimed, "task");
    assert_string_equal(svc_text(task, "problem"), "kernelgym.py");
    assert_true(json_is_true(json_object_get(task, "source")));
    status_is("/status/t", "processing");
    finish(claimed, OK_RECORD, 200);
    status_is("/status/t", "completed");
    j = svc_json(200, "GET", "/results/t", "");
    assert_int_equal(json_object_size(j), 14);
    assert_true(json_number_value(json_object_get(j, "speedup")) == 2);
    const json_t *m = json_object_get(j, "metadata");
    assert_string_equal(svc_text(m, "uuid"), "u");
    assert_string_equal(svc_text(m, "backend"), "triton");
    assert_int_equal(strlen(svc_text(m, "content_key")), 64);
    json_t *again = svc_json(200, "POST", "/evaluate", ask("t", POLLS ", \"uuid\": \"u\""));
    assert_true(json_equal(j, again));
    json_decref(again);
    json_decref(j);
    assert_int_equal(jobs_in("done"), 1);
    records_of_its_batch_end();
}

#define FIFTY "12345678901234567890123456789012345678901234567890"
#define LONG  FIFTY FIFTY FIFTY

/* A record says nothing about them, and the same task asked rightly is another one. The long texts
 * leave no room for all that is repeated. */
static void resources_that_are_not_here_fail_for_who_polls(void **state)
{
    static const struct {
        const char *id, *members, *code;
    } asked[] = {
        {"a", POLLS ", \"resources\": {\"gpus\": 4}", "RESOURCE_ERROR"},
        {"b", POLLS ", \"resources\": {\"gpus\": 0}, \"uuid\": \"" LONG "\"", "VALIDATION_ERROR"},
    };
    char path[64];
    (void)state;
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        json_decref(svc_json(200, "POST", "/evaluate", ask(asked[i].id, asked[i].members)));
        finish(claim(), OK_RECORD, 200);
        snprintf(path, sizeof path, "/status/%s", asked[i].id);
        status_is(path, "failed");
        snprintf(path, sizeof path, "/results/%s", asked[i].id);
        json_t *j = svc_json(200, "GET", path, "");
        assert_string_equal(svc_text(j, "error_code"), asked[i].code);
        assert_non_null(strstr(svc_text(j, "error_message"), "resources.gpus"));
        assert_string_equal(svc_text(json_object_get(j, "metadata"), "backend"), "triton");
        json_decref(j);
        json_decref(svc_json(200, "POST", "/evaluate", ask(asked[i].id, POLLS)));
        finish(claim(), OK_RECORD, 200);
        snprintf(path, sizeof path, "/status/%s", asked[i].id);
        status_is(path, "completed");
    }
}

static void other_content_is_another_generation(void **state)
{
    (void)state;
    svc_start("--no-work");
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS)));
    json_t *first = claim();
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS ", \"num_perf_trials\": 5")));
    assert_int_equal(jobs_in("cancelled"), 1);
    finish(first, OK_RECORD, 409); /* the older one has no say any more */
    status_is("/status/t", "pending");
    finish(claim(), SYNTAX_RECORD, 200);
    json_t *j = svc_json(200, "GET", "/status/t", "");
    assert_string_equal(svc_text(j, "error_message"), "Kernel compilation failed: line 2: bad");
    json_decref(j);
    json_decref(svc_json(200, "POST", "/evaluate",
                         ask("t", POLLS ", \"force_refresh\": true"
                                        ", \"num_perf_trials\": 5")));
    status_is("/status/t", "pending");
    json_decref(svc_json(200, "POST", "/evaluate", ask("u", POLLS)));
    assert_int_equal(jobs_in("waiting"), 2);
}

/* A claim that fails by a fault of the host. */
static void fail_claim(json_t *claimed)
{
    json_t *j = json_pack(
        "{s:O, s:O, s:O, s:s, s:s, s:s, s:s}", "id", json_object_get(claimed, "id"), "claim",
        json_object_get(claimed, "claim"), "fence", json_object_get(claimed, "fence"), "outcome",
        "failed", "error", "host", "blame", "host", "message", "m");
    char *body = json_dumps(j, 0);
    json_decref(svc_json(200, "POST", "/v1/worker/finish", body));
    free(body);
    json_decref(j);
    json_decref(claimed);
}

static void a_task_that_was_lost_is_judged_anew(void **state)
{
    (void)state;
    svc_start("--no-work");
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS)));
    json_decref(svc_json(200, "DELETE", "/tasks/t", ""));
    status_is("/status/t", "failed");
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS)));
    status_is("/status/t", "pending");
    for (int i = 0; i < 3; i++) {
        fail_claim(claim());
    }
    assert_int_equal(jobs_in("dead"), 1);
    status_is("/status/t", "failed");
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS)));
    finish(claim(), OK_RECORD, 200);
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS)));
    status_is("/status/t", "completed");
    assert_int_equal(jobs_in("done"), 1);
}

static void a_cancelled_task_stays_so(void **state)
{
    (void)state;
    svc_start("--no-work");
    json_decref(svc_json(200, "POST", "/evaluate", ask("a/b c", POLLS)));
    status_is("/status/a%2Fb%20c", "pending");
    status_is("/status/a/b%20c", "pending");
    json_t *j = svc_json(200, "DELETE", "/tasks/a/b%20c", "");
    assert_string_equal(svc_text(j, "message"), "Task a/b c cancelled successfully");
    json_decref(j);
    json_decref(svc_json(404, "DELETE", "/tasks/a/b%20c", ""));
    j = svc_json(200, "GET", "/results/a/b%20c", "");
    assert_string_equal(svc_text(j, "status"), "failed");
    assert_string_equal(svc_text(j, "error_message"), "Task cancelled");
    json_decref(j);
    status_is("/status/a/b%20c", "failed");
    json_decref(svc_json(404, "DELETE", "/tasks/none", ""));
}

/* A process that judges n jobs, one after the other. */
static pid_t judge(int n)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (int i = 0; i < n; i++) {
            finish(claim(), OK_RECORD, 200);
        }
        _exit(0);
    }
    return pid;
}

static void ends_well(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_post_waits_for_its_result(void **state)
{
    char body[4096], one[2048];
    (void)state;
    svc_start("--no-work");
    pid_t pid = judge(4);
    json_t *j = svc_json(200, "POST", "/evaluate", ask("one", ""));
    assert_string_equal(svc_text(j, "status"), "completed");
    json_decref(j);
    snprintf(body, sizeof body, "{\"task_id\": \"two\", \"payload\": %s}", ask("x", ""));
    j = svc_json(200, "POST", "/workflow/submit", body);
    assert_string_equal(svc_text(j, "task_id"), "two");
    assert_true(json_is_true(json_object_get(json_object_get(j, "result"), "correctness")));
    json_decref(j);
    json_decref(svc_json(200, "GET", "/workflow/results/two", ""));
    snprintf(one, sizeof one, "%s", ask("b1", ""));
    snprintf(body, sizeof body, "{\"batch_id\": \"b\", \"tasks\": [%s, %s]}", one, ask("b2", ""));
    j = svc_json(200, "POST", "/evaluate/batch", body);
    const json_t *results = json_object_get(j, "results");
    assert_string_equal(svc_text(json_array_get(results, 0), "task_id"), "b1");
    assert_string_equal(svc_text(json_array_get(results, 1), "task_id"), "b2");
    assert_int_equal(json_integer_value(json_object_get(j, "completed_tasks")), 2);
    json_decref(j);
    ends_well(pid);
}

/* A failed task would be the client's penalty for a candidate that was judged well. */
static void what_cannot_be_read_is_no_failed_task(void **state)
{
    char command[256];
    (void)state;
    svc_start("--no-work");
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS)));
    finish(claim(), OK_RECORD, 200);
    status_is("/status/t", "completed");
    snprintf(command, sizeof command, "mv %s/store/segments %s/away", svc_folder(), svc_folder());
    assert_int_equal(system(command), 0);
    json_decref(svc_json(503, "GET", "/status/t", ""));
    json_decref(svc_json(503, "GET", "/results/t", ""));
    json_t *j = svc_json(503, "POST", "/evaluate", ask("t", POLLS));
    assert_non_null(strstr(svc_text(j, "detail"), "ask again"));
    json_decref(j);
    json_decref(svc_json(503, "POST", "/evaluate", ask("t", "")));
    snprintf(command, sizeof command, "mv %s/away %s/store/segments", svc_folder(), svc_folder());
    assert_int_equal(system(command), 0);
    status_is("/status/t", "completed");
}

static void what_cannot_be_judged_gets_no_job(void **state)
{
    char body[4096], one[2048];
    (void)state;
    svc_start("--no-work");
    json_t *j = svc_json(200, "POST", "/evaluate", ask("t", ", \"entry_point\": \"Other\""));
    assert_int_equal(json_object_size(j), 14);
    assert_string_equal(svc_text(j, "status"), "failed");
    assert_string_equal(svc_text(j, "error_code"), "VALIDATION_ERROR");
    assert_string_equal(svc_text(json_object_get(j, "metadata"), "fault"), "reference");
    assert_int_equal(strlen(svc_text(json_object_get(j, "metadata"), "content_key")), 64);
    json_decref(j);
    pid_t pid = judge(1);
    snprintf(one, sizeof one, "%s", ask("b1", ", \"entry_point\": \"Other\""));
    snprintf(body, sizeof body, "{\"batch_id\": \"b\", \"tasks\": [%s, %s]}", one, ask("b2", ""));
    j = svc_json(200, "POST", "/evaluate/batch", body);
    const json_t *results = json_object_get(j, "results");
    assert_string_equal(svc_text(json_array_get(results, 0), "status"), "failed");
    assert_string_equal(svc_text(json_array_get(results, 1), "status"), "completed");
    json_decref(j);
    ends_well(pid);
    assert_int_equal(jobs_in("done"), 1);
    assert_int_equal(jobs_in("waiting"), 0);
    json_decref(svc_json(200, "POST", "/evaluate", ask("p", POLLS ", \"entry_point\": \"Other\"")));
    status_is("/status/p", "pending");
}

/* These clients take any refusal but 503 for a failed task. A batch waits whole, or not at all. */
static void a_full_queue_takes_a_batch_whole_or_not_at_all(void **state)
{
    char one[1024], body[4096];
    (void)state;
    svc_start("--no-work --queue-limit 2");
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS)));
    snprintf(one, sizeof one, "%s", ask("b1", ""));
    snprintf(body, sizeof body, "{\"batch_id\": \"b\", \"tasks\": [%s, %s]}", one, ask("b2", ""));
    json_t *j = svc_json(503, "POST", "/evaluate/batch", body);
    assert_non_null(strstr(svc_text(j, "detail"), "1 jobs wait already: ask again"));
    json_decref(j);
    assert_int_equal(jobs_in("waiting"), 1);
    json_decref(svc_json(200, "POST", "/evaluate", ask("u", POLLS)));
    json_decref(svc_json(503, "POST", "/evaluate", ask("v", POLLS)));
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS))); /* it is there */
    assert_int_equal(jobs_in("waiting"), 2);
}

static void another_class_makes_a_row(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *row;
    (void)state;
    svc_start("--no-work");
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS ", \"entry_point\": \"Net\"")));
    json_t *claimed = claim();
    const json_t *task = json_object_get(claimed, "task");
    const char *text = svc_text(task, "problem_text");
    assert_string_equal(svc_text(task, "problem"), "kernelgym.jsonl#1");
    assert_int_equal(kg_json_parse(text, strlen(text), "row", &row, &err), KG_OK);
    assert_string_equal(svc_text(row, "entry_point"), "Net");
    assert_non_null(strstr(svc_text(row, "python_code"), "class Net"));
    json_decref(row);
    json_decref(claimed);
}

static void refusals_and_the_server_itself(void **state)
{
    struct kg_buf out;
    (void)state;
    svc_start("--no-work");
    kg_buf_init(&out, 1 << 16);
    const char *body = "{\"task_id\": \"t\", \"reference_code\": \"class Secret: pass\"}";
    assert_int_equal(svc_request("POST", "/evaluate", "", body, strlen(body), &out), 400);
    assert_non_null(strstr(out.data, "VALIDATION_ERROR"));
    assert_null(strstr(out.data, "Secret"));
    kg_buf_deinit(&out);
    json_t *j = svc_json(400, "POST", "/evaluate", ask("t", ", \"workflow\": \"other\""));
    assert_true(strlen(svc_text(j, "detail")) > 0);
    json_decref(j);
    j = svc_json(200, "POST", "/debug/validate", ask("t", ""));
    assert_true(json_is_true(json_object_get(j, "valid")));
    json_decref(j);
    assert_int_equal(jobs_in("waiting"), 0);
    json_decref(svc_json(200, "POST", "/evaluate", ask("t", POLLS)));
    j = svc_json(200, "GET", "/health", "");
    assert_string_equal(svc_text(j, "status"), "healthy");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(j, "queue_status"), "pending")), 1);
    json_decref(j);
    j = svc_json(200, "GET", "/queue/status", "");
    assert_int_equal(json_integer_value(json_object_get(j, "pending")), 1);
    json_decref(j);
    j = svc_json(200, "GET", "/", "");
    assert_string_equal(svc_text(j, "name"), "KernelGYM");
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_polling_client_gets_its_result, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(resources_that_are_not_here_fail_for_who_polls, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(other_content_is_another_generation, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(a_task_that_was_lost_is_judged_anew, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_task_stays_so, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(a_post_waits_for_its_result, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_no_failed_task, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_judged_gets_no_job, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(a_full_queue_takes_a_batch_whole_or_not_at_all, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(another_class_makes_a_row, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(refusals_and_the_server_itself, svc_setup, svc_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
