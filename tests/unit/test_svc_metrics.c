/* What monitoring sees: the text of /metrics as Prometheus takes it, KernelGYM's JSON, and
 * KernelGYM's workers, nodes and monitoring (T4, T5, T9, T18 and T19 of that protocol). Jobs are
 * judged by a worker that is this test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ctype.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "svc/metrics.h"
#include "tests/support/cobject.h"
#include "tests/support/svc_rig.h"
#include "tests/support/svc_stub.h"

#define PROMETHEUS                                                                                 \
    "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,"     \
    "*/*;q=0.1\r\n"

static void submit(const char *problem)
{
    char body[128];
    snprintf(body, sizeof body, "{\"problem\": \"%s\", \"reply\": \"r\"}", problem);
    json_decref(svc_json(202, "POST", "/v1/evaluations", body));
}

static void judge(const char *record, const char *verdict)
{
    submit("silu");
    svc_stub_finish(svc_stub_claim("cpu"), record, verdict, 200);
}

/* --- the text --- */

/* NAME{LABEL="VALUE",...} NUMBER, or a comment: HELP, then TYPE, before the first line of a name.
 */
static void line_is_whole(const char *line, size_t n)
{
    size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz_");
    const char *at = line + name;
    if (line[0] == '#') {
        assert_true(strncmp(line, "# HELP kgym_", 12) == 0 ||
                    strncmp(line, "# TYPE kgym_", 12) == 0);
        return;
    }
    assert_true(strncmp(line, "kgym_", 5) == 0);
    if (*at == '{') {
        do {
            at++;
            size_t label = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
            assert_true(label > 0 && strncmp(at + label, "=\"", 2) == 0);
            for (at += label + 2; *at != '"'; at++) {
                at += *at == '\\';
                assert_true(at < line + n && *at != '\n');
            }
            at++;
        } while (*at == ',');
        assert_true(*at++ == '}');
    }
    char *end;
    assert_true(*at == ' ');
    (void)strtod(at + 1, &end);
    assert_ptr_equal(end, line + n);
}

static void text_is_whole(const char *text)
{
    assert_true(strlen(text) > 0);
    for (const char *line = text; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        assert_true(line[n] == '\n'); /* the last one ends as well */
        line_is_whole(line, n);
        line += n + 1;
    }
}

static void get_text(struct kg_buf *out)
{
    assert_int_equal(svc_request("GET", "/metrics", PROMETHEUS, "", 0, out), 200);
    text_is_whole(out->data);
}

static bool says(const char *text, const char *line)
{
    const char *at = strstr(text, line);
    return at != NULL && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';
}

/* Durations reach the store within a second. */
static void await_line(const char *line)
{
    struct kg_buf text;
    kg_buf_init(&text, 1 << 20);
    int64_t until = kg_clock_ns() + 60000000000;
    for (get_text(&text); !says(text.data, line); get_text(&text)) {
        if (kg_clock_ns() > until) {
            fail_msg("no line %s in %s", line, text.data);
        }
        usleep(50000);
    }
    kg_buf_deinit(&text);
}

static void prometheus_reads_it(void **state)
{
    struct kg_buf text;
    (void)state;
    svc_start("--no-work");
    kg_buf_init(&text, 1 << 20);
    get_text(&text);
    assert_true(says(text.data, "kgym_queue_oldest_age_seconds 0.000"));
    judge(SVC_STUB_RECORD("\"wrong\""), "wrong");
    judge(SVC_STUB_RECORD("\"ok\""), "ok");
    submit("silu");
    await_line("kgym_evaluation_seconds_count 2");
    get_text(&text);
    static const char *const lines[] = {"kgym_evaluations_total{outcome=\"ok\"} 1",
                                        "kgym_evaluations_total{outcome=\"wrong\"} 1",
                                        "kgym_jobs{state=\"waiting\"} 1",
                                        "kgym_jobs{state=\"done\"} 2",
                                        "kgym_job_events_total{type=\"claimed\"} 2",
                                        "kgym_job_events_total{type=\"submitted\"} 3",
                                        "kgym_job_events_total{type=\"finished\"} 2",
                                        "kgym_queue_lanes 1",
                                        "kgym_claims_expired_total 0",
                                        "kgym_answers_refused_total 0",
                                        "kgym_stage_seconds_bucket{stage=\"full\",le=\"0.01\"} 0",
                                        "kgym_stage_seconds_bucket{stage=\"full\",le=\"0.03\"} 2",
                                        "kgym_stage_seconds_bucket{stage=\"full\",le=\"+Inf\"} 2",
                                        "kgym_stage_seconds_sum{stage=\"full\"} 0.040000",
                                        "kgym_stage_seconds_count{stage=\"full\"} 2",
                                        "kgym_stage_seconds_count{stage=\"timing\"} 0",
                                        "kgym_evaluation_seconds_sum 4.043000",
                                        "kgym_http_requests_total{method=\"POST\","
                                        "route=\"/v1/evaluations\",code=\"202\"} 3"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!says(text.data, lines[i])) {
            fail_msg("no line %s in %s", lines[i], text.data);
        }
    }
    assert_null(strstr(text.data, "kgym_queue_oldest_age_seconds 0.000\n"));
    assert_int_equal(svc_end(SIGKILL), -1); /* counters that matter are the store's */
    svc_start("--no-work");
    await_line("kgym_evaluation_seconds_count 2");
    await_line("kgym_evaluations_total{outcome=\"ok\"} 1");
    kg_buf_deinit(&text);
}

/* What was gathered last is not lost when the service ends in order. */
static void an_end_in_order_loses_no_duration(void **state)
{
    (void)state;
    svc_start("--no-work");
    judge(SVC_STUB_RECORD("\"ok\""), "ok");
    assert_int_equal(svc_end(SIGTERM), 0);
    svc_start("--no-work");
    await_line("kgym_evaluation_seconds_count 1");
}

/* A verdict is a label, so it must be a name. */
static void a_verdict_must_be_a_name(void **state)
{
    (void)state;
    svc_start("--no-work");
    submit("silu");
    svc_stub_finish(svc_stub_claim("cpu"), SVC_STUB_RECORD("\"ok\""), "o\\\"k} 1\n", 400);
}

static void labels_are_escaped(void **state)
{
    struct kg_svc_view v = {.store = "sqlite"};
    struct kg_buf text;
    (void)state;
    kg_buf_init(&text, 1 << 20);
    kg_svc_counted_add(&v.counted, "event:finished:a\"b\\c\nd", 4);
    kg_svc_metrics_text(&v, &text);
    text_is_whole(text.data);
    assert_true(says(text.data, "kgym_evaluations_total{outcome=\"a\\\"b\\\\c\\nd\"} 4"));
    kg_buf_deinit(&text);
    kg_svc_counted_deinit(&v.counted);
}

static void numbers_that_are_none_are_left_out(void **state)
{
    struct kg_svc_times t = {.any = false};
    json_t *j = json_loads("{\"setup_ns\": -5, \"stages\": [{\"name\": \"full\", \"status\": "
                           "\"pass\", \"ns\": -1}, {\"name\": \"tiny\", \"status\": \"pass\", "
                           "\"ns\": \"x\"}, 7, {\"name\": \"compile\", \"status\": \"pass\", "
                           "\"ns\": 9000000000000}]}",
                           0, NULL);
    (void)state;
    kg_svc_times_add(&t, j);
    assert_int_equal(t.n[2][KG_SVC_BOUNDS], 1); /* above all bounds */
    assert_int_equal(t.n[4][0], 0);
    assert_int_equal(t.sum_us[KG_SVC_TIMES - 1], 9000000000);
    json_decref(j);
}

/* --- KernelGYM --- */

static double number(const json_t *j, const char *part, const char *name)
{
    const json_t *v = json_object_get(json_object_get(j, part), name);
    assert_true(json_is_number(v));
    return json_number_value(v);
}

static void kernelgym_reads_its_form(void **state)
{
    (void)state;
    svc_start("--no-work");
    judge(SVC_STUB_RECORD("\"ok\""), "ok");
    judge(SVC_STUB_RECORD("\"compile_error\""), "compile_error");
    judge(SVC_STUB_RECORD("\"crash\""), "crash");
    judge(SVC_STUB_RECORD("\"timeout\""), "timeout");
    await_line("kgym_evaluation_seconds_count 4");
    json_t *j = svc_json(200, "GET", "/metrics", "");
    assert_int_equal(json_object_size(j), 5);
    assert_true(number(j, "performance_metrics", "success_rate") == 0.5);
    assert_true(number(j, "performance_metrics", "throughput_per_hour") > 0);
    double mean = number(j, "performance_metrics", "avg_processing_time");
    assert_true(mean > 2.02 && mean < 2.03);
    assert_int_equal(number(j, "error_metrics", "compilation_errors"), 1);
    assert_int_equal(number(j, "error_metrics", "runtime_errors"), 1);
    assert_int_equal(number(j, "error_metrics", "timeout_errors"), 1);
    assert_int_equal(number(j, "queue_metrics", "completed_tasks"), 4);
    json_decref(j);
}

static void post(int status, const char *path)
{
    json_decref(svc_json(status, "POST", path, ""));
}

static void worker_is(const char *id, const char *member, const char *value)
{
    json_t *j = svc_json(200, "GET", "/workers/status", "");
    assert_string_equal(svc_text(json_object_get(j, id), member), value);
    json_decref(j);
}

static void kernelgym_workers_register(void **state)
{
    char first[64];
    (void)state;
    svc_start("--no-work");
    json_t *j = svc_json(200, "GET", "/workers/status", "");
    assert_int_equal(json_object_size(j), 0);
    json_decref(j);
    post(400, "/worker/register?worker_id=w");
    post(400, "/worker/register?device=cuda:0");
    j = svc_json(200, "POST", "/worker/register?worker_id=w&device=cuda:0&hostname=h", "");
    assert_string_equal(svc_text(j, "node_id"), "");
    assert_string_equal(svc_text(j, "message"), "Worker w registered");
    json_decref(j);
    j = svc_json(200, "GET", "/workers/status", "");
    snprintf(first, sizeof first, "%s", svc_text(json_object_get(j, "w"), "last_heartbeat"));
    json_decref(j);
    usleep(2000); /* its clock counts milliseconds */
    post(200, "/worker/heartbeat?worker_id=w&node_id=node-1");
    worker_is("w", "status", "online");
    worker_is("w", "node_id", "node-1");
    worker_is("w", "hostname", "h");
    j = svc_json(200, "GET", "/workers/status", "");
    assert_string_not_equal(svc_text(json_object_get(j, "w"), "last_heartbeat"), first);
    json_decref(j);
    post(409, "/worker/heartbeat?worker_id=w&device=cuda:1");
    post(409, "/worker/heartbeat?worker_id=new");
    post(409, "/worker/heartbeat?worker_id=new&device=cuda:0&node_id=node-1");
    post(200, "/worker/evict_from_lb?worker_id=w");
    worker_is("w", "status", "offline");
    post(200, "/worker/heartbeat?worker_id=new&device=cuda:0&node_id=node-1"); /* w is gone */
    worker_is("new", "device", "cuda:0");
    post(200, "/worker/unregister?worker_id=w");
    post(200, "/worker/unregister?worker_id=never");
    assert_int_equal(svc_end(SIGKILL), -1);
    svc_start("--no-work");
    j = svc_json(200, "GET", "/monitoring/worker-health", "");
    assert_int_equal(json_object_size(json_object_get(j, "workers")), 1);
    json_decref(j);
}

/* A worker of kgym's own, which the test plays, with two devices. */
static void say_hello(const char *host, const char *words)
{
    char body[1024];
    snprintf(body, sizeof body,
             "{\"worker\": \"%s-1\", \"host\": \"%s\", \"devices\": ["
             "{\"name\": \"%s/cuda:0\", \"words\": [%s], \"memory_mb\": 81920, \"slots\": 2, "
             "\"holds\": [\"01ARZ3NDEKTSV4RRFFQ69G5FAV\"]}, "
             "{\"name\": \"%s/cpu\", \"words\": [\"cpu\"], \"slots\": 1}]}",
             host, host, host, words, host);
    json_decref(svc_json(200, "POST", "/v1/worker/hello", body));
}

/* What is known of devices is a second old at most. */
static json_t *health_with(size_t gpus)
{
    for (int tries = 0; tries < 600; tries++) {
        json_t *h = svc_json(200, "GET", "/health", "");
        if (json_object_size(json_object_get(h, "gpu_status")) == gpus) {
            return h;
        }
        json_decref(h);
        usleep(100000);
    }
    fail();
    return NULL;
}

static void own_devices_are_told(void **state)
{
    static const char words[] =
        "\"cpu\", \"cuda\", \"model:NVIDIA\", \"model:H100\", \"model:80GB\"";
    (void)state;
    svc_start("--no-work");
    json_decref(health_with(0));
    say_hello("one", words);
    json_decref(health_with(1));
    say_hello("two", words);
    json_t *h = health_with(2), *gpus = json_object_get(h, "gpu_status"), *gpu;
    const char *name;
    json_object_foreach(gpus, name, gpu)
    {
        assert_string_equal(svc_text(gpu, "name"), "NVIDIA H100 80GB");
        assert_string_equal(svc_text(gpu, "memory_total"), "80.0GB");
        assert_true(json_is_true(json_object_get(gpu, "available")));
    }
    assert_non_null(json_object_get(gpus, "cuda:0"));
    json_decref(h);
    json_t *j = svc_json(200, "GET", "/queue/status", "");
    const json_t *queues = json_object_get(j, "worker_queues");
    assert_int_equal(json_object_size(queues), 4);
    assert_int_equal(json_integer_value(json_object_get(queues, "one/cuda:0")), 1);
    assert_int_equal(json_integer_value(json_object_get(queues, "one/cpu")), 0);
    json_decref(j);
    j = svc_json(200, "GET", "/metrics", "");
    assert_int_equal(number(j, "resource_metrics", "avg_gpu_utilization"), 50);
    json_decref(j);
    post(200, "/worker/register?worker_id=w&device=cuda:0&hostname=h");
    worker_is("w", "status", "online");
    worker_is("two/cuda:0", "status", "online");
    worker_is("two/cuda:0", "device", "cuda:0");
    worker_is("two/cpu", "hostname", "two");
}

static void node_is(const char *query, const char *node)
{
    char path[128];
    snprintf(path, sizeof path, "/node/allocate?%s", query);
    json_t *j = svc_json(200, "POST", path, "");
    assert_string_equal(svc_text(j, "node_id"), node);
    json_decref(j);
}

/* Hosts that ask at once, of which all but one wait, get a name each. */
static void hosts_allocate_at_once(void **state)
{
    enum { HOSTS = 8 };
    char got[HOSTS][32];
    int names[2];
    (void)state;
    svc_start("--no-work");
    assert_int_equal(pipe(names), 0);
    fflush(stdout);
    for (int i = 0; i < HOSTS; i++) {
        if (fork() == 0) {
            char path[64], name[32] = "";
            snprintf(path, sizeof path, "/node/allocate?hostname=h%d", i);
            json_t *j = svc_json(200, "POST", path, "");
            snprintf(name, sizeof name, "%s", svc_text(j, "node_id"));
            _exit(write(names[1], name, sizeof name) != sizeof name);
        }
    }
    for (int i = 0; i < HOSTS; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
        assert_int_equal(read(names[0], got[i], sizeof got[i]), sizeof got[i]);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(got[i], got[k]);
        }
    }
    close(names[0]);
    close(names[1]);
}

static void nodes_keep_their_names(void **state)
{
    (void)state;
    svc_start("--no-work");
    post(400, "/node/allocate");
    node_is("hostname=a", "node-1");
    node_is("hostname=b", "node-2");
    node_is("hostname=a", "node-1");
    node_is("hostname=c&node_name=mine", "mine");
    node_is("hostname=c&node_name=mine", "mine");
    post(409, "/node/allocate?hostname=d&node_name=mine");
    node_is("hostname=c", "mine"); /* the name it has */
    node_is("hostname=d&node_name=node-1-rack", "node-1-rack");
    node_is("hostname=d", "node-1-rack"); /* not node-1, which is another host's */
    assert_int_equal(svc_end(SIGKILL), -1);
    svc_start("--no-work");
    node_is("hostname=b", "node-2");
    node_is("hostname=e", "node-3");
}

#define ASK                                                                                        \
    "{\"task_id\": \"%s\", \"detect_decoy_kernel\": true, \"reference_code\": "                    \
    "\"class Model: pass\", \"kernel_code\": \"class ModelNew: pass\"}"

static void evaluate(const char *id)
{
    char body[256];
    snprintf(body, sizeof body, ASK, id);
    json_decref(svc_json(200, "POST", "/evaluate", body));
}

static void crashes_are_listed_by_content(void **state)
{
    char path[160];
    (void)state;
    svc_start("--no-work");
    post(405, "/monitoring/problematic-codes");
    for (int i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "t%d", i);
        evaluate(id);
        svc_stub_finish(svc_stub_claim("torch"), SVC_STUB_RECORD("\"crash\""), "crash", 200);
    }
    evaluate("retry");
    svc_stub_fail(svc_stub_claim("torch"));
    json_decref(svc_json(400, "GET", "/monitoring/problematic-codes?min_errors=x", ""));
    json_t *j = svc_json(200, "GET", "/monitoring/problematic-codes?min_errors=4", "");
    assert_int_equal(json_integer_value(json_object_get(j, "total_count")), 0);
    json_decref(j);
    j = svc_json(200, "GET", "/monitoring/problematic-codes", "");
    const json_t *one = json_array_get(json_object_get(j, "problematic_codes"), 0);
    assert_int_equal(json_integer_value(json_object_get(one, "error_count")), 3);
    snprintf(path, sizeof path, "/monitoring/clear-error-history/%s", svc_text(one, "code_hash"));
    json_decref(j);
    post(200, path);
    post(200, "/monitoring/clear-error-history/unknown");
    j = svc_json(200, "GET", "/monitoring/problematic-codes?min_errors=1", "");
    assert_int_equal(json_integer_value(json_object_get(j, "total_count")), 0);
    json_decref(j);
    j = svc_json(200, "GET", "/monitoring/retry-queue", "");
    assert_int_equal(json_integer_value(json_object_get(j, "retry_queue_size")), 1);
    one = json_array_get(json_object_get(j, "next_retries"), 0);
    assert_int_equal(json_integer_value(json_object_get(one, "retry_count")), 1);
    json_decref(j);
}

/* The arithmetic of these requests, which is Triton's own default unless the service says else. */
static void a_request_has_the_precision_of_the_service(void **state)
{
    (void)state;
    for (int fp32 = 0; fp32 < 2; fp32++) {
        svc_start(fp32 ? "--no-work --kernelgym-precision fp32 --kernelgym-preset quick"
                       : "--no-work");
        evaluate(fp32 ? "b" : "a");
        json_t *claimed = svc_stub_claim("torch");
        char *text = json_dumps(json_object_get(claimed, "configuration"), JSON_ENCODE_ANY);
        assert_non_null(strstr(text, fp32 ? "precision=fp32" : "precision=tf32"));
        assert_int_equal(strstr(text, "quick\\\"") != NULL || strstr(text, "\"quick\"") != NULL,
                         fp32);
        free(text);
        svc_stub_finish(claimed, SVC_STUB_RECORD("\"ok\""), "ok", 200);
        assert_int_equal(svc_end(SIGTERM), 0);
    }
}

static void a_preset_without_reward_is_refused(void **state)
{
    char line[400];
    (void)state;
    snprintf(line, sizeof line,
             "%s serve --port 0 --folder %s/s --kernelgym-preset kernelbench 2>&1 | grep -q 'earns "
             "no reward'",
             cobject_built("kgym"), svc_folder());
    assert_int_equal(system(line), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, svc_setup, svc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(prometheus_reads_it),
                                       T(an_end_in_order_loses_no_duration),
                                       T(a_verdict_must_be_a_name),
                                       cmocka_unit_test(labels_are_escaped),
                                       cmocka_unit_test(numbers_that_are_none_are_left_out),
                                       T(kernelgym_reads_its_form),
                                       T(kernelgym_workers_register),
                                       T(own_devices_are_told),
                                       T(nodes_keep_their_names),
                                       T(hosts_allocate_at_once),
                                       T(crashes_are_listed_by_content),
                                       T(a_request_has_the_precision_of_the_service),
                                       T(a_preset_without_reward_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
