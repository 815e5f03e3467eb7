/* openapi.json describes each route of the table and no other, and the check that holds answers to
 * it (tests/support/svc_schema.h, in every test of the service) can fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/version.h"
#include "svc/api_private.h"
#include "tests/support/svc_rig.h"
#include "tests/support/svc_schema.h"

/* "/v1/evaluations/{id}" and "/v1/evaluations/ *" as "/v1/evaluations/{}". */
static void shape_of(const char *path, char out[256])
{
    size_t n = 0;
    for (const char *at = path; *at != '\0';) {
        size_t len = strcspn(at, "/");
        bool any = at[0] == '*' || at[0] == '{';
        n += (size_t)snprintf(out + n, 256 - n, "%.*s%s", any ? 2 : (int)len, any ? "{}" : at,
                              at[len] == '/' ? "/" : "");
        at += len + (at[len] == '/');
    }
}

static bool same_route(const struct kg_svc_route *r, const char *method, const char *path)
{
    char a[256], b[256];
    shape_of(r->pattern, a);
    shape_of(path, b);
    return strcasecmp(r->method, method) == 0 && strcmp(a, b) == 0;
}

static const char *scope_name(unsigned scope)
{
    return scope == KG_SVC_SUBMIT   ? "submit"
           : scope == KG_SVC_READ   ? "read"
           : scope == KG_SVC_WORKER ? "worker"
                                    : "admin";
}

/* Who may: the table and the description agree. */
static void scope_agrees(const struct kg_svc_route *r, const json_t *op)
{
    const json_t *security = json_object_get(op, "security");
    const json_t *token = json_object_get(json_array_get(security, 0), "token");
    const char *scope = json_string_value(json_array_get(token, 0));
    if (r->scope == KG_SVC_OPEN ? json_array_size(security) != 0
                                : scope == NULL || strcmp(scope, scope_name(r->scope)) != 0) {
        fail_msg("openapi.json: %s %s: the scope is not that of the table", r->method, r->pattern);
    }
}

static const json_t *described(const struct kg_svc_route *r)
{
    const json_t *paths = json_object_get(svc_schema_openapi(), "paths");
    const char *path, *method;
    json_t *entry, *op;
    json_object_foreach((json_t *)(uintptr_t)paths, path, entry)
    {
        json_object_foreach(entry, method, op)
        {
            if (same_route(r, method, path)) {
                return op;
            }
        }
    }
    return NULL;
}

static void each_route_is_described(void **state)
{
    size_t n;
    (void)state;
    const struct kg_svc_route *r = kg_svc_api_routes(&n);
    for (size_t i = 0; i < n; i++) {
        const json_t *op = described(&r[i]);
        if (op == NULL) {
            fail_msg("openapi.json lacks %s %s", r[i].method, r[i].pattern);
        }
        scope_agrees(&r[i], op);
        assert_true(strlen(svc_text(op, "summary")) > 0);
    }
}

static void no_other_route_is_described(void **state)
{
    const json_t *paths = json_object_get(svc_schema_openapi(), "paths");
    const char *path, *method;
    json_t *entry, *op;
    size_t n;
    (void)state;
    const struct kg_svc_route *r = kg_svc_api_routes(&n);
    json_object_foreach((json_t *)(uintptr_t)paths, path, entry)
    {
        json_object_foreach(entry, method, op)
        {
            bool there = false;
            for (size_t i = 0; i < n; i++) {
                there = there || same_route(&r[i], method, path);
            }
            if (!there) {
                fail_msg("openapi.json has %s %s, and the table has not", method, path);
            }
            /* What stands for `*` has a name and a place. */
            size_t names = 0;
            for (const char *at = path; (at = strchr(at, '{')) != NULL; at++) {
                names++;
            }
            const json_t *list = json_object_get(op, "parameters");
            for (size_t i = 0; i < json_array_size(list); i++) {
                names -= strcmp(svc_text(json_array_get(list, i), "in"), "path") == 0;
            }
            assert_int_equal(names, 0);
        }
    }
}

static void it_is_served(void **state)
{
    (void)state;
    svc_start("--no-work");
    json_t *j = svc_json(200, "GET", "/openapi.json", "");
    assert_string_equal(svc_text(j, "openapi"), "3.1.0");
    assert_string_equal(svc_text(json_object_get(j, "info"), "version"), KG_VERSION);
    assert_true(json_equal(j, svc_schema_openapi()));
    json_decref(j);
}

/* Each rule of the check, broken once. */
static void the_check_fails_on_what_does_not_fit(void **state)
{
    static const struct {
        const char *schema, *good, *bad;
    } rules[] = {
        {"{\"type\": \"integer\"}", "1", "1.5"},
        {"{\"type\": \"number\"}", "1.5", "\"1\""},
        {"{\"type\": [\"string\", \"null\"]}", "null", "0"},
        {"{\"type\": \"boolean\"}", "true", "1"},
        {"{\"type\": \"array\", \"items\": {\"type\": \"string\"}}", "[\"a\"]", "[\"a\", 1]"},
        {"{\"enum\": [\"a\", \"b\"]}", "\"b\"", "\"c\""},
        {"{\"const\": true}", "true", "false"},
        {"{\"type\": \"object\", \"required\": [\"a\"]}", "{\"a\": 1}", "{}"},
        {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}}", "{\"a\": \"\"}",
         "{\"a\": 1}"},
        {"{\"properties\": {\"a\": {}}, \"additionalProperties\": false}", "{\"a\": 1}",
         "{\"b\": 1}"},
        {"{\"additionalProperties\": {\"type\": \"integer\"}}", "{\"b\": 1}", "{\"b\": \"\"}"},
        {"{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]}", "null", "1"},
        {"{\"$ref\": \"#/components/schemas/Error\"}",
         "{\"code\": \"\", \"message\": \"\", \"field\": null}", "{\"detail\": \"\"}"}};
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char why[200];
        json_t *schema = json_loads(rules[i].schema, 0, NULL);
        json_t *good = json_loads(rules[i].good, JSON_DECODE_ANY, NULL);
        json_t *bad = json_loads(rules[i].bad, JSON_DECODE_ANY, NULL);
        assert_true(svc_schema_fits(schema, good, why));
        assert_false(svc_schema_fits(schema, bad, why));
        json_decref(schema);
        json_decref(good);
        json_decref(bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_route_is_described), cmocka_unit_test(no_other_route_is_described),
        cmocka_unit_test(the_check_fails_on_what_does_not_fit),
        cmocka_unit_test_setup_teardown(it_is_served, svc_setup, svc_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
