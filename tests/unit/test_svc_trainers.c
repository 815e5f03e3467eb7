/* Trainers' bodies: which text is judged, which problem is meant, and which records have no reward.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "svc/trainers.h"

static void accepted(const char *body, struct kg_trainers_request *r)
{
    struct kg_svc_refusal no;
    if (!kg_trainers_read(body, strlen(body), r, &no)) {
        fail_msg("%s: %s %s", body, no.field, no.message);
    }
}

static void refused(const char *body, const char *field)
{
    struct kg_trainers_request r;
    struct kg_svc_refusal no;
    assert_false(kg_trainers_read(body, strlen(body), &r, &no));
    assert_int_equal(no.status, 400);
    assert_string_equal(no.field, field);
    assert_null(strstr(no.message, "SECRET"));
}

static void reply_is(const struct kg_trainers_request *r, size_t i, const char *problem,
                     const char *reply)
{
    assert_string_equal(r->item[i].problem, problem);
    assert_int_equal(r->item[i].reply_len, strlen(reply));
    assert_memory_equal(r->item[i].reply, reply, strlen(reply));
}

static void slime_gives_a_response(void **state)
{
    (void)state;
    struct kg_trainers_request r;
    double reward = 2.5;
    accepted(
        "{\"prompt\": [{\"role\": \"user\"}], \"response\": \"```c x```\", \"label\": \"relu\"}",
        &r);
    assert_int_equal(r.n, 1);
    reply_is(&r, 0, "relu", "```c x```");
    json_t *j = kg_trainers_answer(&r, &reward);
    assert_true(json_number_value(j) == 2.5);
    json_decref(j);
    kg_trainers_deinit(&r);
}

static void a_query_is_cut_after_its_prompt(void **state)
{
    (void)state;
    struct kg_trainers_request r;
    double rewards[] = {1, -1, 0.5};
    accepted("{\"query\": [\"<s>Ask: ```c example```Answer\", \"Ask:Ask:b\", \"Ask:\"],"
             "\"prompts\": [\"Ask: ```c example```\", \"Ask:\", \"Ask:\"],"
             "\"labels\": [\"relu\", \"softmax\", \"rows.jsonl#3\"], \"more\": 1}",
             &r);
    assert_int_equal(r.n, 3);
    reply_is(&r, 0, "relu", "Answer");
    reply_is(&r, 1, "softmax", "Ask:b");
    reply_is(&r, 2, "rows.jsonl#3", "");
    json_t *j = kg_trainers_answer(&r, rewards);
    assert_int_equal(json_array_size(json_object_get(j, "rewards")), 3);
    assert_true(json_number_value(json_array_get(json_object_get(j, "rewards"), 1)) == -1);
    assert_true(json_equal(json_object_get(j, "rewards"), json_object_get(j, "scores")));
    json_decref(j);
    kg_trainers_deinit(&r);
}

static void a_retry_has_the_same_key(void **state)
{
    (void)state;
    struct kg_trainers_request a, b;
    static const char body[] = "{\"response\": \"x\", \"label\": \"relu\"}";
    static const char *const others[] = {"{\"response\": \"y\", \"label\": \"relu\"}",
                                         "{\"response\": \"x\", \"label\": \"gelu\"}"};
    accepted(body, &a);
    accepted(body, &b);
    assert_string_equal(a.item->key, b.item->key);
    kg_trainers_deinit(&b);
    for (size_t i = 0; i < 2; i++) {
        accepted(others[i], &b);
        assert_string_not_equal(a.item->key, b.item->key);
        kg_trainers_deinit(&b);
    }
    kg_trainers_deinit(&a);
}

static void bad_bodies_are_refused(void **state)
{
    (void)state;
    refused("{\"response\": \"SECRET", "");
    refused("[]", "");
    refused("{}", "");
    refused("{\"response\": \"x\", \"query\": []}", "");
    refused("{\"response\": 5, \"label\": \"relu\"}", "response");
    static const char *const labels[] = {
        "null",         "5",          "\"\"",        "\"../a\"",
        "\"/etc/p.c\"", "\"a\\\\b\"", "\".hidden\"", "\"a\\u0000b\""};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        char body[128];
        snprintf(body, sizeof body, "{\"response\": \"SECRET\", \"label\": %s}", labels[i]);
        refused(body, "label");
    }
    refused("{\"query\": [], \"prompts\": [], \"labels\": []}", "query");
    refused("{\"query\": \"q\", \"prompts\": [], \"labels\": []}", "query");
    refused("{\"query\": [\"a\"], \"labels\": [\"relu\"]}", "prompts");
    refused("{\"query\": [\"a\"], \"prompts\": [\"a\"]}", "labels");
    refused("{\"query\": [\"a\"], \"prompts\": [\"a\", \"b\"], \"labels\": [\"relu\"]}", "prompts");
    refused("{\"query\": [\"a\"], \"prompts\": [5], \"labels\": [\"relu\"]}", "query.0");
    /* Never the whole of a query, where its prompt is not found. */
    refused("{\"query\": [\"SECRET\"], \"prompts\": [\"b\"], \"labels\": [\"relu\"]}", "query.0");
    refused("{\"query\": [\"SECRET\"], \"prompts\": [\"\"], \"labels\": [\"relu\"]}", "query.0");
    refused("{\"query\": [\"ab\"], \"prompts\": [\"a\"], \"labels\": [\"a/b\"]}", "labels.0");
}

static bool reward_of(const char *text, double *out)
{
    struct kg_err err = KG_ERR_INIT;
    char why[128] = "";
    json_t *record;
    assert_int_equal(kg_json_parse(text, strlen(text), "test", &record, &err), KG_OK);
    bool good = kg_trainers_reward(record, "dr-kernel", out, why, sizeof why);
    assert_true(good == (why[0] == '\0'));
    json_decref(record);
    return good;
}

#define REWARDS "\"rewards\": {\"dr-kernel\": {\"value\": 2.82}}"

static void what_the_gym_could_not_has_no_reward(void **state)
{
    (void)state;
    double x = 7;
    assert_true(reward_of("{\"verdict\": \"ok\", \"error\": null, " REWARDS "}", &x));
    assert_true(x == 2.82);
    assert_true(
        reward_of("{\"verdict\": \"wrong\", \"rewards\": {\"dr-kernel\": {\"value\": 0}}}", &x));
    assert_true(x == 0);
    assert_true(reward_of("{\"verdict\": null, \"error\": {\"blame\": \"candidate\"}, \"rewards\": "
                          "{\"dr-kernel\": {\"value\": 0}}}",
                          &x));
    static const char *const none[] = {
        "{\"verdict\": null, \"error\": {\"blame\": \"gym\", \"message\": \"m\"}, " REWARDS "}",
        "{\"verdict\": null, \"error\": {\"blame\": \"host\"}, \"rewards\": {}}",
        "{\"verdict\": null, \"error\": {\"blame\": \"problem\"}, \"rewards\": {}}",
        "{\"verdict\": null, \"error\": {}, " REWARDS "}",
        "{\"verdict\": null, \"error\": null, " REWARDS "}",
        "{\"verdict\": \"ok\", \"error\": null, \"rewards\": {}}",
        "{\"verdict\": \"ok\", \"rewards\": {\"binary\": {\"value\": 1}}}",
        "{\"verdict\": \"ok\", \"rewards\": {\"dr-kernel\": {\"value\": null}}}",
        "[]",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_false(reward_of(none[i], &x));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slime_gives_a_response),
        cmocka_unit_test(a_query_is_cut_after_its_prompt),
        cmocka_unit_test(a_retry_has_the_same_key),
        cmocka_unit_test(bad_bodies_are_refused),
        cmocka_unit_test(what_the_gym_could_not_has_no_reward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
