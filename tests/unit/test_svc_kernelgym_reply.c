/* KernelGYM's answers: every outcome of its table, what its clients compute from them, and bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/records.h"
#include "svc/kernelgym_host.h"
#include "svc/kernelgym_reply.h"

static const char *const fourteen[] = {
    "task_id",           "status",         "compiled",     "correctness",    "decoy_kernel",
    "reference_runtime", "kernel_runtime", "speedup",      "metadata",       "error_message",
    "error_code",        "submitted_at",   "completed_at", "processing_time"};

static const struct kg_kernelgym_task task = {.id = "t",
                                              .submitted_us = 1769903999000001,
                                              .started_us = 1769904000000001,
                                              .completed_us = 1769904001500001};

static json_t *parsed(const char *text)
{
    json_t *j;
    struct kg_err err = KG_ERR_INIT;
    if (kg_json_parse(text, strlen(text), "test", &j, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return j;
}

/* A record with these members over a frame of a PyTorch one. */
static json_t *record_of(const char *members)
{
    json_t *base = parsed(
        "{\"schema\": \"kgym.record/1\", \"verdict\": null, \"reason\": null, \"message\": null,"
        "\"error\": null, \"compiled\": true, \"correct\": null, \"speedup\": null,"
        "\"stages\": [{\"name\": \"compile\", \"status\": \"pass\", \"ns\": 5000000}],"
        "\"timing\": {\"status\": \"off\", \"why\": null, \"candidate_ns\": null,"
        "\"reference_ns\": null, \"shortest_ns\": 100000, \"samples\": null, \"claims\": null},"
        "\"coverage\": null, \"league\": {\"name\": \"tf32\", \"eligible\": true, \"findings\": "
        "[]},"
        "\"evidence\": [], \"peak_bytes\": 1000, \"isolation\": {\"level\": \"L2\"},"
        "\"environment\": {\"cpu\": \"c\", \"device\": \"cuda:0\", \"device_name\": \"G\"},"
        "\"config\": {\"precision\": \"tf32\"}, \"private\": {\"key\": \"SECRETKEY\"}}");
    json_t *more = parsed(members);
    json_object_update(base, more);
    json_decref(more);
    return base;
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

static double number(const json_t *j, const char *key)
{
    return json_number_value(json_object_get(j, key));
}

static void has_the_members(const json_t *result)
{
    assert_non_null(result);
    assert_int_equal(json_object_size(result), 14);
    for (size_t i = 0; i < 14; i++) {
        assert_non_null(json_object_get(result, fourteen[i]));
    }
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    kg_json_dump(json_object_get(result, "metadata"), &b);
    assert_true(kg_buf_ok(&b) && b.len <= 32 << 10);
    assert_null(strstr(b.data, "SECRETKEY"));
    kg_buf_deinit(&b);
    assert_true(strlen(text(result, "error_message")) <= 8 << 10);
}

static json_t *result_of(const char *members)
{
    json_t *record = record_of(members);
    json_t *result = kg_kernelgym_result(record, &task);
    json_decref(record);
    has_the_members(result);
    return result;
}

#define TIMED                                                                                      \
    "\"timing\": {\"status\": \"measured\", \"why\": null, \"candidate_ns\": 400000, "             \
    "\"reference_ns\": 810000, \"shortest_ns\": 100000, \"claims\": null, \"samples\": "           \
    "[{\"process\": 0, \"overhead_ns\": 1000, \"reference_ns\": [800000, 900000], "                \
    "\"candidate_ns\": [400000, 420000]}]}, \"speedup\": {\"ratio\": 2.0, \"pairs\": 2}"
#define HACK(reason) "{\"verdict\": \"hack\", \"reason\": \"" reason "\", " TIMED "}"
#define RAISED(during)                                                                             \
    "\"evidence\": [{\"check\": \"exception\", \"type\": \"ValueError\", \"message\": \"bad\", "   \
    "\"during\": \"" during "\", \"where\": \"line 3, in forward\"}]"
#define ERROR(code, blame)                                                                         \
    "\"error\": {\"code\": \"" code "\", \"blame\": \"" blame "\", \"message\": \"why\"}"

enum { F, T };
static const struct {
    const char *members, *status;
    int compiled, correct, decoy;
    const char *code, *begins, *fault;
} outcomes[] = {
    {"{\"verdict\": \"ok\", " TIMED "}", "completed", T, T, F, "", "", ""},
    {"{\"verdict\": \"wrong\", \"reason\": \"value\", \"message\": \"m\"}", "completed", T, F, F,
     "CORRECTNESS_ERROR", "Kernel produced incorrect results", "candidate"},
    {"{\"verdict\": \"wrong\", \"reason\": \"dtype\", \"message\": \"m\"}", "completed", T, F, F,
     "CORRECTNESS_ERROR", "Kernel produced incorrect results", "candidate"},
    {"{\"verdict\": \"crash\", \"reason\": \"exception\", \"message\": \"m\", " RAISED(
         "its call") "}",
     "completed", T, F, F, "RUNTIME_ERROR", "Kernel execution failed: m", "candidate"},
    {"{\"verdict\": \"crash\", \"reason\": \"device\", \"message\": \"m\"}", "completed", T, F, F,
     "RUNTIME_ERROR", "Kernel execution failed: m", "candidate"},
    {"{\"verdict\": \"compile_error\", \"reason\": \"load\", \"message\": \"m\", " RAISED(
         "constructing it") "}",
     "completed", T, F, F, "RUNTIME_ERROR", "Kernel execution failed: m", "candidate"},
    {"{\"verdict\": \"compile_error\", \"reason\": \"load\", \"message\": \"m\", " RAISED(
         "importing it") "}",
     "failed", F, F, F, "COMPILATION_ERROR", "Kernel compilation failed: m", "candidate"},
    {"{\"verdict\": \"compile_error\", \"reason\": \"syntax\", \"message\": \"line 2: cuda "
     "block\"}",
     "failed", F, F, F, "COMPILATION_ERROR", "Kernel compilation failed: line 2: cuda block",
     "candidate"},
    {"{\"verdict\": \"compile_error\", \"reason\": \"missing_entry\", \"message\": \"m\"}",
     "failed", F, F, F, "VALIDATION_ERROR", "Kernel code validation failed: m", "candidate"},
    {"{\"verdict\": \"no_code\", \"reason\": \"missing_entry\", \"message\": \"m\"}", "failed", F,
     F, F, "VALIDATION_ERROR", "Kernel code validation failed: m", "candidate"},
    {"{\"verdict\": \"rejected\", \"reason\": \"asm\", \"message\": \"m\"}", "failed", F, F, F,
     "COMPILATION_ERROR", "Kernel compilation failed: m", "candidate"},
    {"{\"verdict\": \"crash\", \"reason\": \"signal\", \"message\": \"m\"}", "failed", F, F, F,
     "RUNTIME_ERROR", "Task processing failed: m", "candidate"},
    {"{\"verdict\": \"crash\", \"reason\": \"exit\", \"message\": \"m\"}", "failed", F, F, F,
     "RUNTIME_ERROR", "Task processing failed: m", "candidate"},
    {"{\"verdict\": \"crash\", \"reason\": \"protocol\", \"message\": \"m\"}", "failed", F, F, F,
     "RUNTIME_ERROR", "Task processing failed: m", "candidate"},
    {"{\"verdict\": \"out_of_memory\", \"reason\": \"host\", \"message\": \"m\", \"evidence\": "
     "[{\"check\": \"limit\", \"value\": 2, \"unit\": \"MB\"}]}",
     "failed", F, F, F, "RUNTIME_ERROR", "Task processing failed: m", "candidate"},
    {"{\"verdict\": \"out_of_memory\", \"reason\": \"device\", \"message\": \"m\"}", "completed", T,
     F, F, "RUNTIME_ERROR", "Kernel execution failed: m", "candidate"},
    {"{\"verdict\": \"timeout\", \"reason\": \"tiny\", \"message\": \"m\"}", "failed", F, F, F,
     "TIMEOUT_ERROR", "Task processing failed: m", "candidate"},
    {HACK("decoy"), "completed", T, T, T, "", "", "candidate"},
    {HACK("fallback"), "completed", T, T, T, "", "", "candidate"},
    {HACK("phase"), "completed", T, T, T, "", "", "candidate"},
    {HACK("delegation"), "completed", T, T, T, "", "", "candidate"},
    {HACK("replay"), "completed", T, F, F, "CORRECTNESS_ERROR", "Kernel produced incorrect results",
     "candidate"},
    {HACK("floor"), "completed", T, F, F, "CORRECTNESS_ERROR", "Kernel produced incorrect results",
     "candidate"},
    {"{\"verdict\": \"ok\", \"league\": {\"name\": \"tf32\", \"eligible\": false, \"findings\": "
     "[{\"rule\": \"policy.compiler\", \"share\": 0.9}]}, " TIMED "}",
     "completed", T, T, T, "", "", "candidate"},
    {"{" ERROR("problem", "problem") "}", "failed", F, F, F, "VALIDATION_ERROR",
     "Reference failed: why", "reference"},
    {"{" ERROR("limit", "problem") "}", "failed", F, F, F, "RESOURCE_ERROR",
     "Reference failed: why", "reference"},
    {"{" ERROR("problem", "problem") ", \"correct\": true}", "completed", T, T, F, "", "",
     "reference"},
    {"{" ERROR("needs_gpu", "candidate") "}", "failed", F, F, F, "RESOURCE_ERROR",
     "Kernel evaluation failed: why", "candidate"},
    {"{" ERROR("gym", "gym") "}", "failed", F, F, F, "SYSTEM_ERROR", "Evaluation failed: why",
     "system"},
    {"{" ERROR("gym", "gym") ", \"correct\": true}", "failed", F, F, F, "SYSTEM_ERROR",
     "Evaluation failed: why", "system"},
    {"{" ERROR("host", "host") "}", "failed", F, F, F, "SYSTEM_ERROR", "Evaluation failed: why",
     "system"},
    {"{" ERROR("cancelled", "host") "}", "failed", F, F, F, "TIMEOUT_ERROR",
     "Task processing failed: why", "system"},
    {"{}", "failed", F, F, F, "SYSTEM_ERROR", "Evaluation failed: ", "system"},
};

static void every_outcome(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        json_t *r = result_of(outcomes[i].members), *m = json_object_get(r, "metadata");
        bool good =
            strcmp(text(r, "status"), outcomes[i].status) == 0 &&
            json_is_true(json_object_get(r, "compiled")) == outcomes[i].compiled &&
            json_is_true(json_object_get(r, "correctness")) == outcomes[i].correct &&
            json_is_true(json_object_get(r, "decoy_kernel")) == outcomes[i].decoy &&
            strcmp(text(r, "error_code"), outcomes[i].code) == 0 &&
            strcmp(text(m, "fault"), outcomes[i].fault) == 0 &&
            strncmp(text(r, "error_message"), outcomes[i].begins, strlen(outcomes[i].begins)) == 0;
        if (!good) {
            char *s = json_dumps(r, 0);
            fail_msg("%s\n%s", outcomes[i].members, s);
        }
        /* null, and neither an empty text, exactly where there is nothing to say */
        assert_int_equal(json_is_null(json_object_get(r, "error_message")),
                         outcomes[i].begins[0] == '\0');
        json_t *status = kg_kernelgym_status(r, &task);
        bool failed = strcmp(outcomes[i].status, "failed") == 0;
        assert_int_equal(json_object_get(status, "error_message") != NULL, failed);
        assert_true(!failed || strlen(text(status, "error_message")) > 0);
        json_decref(status);
        json_decref(r);
    }
}

static void times_and_speed(const char *members, double reference, double kernel, double speedup)
{
    json_t *r = result_of(members);
    double got[] = {number(r, "reference_runtime"), number(r, "kernel_runtime"),
                    number(r, "speedup")};
    if (fabs(got[0] - reference) > 1e-9 || fabs(got[1] - kernel) > 1e-9 ||
        fabs(got[2] - speedup) > 1e-9) {
        fail_msg("%s: %g %g %g", members, got[0], got[1], got[2]);
    }
    json_decref(r);
}

/* What a record of these times says. */
static const char *timed(const char *status, int candidate, int reference, double ratio)
{
    static char s[512];
    snprintf(s, sizeof s,
             "{\"verdict\": \"ok\", \"correct\": true, \"timing\": {\"status\": \"%s\", "
             "\"candidate_ns\": %d, \"reference_ns\": %d, \"shortest_ns\": 100000, \"claims\": "
             "null}, \"speedup\": {\"ratio\": %g, \"pairs\": 9}}",
             status, candidate, reference, ratio);
    return s;
}

static void speed_is_what_the_gym_rewards(void **state)
{
    (void)state;
    times_and_speed("{\"verdict\": \"ok\", " TIMED "}", 0.8, 0.4, 2);
    times_and_speed(timed("measured", 400000, 800000, 2), 0.8, 0.4, 2);
    times_and_speed(timed("not_trusted", 400000, 800000, 2), -1, -1, 0);
    times_and_speed(timed("not_measured", 400000, 800000, 2), -1, -1, 0);
    times_and_speed(timed("measured", 50000, 200000, 4), 0.2, 0.1, 2); /* counts as T */
    times_and_speed(timed("measured", 20000, 80000, 4), -1, -1, 0);    /* the reference below T */
    times_and_speed(HACK("decoy"), 0.81, -1, 0);
    times_and_speed(HACK("replay"), -1, -1, 0);
    times_and_speed("{\"verdict\": \"wrong\", \"reason\": \"value\", " TIMED "}", -1, -1, 0);
    times_and_speed("{\"verdict\": \"ok\", \"timing\": {\"status\": \"measured\", \"claims\": {}, "
                    "\"candidate_ns\": 1000000, \"reference_ns\": 2000000, \"shortest_ns\": 0}, "
                    "\"speedup\": {\"ratio\": 2}}",
                    -1, -1, 0);
}

static void own_kernels_are_counted_by_device_time(void **state)
{
    (void)state;
    json_t *r = result_of(
        "{\"verdict\": \"ok\", \"coverage\": 0.6, \"evidence\": ["
        "{\"check\": \"kernel\", \"name\": \"mine\", \"share\": 0.6, \"calls\": 2, \"own\": true,"
        " \"class\": \"own\", \"dead\": false, \"idle\": false},"
        "{\"check\": \"kernel\", \"name\": \"dead\", \"share\": 0.1, \"calls\": 1, \"own\": true,"
        " \"class\": \"own\", \"dead\": true, \"idle\": false},"
        "{\"check\": \"kernel\", \"name\": \"gemm\", \"share\": 0.2, \"calls\": 1, \"own\": false,"
        " \"class\": \"library\", \"dead\": false, \"idle\": false},"
        "{\"check\": \"coverage\", \"coverage\": 0.6, \"own\": 0.7, \"delegated\": 0.2,"
        " \"compiler\": 0, \"memory\": 0.1, \"busy_ns\": 50000}]}");
    json_t *m = json_object_get(r, "metadata");
    assert_int_equal(number(m, "num_custom_kernels"), 1);
    assert_int_equal(number(m, "num_total_kernels"), 4); /* with the copies */
    assert_true(fabs(number(m, "custom_kernel_cuda_time_in_profiling_us") - 30) < 1e-9);
    assert_true(fabs(number(m, "total_kernel_run_time_in_profiling_us") - 50) < 1e-9);
    assert_string_equal(text(m, "triton_profiler_matches"), "[\"mine\"]");
    assert_string_equal(text(m, "coverage_basis"), "device_time");
    assert_int_equal(json_array_size(json_object_get(json_object_get(m, "profiling"), "kernels")),
                     3);
    assert_true(json_is_false(json_object_get(r, "decoy_kernel")));
    json_decref(r);
    r = result_of("{\"verdict\": \"ok\"}"); /* a profile that was not taken proves nothing */
    m = json_object_get(r, "metadata");
    assert_null(json_object_get(m, "num_custom_kernels"));
    assert_null(json_object_get(m, "total_kernel_run_time_in_profiling_us"));
    assert_true(json_is_false(json_object_get(r, "decoy_kernel")));
    json_decref(r);
}

#define SHARES(coverage, own, busy)                                                                \
    "{\"verdict\": \"ok\", \"coverage\": " coverage ", \"evidence\": [{\"check\": \"coverage\", "  \
    "\"coverage\": 0, \"own\": " own ", \"busy_ns\": " busy "}], " TIMED "}"

static void without_own_kernels_it_is_a_decoy(void **state)
{
    static const struct {
        const char *record;
        bool decoy;
    } cases[] = {
        {SHARES("0.0", "0.0", "50000"), true},
        {SHARES("0.3", "0.3", "50000"), false},
        {SHARES("0.0", "0.3", "50000"), false}, /* the gym would have said hack/decoy */
        {SHARES("0.0", "0.0", "0"), false},     /* no work of the device was seen */
        {SHARES("null", "0.0", "50000"), false},
        {"{\"verdict\": \"ok\", \"coverage\": 0.0, \"evidence\": "
         "[{\"check\": \"coverage\", \"why\": \"w\"}], " TIMED "}",
         false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *r = result_of(cases[i].record);
        assert_true(json_is_true(json_object_get(r, "decoy_kernel")) == cases[i].decoy);
        assert_true(json_is_true(json_object_get(r, "correctness")));
        const json_t *m = json_object_get(json_object_get(r, "metadata"), "integrity");
        assert_true(json_is_true(json_object_get(m, "ok")) == !cases[i].decoy);
        assert_int_equal(json_array_size(json_object_get(m, "reasons")), cases[i].decoy);
        assert_true((number(r, "speedup") > 0) == !cases[i].decoy);
        json_decref(r);
    }
}

static void metadata_says_where_and_how(void **state)
{
    (void)state;
    json_t *r = result_of("{\"verdict\": \"ok\", " TIMED "}"), *m = json_object_get(r, "metadata");
    json_t *spread = json_object_get(json_object_get(m, "timing"), "kernel");
    assert_string_equal(text(m, "league"), "tf32");
    assert_string_equal(text(m, "precision"), "tf32");
    assert_string_equal(text(m, "sandbox"), "L2");
    assert_string_equal(text(m, "gpu_name"), "G");
    assert_int_equal(number(m, "num_perf_trials"), 2);
    assert_true(fabs(number(spread, "mean") - 0.41) < 1e-9);
    assert_true(fabs(number(spread, "min") - 0.4) < 1e-9 && number(spread, "n") == 2);
    assert_true(fabs(number(json_object_get(m, "phase_ms"), "compile") - 5) < 1e-9);
    assert_true(fabs(number(json_object_get(m, "phase_ms"), "queue") - 1000) < 1e-9);
    assert_true(json_is_true(json_object_get(json_object_get(m, "integrity"), "ok")));
    assert_true(fabs(number(r, "processing_time") - 1.5) < 1e-9);
    assert_string_equal(text(r, "submitted_at"), "2026-01-31T23:59:59.000001Z");
    json_decref(r);
    r = result_of(HACK("replay"));
    m = json_object_get(json_object_get(r, "metadata"), "integrity");
    assert_true(json_is_false(json_object_get(m, "ok")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(m, "reasons"), 0)),
                        "hack.replay");
    json_decref(r);
}

static void what_was_asked_is_heeded(void **state)
{
    (void)state;
    json_t *echo =
        parsed("{\"backend\": \"cuda\", \"uuid\": \"u\", \"cache_type\": \"regular\","
               "\"reference_backend\": \"compile\", \"verbose\": false,"
               "\"profiling\": false, \"correctness\": false, \"num_correct_trials\": 7}");
    struct kg_kernelgym_task t = task;
    t.echo = echo;
    json_t *record = record_of("{\"coverage\": 0.5}");
    json_t *r = kg_kernelgym_result(record, &t), *m = json_object_get(r, "metadata");
    has_the_members(r);
    assert_string_equal(text(r, "status"), "completed"); /* nothing was compared, as it asked */
    assert_true(json_is_true(json_object_get(r, "correctness")));
    assert_true(json_is_true(json_object_get(m, "correctness_skipped")));
    assert_string_equal(text(m, "uuid"), "u");
    assert_string_equal(text(m, "backend"), "cuda");
    assert_true(json_is_false(json_object_get(m, "reference_backend_compiled")));
    assert_null(json_object_get(m, "profiling"));
    assert_non_null(json_object_get(m, "num_custom_kernels"));
    json_decref(r);
    json_decref(record);
    record =
        record_of("{\"verdict\": \"compile_error\", \"reason\": \"syntax\", \"message\": \"m\","
                  "\"evidence\": [{\"check\": \"compiler\", \"text\": \"LOG\"}]}");
    r = kg_kernelgym_result(record, &t);
    assert_null(strstr(text(r, "error_message"), "LOG"));
    json_decref(r);
    t.echo = NULL;
    r = kg_kernelgym_result(record, &t);
    assert_string_equal(text(r, "error_message"), "Kernel compilation failed: m\nLOG");
    json_decref(r);
    json_decref(record);
    json_decref(echo);
}

static void texts_are_bounded_and_harmless(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 4 << 20);
    for (int i = 0; i < 100000; i++) {
        kg_buf_adds(&b, i % 3 ? "\x1b[31m\"\\" : "\xf0\x9f\x98\x80\n");
    }
    json_t *record = record_of("{\"verdict\": \"compile_error\", \"reason\": \"load\"}");
    json_t *log = kg_json_text(b.data, b.len);
    json_object_set(record, "message", log);
    json_object_set_new(record, "evidence",
                        json_pack("[{s:s, s:O}, {s:s, s:O, s:O, s:O, s:s}]", "check", "compiler",
                                  "text", log, "check", "exception", "type", log, "message", log,
                                  "where", log, "during", "importing it"));
    json_t *r = kg_kernelgym_result(record, &task);
    has_the_members(r);
    assert_null(strchr(text(r, "error_message"), '\x1b'));
    assert_string_equal(text(r, "error_code"), "COMPILATION_ERROR");
    json_decref(r);
    json_decref(log);
    json_decref(record);
    kg_buf_deinit(&b);
}

/* A model reads all of it. */
static void nothing_hidden_is_told(void **state)
{
    (void)state;
    json_t *r =
        result_of("{\"verdict\": \"wrong\", \"reason\": \"value\", \"message\": \"law `own`\", "
                  "\"evidence\": [{\"check\": \"mismatch\", \"law\": \"own\", \"got\": 7.25, "
                  "\"share\": \"<10%\"}]}");
    char *all = json_dumps(r, 0);
    assert_null(strstr(all, "own`"));
    assert_null(strstr(all, "7.25"));
    assert_string_equal(text(r, "error_message"),
                        "Kernel produced incorrect results: value, share of elements: <10%");
    free(all);
    json_decref(r);
    r = result_of("{\"error\": {\"code\": \"problem\", \"blame\": \"problem\", \"message\": "
                  "\"/tmp/kgym-1/given/kernelgym.py: bad, 3 / 4, `/a/b c` /x\"}}");
    assert_string_equal(text(r, "error_message"),
                        "Reference failed: kernelgym.py: bad, 3 / 4, `b c` /x");
    json_decref(r);
    r = result_of(
        "{\"verdict\": \"wrong\", \"reason\": \"shape\", \"message\": \"[2] is not [3]\"}");
    assert_non_null(strstr(text(r, "error_message"), "[2] is not [3]"));
    json_decref(r);
}

/* A client looks its tasks up by the id it sent. */
static void an_id_comes_back_as_it_was_sent(void **state)
{
    static const char id[] = "/data/run 1/é/task_7";
    char longer[600];
    (void)state;
    memset(longer, 'i', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const char *const ids[] = {id, longer};
    for (int i = 0; i < 4; i++) {
        const struct kg_kernelgym_task t = {
            .id = ids[i % 2], .submitted_us = 1, .waits = true, .cancelled = i < 2};
        json_t *r = kg_kernelgym_result(NULL, &t);
        assert_string_equal(text(r, "task_id"), ids[i % 2]);
        json_decref(r);
    }
}

static void tasks_without_a_record(void **state)
{
    (void)state;
    struct kg_kernelgym_task t = {.id = "t", .submitted_us = 1, .waits = true, .position = 3};
    json_t *r = kg_kernelgym_result(NULL, &t), *s = kg_kernelgym_status(r, &t);
    assert_int_equal(json_object_size(r), 14);
    assert_string_equal(text(r, "status"), "pending");
    assert_true(json_is_null(json_object_get(r, "speedup")));
    assert_int_equal(number(s, "queue_position"), 3);
    assert_null(json_object_get(s, "error_message"));
    json_decref(r);
    json_decref(s);
    t.waits = false;
    t.device = "cuda:1";
    r = kg_kernelgym_result(NULL, &t);
    s = kg_kernelgym_status(r, &t);
    assert_string_equal(text(s, "status"), "processing");
    assert_string_equal(text(s, "assigned_device"), "cuda:1");
    json_decref(s);
    s = kg_kernelgym_workflow(r);
    assert_true(json_is_null(json_object_get(s, "result")));
    json_decref(s);
    t.cancelled = true;
    r = kg_kernelgym_result(NULL, &t);
    has_the_members(r);
    assert_string_equal(text(r, "status"), "failed");
    assert_string_equal(text(r, "error_message"), "Task cancelled");
    assert_string_equal(text(r, "error_code"), "SYSTEM_ERROR");
    assert_true(json_is_true(json_object_get(json_object_get(r, "metadata"), "cancelled")));
    json_decref(r);
    r = kg_kernelgym_failed(&task, "VALIDATION_ERROR", "candidate",
                            "Kernel code validation failed");
    has_the_members(r);
    assert_string_equal(text(r, "status"), "failed");
    json_decref(r);
}

static void forms_around_results(void **state)
{
    (void)state;
    json_t *w = kg_kernelgym_workflow(result_of("{\"verdict\": \"ok\", " TIMED "}"));
    json_t *inner = json_object_get(w, "result");
    assert_int_equal(json_object_size(w), 7);
    assert_null(json_object_get(inner, "status"));
    assert_true(number(inner, "speedup") > 1);
    json_decref(w);
    json_t *list = json_array();
    json_array_append_new(list, result_of("{\"verdict\": \"wrong\", \"reason\": \"value\"}"));
    json_array_append_new(list, result_of("{}"));
    json_t *b = kg_kernelgym_batch("b", list, 1769903999000001, 1769904001500001);
    assert_int_equal(number(b, "total_tasks"), 2);
    assert_int_equal(number(b, "completed_tasks"), 1);
    assert_int_equal(number(b, "failed_tasks"), 1);
    assert_string_equal(text(b, "batch_status"), "completed");
    json_decref(b);
    const struct kg_kernelgym_task waits = {.id = "w", .submitted_us = 1, .waits = true};
    list = json_array();
    json_array_append_new(list, result_of("{\"verdict\": \"wrong\", \"reason\": \"value\"}"));
    json_array_append_new(list, kg_kernelgym_result(NULL, &waits));
    b = kg_kernelgym_batch("b", list, 1769903999000001, 1769904001500001);
    assert_int_equal(number(b, "completed_tasks"), 1); /* what waits has not */
    assert_int_equal(number(b, "failed_tasks"), 0);
    assert_string_equal(text(b, "batch_status"), "processing");
    assert_true(json_is_null(json_object_get(b, "completed_at")));
    json_decref(b);
}

static void counters_of_the_host(void **state)
{
    (void)state;
    struct kg_kernelgym_device gpu = {"cuda:0", "G", 80ll << 30, 8ll << 30, true};
    struct kg_kernelgym_worker workers[] = {{"a", 1}, {"b", 0}};
    struct kg_kernelgym_counts c = {.now_us = 1769903999000001,
                                    .since_us = 1769903999000001 - 7200000000,
                                    .pending = 5,
                                    .processing = 1,
                                    .completed = 3,
                                    .failed = 1,
                                    .ended_before = 2,
                                    .processed = 4,
                                    .processing_s = 8,
                                    .cpu_percent = NAN,
                                    .device = &gpu,
                                    .ndevices = 1,
                                    .worker = workers,
                                    .nworkers = 2};
    json_t *h = kg_kernelgym_health(&c), *m = kg_kernelgym_metrics(&c), *q = kg_kernelgym_queue(&c);
    assert_non_null(h);
    assert_string_equal(text(h, "status"), "healthy");
    assert_int_equal(number(h, "total_processed"), 4);
    assert_int_equal(number(h, "uptime"), 7200);
    assert_string_equal(
        text(json_object_get(json_object_get(h, "gpu_status"), "cuda:0"), "memory_used_percent"),
        "10.0%");
    json_t *p = json_object_get(m, "performance_metrics");
    assert_true(number(p, "success_rate") == 0.75 && number(p, "throughput_per_hour") == 1 &&
                number(p, "avg_processing_time") == 2);
    assert_int_equal(number(json_object_get(m, "resource_metrics"), "avg_gpu_utilization"), 50);
    assert_int_equal(number(json_object_get(q, "pending_by_prefix"), "kernelgym"), 5);
    assert_int_equal(number(json_object_get(q, "worker_queues"), "a"), 1);
    json_decref(h);
    json_decref(m);
    json_decref(q);
    json_t *none = kg_kernelgym_metrics(&(struct kg_kernelgym_counts){.now_us = 1});
    assert_non_null(none);
    json_decref(none);
    json_t *root = kg_kernelgym_root(1769903999000001);
    assert_string_equal(text(root, "name"), "KernelGYM");
    assert_int_equal(json_object_size(root), 4);
    json_decref(root);
}

/* Records as the gym writes them, of every kind. */
static void records_of_the_gym(void **state)
{
    (void)state;
    for (int kind = 0; kind < SAMPLE_KINDS; kind++) {
        struct kg_record r;
        sample_record(&r, (enum sample_kind)kind, 7);
        json_t *j = kg_record_json(&r, false), *result = kg_kernelgym_result(j, &task);
        has_the_members(result);
        bool ok = r.verdict == KG_V_OK;
        assert_int_equal(json_is_true(json_object_get(result, "correctness")), ok);
        assert_true(ok || number(result, "speedup") == 0);
        json_decref(result);
        json_decref(j);
        kg_record_deinit(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_outcome),
        cmocka_unit_test(speed_is_what_the_gym_rewards),
        cmocka_unit_test(own_kernels_are_counted_by_device_time),
        cmocka_unit_test(without_own_kernels_it_is_a_decoy),
        cmocka_unit_test(metadata_says_where_and_how),
        cmocka_unit_test(what_was_asked_is_heeded),
        cmocka_unit_test(texts_are_bounded_and_harmless),
        cmocka_unit_test(nothing_hidden_is_told),
        cmocka_unit_test(an_id_comes_back_as_it_was_sent),
        cmocka_unit_test(tasks_without_a_record),
        cmocka_unit_test(forms_around_results),
        cmocka_unit_test(counters_of_the_host),
        cmocka_unit_test(records_of_the_gym),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
