/* KernelGYM's requests: defaults, coercions, refusals, what cannot be judged, and the options that
 * come of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gym/eval/config.h"
#include "svc/kernelgym_request.h"

#define REFERENCE "import torch\\nclass Model(torch.nn.Module):\\n    pass\\n"
#define KERNEL    "import torch\\nclass ModelNew(torch.nn.Module):\\n    pass\\n"

static const struct kg_kernelgym_settings own;

/* A request of two sources and one more member. */
static const char *body_with(const char *member)
{
    static char text[4096];
    snprintf(text, sizeof text,
             "{\"task_id\": \"t\", \"reference_code\": \"" REFERENCE
             "\", \"kernel_code\": \"" KERNEL "\"%s%s}",
             *member ? ", " : "", member);
    return text;
}

static void accepted(const char *body, struct kg_kernelgym_request *r)
{
    struct kg_kernelgym_refusal no;
    if (!kg_kernelgym_request_read(body, strlen(body), &own, r, &no)) {
        fail_msg("%s: %s", body, no.message);
    }
}

static void refused(const char *body, const char *words, bool detail)
{
    struct kg_kernelgym_request r;
    struct kg_kernelgym_refusal no;
    assert_false(kg_kernelgym_request_read(body, strlen(body), &own, &r, &no));
    assert_int_equal(no.status, 400);
    assert_int_equal(no.detail, detail);
    if (!strstr(no.message, words)) {
        fail_msg("%s: %s", words, no.message);
    }
}

static bool has_option(const struct kg_kernelgym_request *r, const char *option)
{
    size_t i;
    json_t *o;
    json_array_foreach(r->options, i, o)
    {
        if (strcmp(json_string_value(o), option) == 0) {
            return true;
        }
    }
    return false;
}

static void defaults(void **state)
{
    (void)state;
    struct kg_kernelgym_request r;
    accepted(body_with(""), &r);
    assert_string_equal(r.task_id, "t");
    assert_string_equal(r.entry, "Model");
    assert_int_equal(r.priority, KG_KERNELGYM_NORMAL);
    assert_int_equal(r.budget_s, 300);
    assert_false(r.force_refresh || r.polls);
    assert_null(r.failure_code);
    static const char *const options[] = {"precision=tf32",    "stage.full=yes",
                                          "stage.timing=yes",  "stage.profile=yes",
                                          "timing.warmups=10", "timing.blocks=25"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        assert_true(has_option(&r, options[i]));
    }
    kg_kernelgym_request_deinit(&r);
}

static void members_become_options(void **state)
{
    (void)state;
    static const struct {
        const char *member, *option;
    } cases[] = {
        {"\"num_warmup\": 50", "timing.warmups=50"},
        {"\"num_warmup\": 0", "timing.warmups=10"},
        {"\"num_perf_trials\": 1", "timing.blocks=2"},
        {"\"num_perf_trials\": 1000", "timing.blocks=128"},
        {"\"timeout\": 10", "torch.deadline_eval=10"},
        {"\"timeout\": 3600", "torch.deadline_compile=300"},
        {"\"run_performance\": false", "stage.timing=no"},
        {"\"measure_performance\": \"off\"", "stage.timing=no"},
        {"\"run_performance\": true, \"measure_performance\": false", "stage.timing=yes"},
        {"\"run_correctness\": 0", "stage.full=no"},
        {"\"enable_profiling\": false", "stage.profile=yes"}, /* for the decoys */
        {"\"enable_profiling\": false, \"run_triton_detection\": false", "stage.profile=no"},
        {"\"enable_profiling\": false, \"backend\": \"cuda\"", "stage.profile=no"},
        {"\"enable_profiling\": false, \"backend\": \"cuda\", \"enable_triton_detection\": true",
         "stage.profile=yes"},
        {"\"detect_decoy_kernel\": false", "stage.profile=yes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_kernelgym_request r;
        struct kg_config c;
        struct kg_err err = KG_ERR_INIT;
        json_t *o;
        size_t k;
        accepted(body_with(cases[i].member), &r);
        if (!has_option(&r, cases[i].option)) {
            fail_msg("%s: not %s", cases[i].member, cases[i].option);
        }
        kg_opts_defaults(kg_config_options(), &c);
        json_array_foreach(r.options, k, o)
        {
            assert_int_equal(
                kg_opts_set_pair(kg_config_options(), &c, json_string_value(o), "test", &err),
                KG_OK);
        }
        assert_int_equal(kg_config_check(&c, &err), KG_OK);
        kg_kernelgym_request_deinit(&r);
    }
}

static void values_are_coerced(void **state)
{
    (void)state;
    static const char *const good[] = {"300", "300.0", "\"300\"", "\" 300.0 \"", "\"+300\""};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct kg_kernelgym_request r;
        char member[64];
        snprintf(member, sizeof member, "\"timeout\": %s", good[i]);
        accepted(body_with(member), &r);
        assert_int_equal(r.budget_s, 300);
        kg_kernelgym_request_deinit(&r);
    }
    static const char *const yes[] = {"true", "1", "1.0", "\"true\"", "\"YES\"", "\"t\"", "\"On\""};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        struct kg_kernelgym_request r;
        char member[64];
        snprintf(member, sizeof member, "\"force_refresh\": %s", yes[i]);
        accepted(body_with(member), &r);
        assert_true(r.force_refresh);
        kg_kernelgym_request_deinit(&r);
    }
    static const char *const bad[] = {
        "\"timeout\": 300.5",
        "\"timeout\": \"300.5\"",
        "\"timeout\": \"\"",
        "\"timeout\": null",
        "\"timeout\": true",
        "\"timeout\": 9",
        "\"timeout\": 3601",
        "\"timeout\": \"30 0\"",
        "\"timeout\": \"300.\"",
        "\"timeout\": [300]",
        "\"force_refresh\": 2",
        "\"force_refresh\": \" yes\"",
        "\"is_valid\": null",
        "\"backend\": \"Triton\"",
        "\"backend\": 1",
        "\"priority\": null",
        "\"entry_point\": 5",
        "\"cases\": {}",
        "\"resources\": []",
        "\"num_correct_trials\": 0",
        "\"num_correct_trials\": 21",
        "\"num_perf_trials\": 0",
        "\"num_warmup\": 101",
        "\"task_id\": \"\"",
        "\"task_id\": null",
        "\"task_id\": \"a\\u0000b\"",
        "\"toolkit\": null",
        "\"uuid\": 5",
        "\"kernel_code\": \"  short \"",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s:", (int)strcspn(bad[i] + 1, "\""), bad[i] + 1);
        refused(body_with(bad[i]), name, false);
    }
}

static void refusals_repeat_nothing(void **state)
{
    (void)state;
    refused("{\"task_id\": \"t\", \"reference_code\": \"class Secret: pass\"}",
            "kernel_code: is missing", false);
    refused("{\"task_id\": \"class Secret", "body:", false);
    refused("[]", "body: must be an object", false);
    refused("{\"task_id\": \"t\", \"kernel_code\": \"class Secret: pass\"}",
            "reference_code: is missing", false);
    refused(body_with("\"workflow\": \"kernel_simple\""), "workflow:", true);
    refused(body_with("\"workflow\": \"kernelbench x\""), "workflow:", true);
    refused(body_with("\"toolkit\": \"other\""), "toolkit:", true);
    refused(body_with("\"backend_adapter\": \"other\""), "backend_adapter:", true);
    struct kg_kernelgym_refusal no;
    struct kg_kernelgym_request r;
    const char *body = "{\"task_id\": \"t\", \"reference_code\": 7, \"kernel_code\": \"Secret\"}";
    assert_false(kg_kernelgym_request_read(body, strlen(body), &own, &r, &no));
    json_t *j = kg_kernelgym_refusal_body(&no, 1769903999000001);
    assert_string_equal(json_string_value(json_object_get(j, "error")), "RequestValidationError");
    assert_string_equal(json_string_value(json_object_get(j, "error_code")), "VALIDATION_ERROR");
    assert_string_equal(json_string_value(json_object_get(j, "timestamp")),
                        "2026-01-31T23:59:59.000001Z");
    assert_true(json_is_null(json_object_get(j, "task_id")));
    assert_null(strstr(no.message, "Secret"));
    json_decref(j);
}

static void unknown_and_duplicate_members(void **state)
{
    (void)state;
    struct kg_kernelgym_request r;
    accepted(
        body_with("\"unknown\": [1], \"timeout\": 50, \"timeout\": 60, \"detect_decoy_kernel\": "
                  "null, \"workflow\": \" KernelBench \", \"resources\": {\"gpus\": null}"),
        &r);
    assert_int_equal(r.budget_s, 60);
    assert_true(r.polls);
    assert_null(r.failure_code);
    kg_kernelgym_request_deinit(&r);
    accepted(body_with("\"workflow\": null"), &r);
    kg_kernelgym_request_deinit(&r);
}

/* A source of n characters of four bytes, then `tail`. */
static bool reads(size_t n, const char *tail, struct kg_kernelgym_request *r)
{
    struct kg_buf b;
    struct kg_kernelgym_refusal no;
    kg_buf_init(&b, 1 << 20);
    kg_buf_adds(&b,
                "{\"task_id\": \"t\", \"reference_code\": \"" REFERENCE "\", \"kernel_code\": \"");
    for (size_t i = 0; i < n; i++) {
        kg_buf_adds(&b, "\xf0\x9f\x98\x80");
    }
    kg_buf_addf(&b, "%s\"}", tail);
    bool good = kg_kernelgym_request_read(b.data, b.len, &own, r, &no);
    kg_buf_deinit(&b);
    return good;
}

static void lengths_count_characters(void **state)
{
    (void)state;
    struct kg_kernelgym_request r;
    assert_true(reads(100000, "", &r));
    assert_int_equal(r.kernel.len, 400000);
    assert_string_equal(r.failure_code, "VALIDATION_ERROR");
    kg_kernelgym_request_deinit(&r);
    assert_false(reads(100001, "", &r));
    assert_true(reads(0, "ModelNew\\u0000\\ud800 after", &r));
    assert_int_equal(r.kernel.len, strlen("ModelNew") + 1 + 3 + strlen(" after"));
    assert_memory_equal(r.kernel.bytes + 8, "\0\xEF\xBF\xBD after", 10);
    kg_kernelgym_request_deinit(&r);
    assert_false(reads(0, "\\u3000 123456789 \\u00a0", &r));
    assert_true(reads(0, "\\u3000 1234 56789", &r));
    kg_kernelgym_request_deinit(&r);
}

static void fails_at_once(const char *member, const char *code, const char *words)
{
    struct kg_kernelgym_request r;
    accepted(body_with(member), &r);
    if (!code) {
        assert_null(r.failure_code);
    } else if (!r.failure_code || strcmp(r.failure_code, code) != 0 || !strstr(r.failure, words)) {
        fail_msg("%s: %s %s", member, r.failure_code ? r.failure_code : "judged", r.failure);
    }
    kg_kernelgym_request_deinit(&r);
}

static void some_requests_cannot_be_judged(void **state)
{
    (void)state;
    static const char bad[] = "VALIDATION_ERROR";
    fails_at_once("\"resources\": {\"gpus\": 0}", bad, "resources.gpus must be >= 1");
    fails_at_once("\"resources\": {\"gpus\": \"x\"}", bad, "resources.gpus must be an integer");
    fails_at_once("\"resources\": {\"gpus\": []}", bad, "resources.gpus must be an integer");
    fails_at_once("\"resources\": {\"gpus\": 2}", "RESOURCE_ERROR", "at most 1");
    fails_at_once("\"resources\": {\"gpus\": \"1\"}", NULL, "");
    fails_at_once("\"entry_point\": \"Other\"", bad,
                  "Reference code validation failed: Code must "
                  "contain a 'Other' class");
    fails_at_once("\"entry_point\": \"\"", bad, "Reference code validation failed: ");
    fails_at_once("\"entry_point\": \"a b\"", bad, "Reference code validation failed: ");
    fails_at_once("\"kernel_code\": \"class ModelNewer: pass\"", bad,
                  "Kernel code validation failed: Code must contain a 'ModelNew' class");
    fails_at_once("\"kernel_code\": \"from x import *  # more\"", NULL, "");
    fails_at_once("\"kernel_code\": \"ModelNew = make_it()\"", NULL, "");
    fails_at_once("\"kernel_code\": \"from x import ModelNew\"", NULL, "");
    fails_at_once("\"use_reference_cache\": true", NULL, "");
}

static void keys_tell_content_apart(void **state)
{
    (void)state;
    struct kg_kernelgym_request a, b;
    static const char *const other[] = {"\"kernel_code\": \"class ModelNew: other\"",
                                        "\"backend\": \"cuda\"", "\"num_correct_trials\": 6",
                                        "\"run_performance\": false",
                                        "\"reference_backend\": \"compile\""};
    static const char *const same[] = {"\"task_id\": \"u\"", "\"priority\": \"low\"",
                                       "\"uuid\": \"u\"", "\"verbose_errors\": false"};
    accepted(body_with(""), &a);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        accepted(body_with(other[i]), &b);
        assert_string_not_equal(a.content_key, b.content_key);
        kg_kernelgym_request_deinit(&b);
    }
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        accepted(body_with(same[i]), &b);
        assert_string_equal(a.content_key, b.content_key);
        kg_kernelgym_request_deinit(&b);
    }
    kg_kernelgym_request_deinit(&a);
}

static bool workflow(const char *body, struct kg_kernelgym_request *r,
                     struct kg_kernelgym_refusal *no)
{
    return kg_kernelgym_workflow_read(body, strlen(body), &own, r, no);
}

static void workflows_wrap_a_request(void **state)
{
    (void)state;
    struct kg_kernelgym_request r;
    struct kg_kernelgym_refusal no;
    char body[2048];
    snprintf(body, sizeof body,
             "{\"task_id\": \"outer\", \"force_refresh\": true, \"resources\": {\"gpus\": 3}, "
             "\"payload\": %s}",
             body_with("\"workflow\": \"kernel_simple\""));
    assert_true(workflow(body, &r, &no));
    assert_string_equal(r.task_id, "outer");
    assert_true(r.force_refresh);
    assert_string_equal(r.failure_code, "RESOURCE_ERROR");
    kg_kernelgym_request_deinit(&r);
    assert_false(workflow("{}", &r, &no));
    assert_true(no.detail);
    assert_string_equal(no.message, "task_id is required");
    assert_false(workflow("{\"task_id\": \"t\"}", &r, &no));
    assert_string_equal(no.message, "payload.kernel_code: is missing");
    assert_false(workflow("{\"task_id\": \"t\", \"workflow\": null}", &r, &no));
    assert_false(workflow("{\"task_id\": \"t\", \"payload\": []}", &r, &no));
    snprintf(body, sizeof body, "{\"workflow\": \"other\", \"payload\": %s}", body_with(""));
    assert_false(workflow(body, &r, &no));
    assert_true(no.detail);
}

static void one_bad_task_refuses_a_batch(void **state)
{
    (void)state;
    struct kg_kernelgym_batch b;
    struct kg_kernelgym_refusal no;
    char body[8192], good[2048];
    snprintf(good, sizeof good, "%s", body_with(""));
    snprintf(body, sizeof body, "{\"batch_id\": \"\", \"tasks\": [%s, %s]}", good, good);
    assert_true(kg_kernelgym_batch_read(body, strlen(body), &own, &b, &no));
    assert_int_equal(b.n, 2);
    kg_kernelgym_batch_deinit(&b);
    snprintf(body, sizeof body, "{\"batch_id\": \"b\", \"tasks\": [%s, {\"task_id\": \"t\"}]}",
             good);
    assert_false(kg_kernelgym_batch_read(body, strlen(body), &own, &b, &no));
    assert_string_equal(no.message, "tasks.1.kernel_code: is missing");
    static const char *const bad[] = {"{\"tasks\": []}", "{\"batch_id\": \"b\"}",
                                      "{\"batch_id\": \"b\", \"tasks\": []}",
                                      "{\"batch_id\": \"b\", \"tasks\": [1]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(kg_kernelgym_batch_read(bad[i], strlen(bad[i]), &own, &b, &no));
    }
}

static void reports_of_a_request(void **state)
{
    (void)state;
    struct kg_kernelgym_request r;
    accepted(body_with("\"kernel_code\": \"class Nothing: pass\", \"uuid\": \"u\""), &r);
    json_t *j = kg_kernelgym_validation(&r);
    assert_non_null(j);
    assert_true(json_is_false(json_object_get(j, "valid")));
    assert_int_equal(json_array_size(json_object_get(j, "errors")), 1);
    assert_true(json_is_true(json_object_get(json_object_get(j, "reference"), "valid")));
    assert_true(json_is_false(json_object_get(json_object_get(j, "kernel"), "valid")));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(j, "kernel"), "entry_point")),
        "ModelNew");
    assert_int_equal(json_object_size(json_object_get(j, "request_info")), 8);
    json_decref(j);
    kg_kernelgym_request_deinit(&r);
}

static void settings_that_earn_nothing_are_refused(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_kernelgym_check(&own, &err), KG_OK);
    assert_int_equal(
        kg_kernelgym_check(&(struct kg_kernelgym_settings){.preset = "kernelbench"}, &err),
        KG_E_USAGE);
    assert_int_equal(kg_kernelgym_check(&(struct kg_kernelgym_settings){.precision = "bf16"}, &err),
                     KG_E_USAGE);
    struct kg_kernelgym_settings s = {.precision = "fp32", .no_profile = true};
    struct kg_kernelgym_request r;
    struct kg_kernelgym_refusal no;
    assert_int_equal(kg_kernelgym_check(&s, &err), KG_OK);
    const char *body = body_with("\"backend\": \"cuda\"");
    assert_true(kg_kernelgym_request_read(body, strlen(body), &s, &r, &no));
    assert_true(has_option(&r, "precision=fp32") && has_option(&r, "stage.profile=no"));
    kg_kernelgym_request_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(members_become_options),
        cmocka_unit_test(values_are_coerced),
        cmocka_unit_test(refusals_repeat_nothing),
        cmocka_unit_test(unknown_and_duplicate_members),
        cmocka_unit_test(lengths_count_characters),
        cmocka_unit_test(some_requests_cannot_be_judged),
        cmocka_unit_test(keys_tell_content_apart),
        cmocka_unit_test(workflows_wrap_a_request),
        cmocka_unit_test(one_bad_task_refuses_a_batch),
        cmocka_unit_test(reports_of_a_request),
        cmocka_unit_test(settings_that_earn_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
