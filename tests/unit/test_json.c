#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/json_foreign.h"

static void expect_dump(const char *text, const char *want)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf b;
    json_t *j;
    assert_int_equal(kg_json_parse(text, strlen(text), "t", &j, &err), KG_OK);
    kg_buf_init(&b, 10000);
    kg_json_dump(j, &b);
    assert_string_equal(b.data, want);
    kg_buf_deinit(&b);
    json_decref(j);
}

static void one_line_in_order(void **state)
{
    (void)state;
    expect_dump("{ \"z\": 1,\n \"a\": [true, null, \"x\"] }", "{\"z\":1,\"a\":[true,null,\"x\"]}");
    expect_dump("[]", "[]");
    expect_dump("\"text\"", "\"text\"");
    expect_dump("\"\\u00e9\\n\\\"\"", "\"\xc3\xa9\\n\\\"\"");
}

static void reals_are_short(void **state)
{
    (void)state;
    expect_dump("[0.1, 2.0, 1e300, -0.5, 0.30000000000000004]",
                "[0.1,2.0,1e+300,-0.5,0.30000000000000004]");
    expect_dump("[1, -12, 9007199254740993]", "[1,-12,9007199254740993]");
    /* Digits inside a string are text, whatever quotes come before them. */
    expect_dump(
        "{\"0.10000000000000001\":\"\\\"0.10000000000000001\\\\\",\"b\":0.10000000000000001}",
        "{\"0.10000000000000001\":\"\\\"0.10000000000000001\\\\\",\"b\":0.1}");
}

static void pretty_has_lines(void **state)
{
    (void)state;
    struct kg_buf b;
    json_t *j = json_pack("{s:i,s:[f]}", "a", 1, "b", 0.1);
    kg_buf_init(&b, 1000);
    kg_json_dump_pretty(j, &b);
    assert_string_equal(b.data, "{\n  \"a\": 1,\n  \"b\": [\n    0.1\n  ]\n}");
    kg_buf_deinit(&b);
    json_decref(j);
}

static void dump_beyond_the_buffer_is_marked(void **state)
{
    (void)state;
    struct kg_buf b;
    json_t *j = json_pack("[s]", "0123456789");
    kg_buf_init(&b, 5);
    kg_json_dump(j, &b);
    assert_false(kg_buf_ok(&b));
    kg_buf_deinit(&b);
    json_decref(j);
}

static void errors_name_source_line_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "f.json:1:1: not valid JSON: unexpected token near end of file"},
        {"{\"a\":}", "f.json:1:6: not valid JSON: unexpected token near '}'"},
        {"[1,\n 2,\n x]", "f.json:3:2: not valid JSON: invalid token near 'x'"},
        {"{\"a\":1,\n\"a\":2}", "f.json:2:3: not valid JSON: duplicate object key near '\"a\"'"},
        {"[1] 2", "f.json:1:5: not valid JSON: end of file expected near '2'"},
        {"[1e999]", "f.json:1:6: a number beyond what is read: real number overflow near '1e999'"},
        {"[\"\001\"]", "f.json:1:2: not valid JSON: control character 0x1 near '\"'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_err err = KG_ERR_INIT;
        json_t *j;
        assert_int_equal(kg_json_parse(cases[i].text, strlen(cases[i].text), "f.json", &j, &err),
                         KG_E_INPUT);
        assert_string_equal(err.message, cases[i].message);
        assert_null(j);
    }
}

/* Other tools write integers of any size: they become reals, and others stay whole. */
static void foreign_integers_may_be_large(void **state)
{
    static const struct {
        const char *text, *dump;
    } cases[] = {
        {"{\"m\":1000000000000000019884624838656,\"n\":[7, -1]}", "{\"m\":1e+30,\"n\":[7,-1]}"},
        {"[9223372036854775807, -9223372036854775808]",
         "[9223372036854775807,-9223372036854775808]"},
        {"[9223372036854775808,-9223372036854775809,3]",
         "[9.223372036854776e+18,-9.223372036854776e+18,3]"},
        {"[\"12345678901234567890123\\\"1\", 123456789012345678901234567890.5]",
         "[\"12345678901234567890123\\\"1\",1.2345678901234568e+29]"},
        {"18446744073709551615", "1.8446744073709552e+19"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_err err = KG_ERR_INIT;
        struct kg_buf b;
        json_t *j;
        assert_int_equal(
            kg_json_parse_foreign(cases[i].text, strlen(cases[i].text), "t", false, &j, &err),
            KG_OK);
        kg_buf_init(&b, 10000);
        kg_json_dump(j, &b);
        assert_string_equal(b.data, cases[i].dump);
        kg_buf_deinit(&b);
        json_decref(j);
    }
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    assert_int_equal(kg_json_parse_foreign("[1,]", 4, "f.jsonl:7", true, &j, &err), KG_E_INPUT);
    assert_string_equal(err.message, "f.jsonl:7:4: not valid JSON: unexpected token near ']'");
    assert_null(j);
    assert_int_equal(kg_json_parse("[1e5,9223372036854775808]", 25, "f", &j, &err), KG_E_INPUT);
    assert_string_equal(err.message, "f:1:24: a number beyond what is read: too big integer near "
                                     "'9223372036854775808'");
}

/* A line of a file has its own number: the parser's, always 1, is left out. */
static void errors_of_a_line_name_its_column_alone(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    assert_int_equal(kg_json_parse_line("nonsense", 8, "f.jsonl:7", &j, &err), KG_E_INPUT);
    assert_string_equal(err.message, "f.jsonl:7:8: not valid JSON: invalid token near 'nonsense'");
    char deep[200];
    memset(deep, '[', sizeof deep);
    assert_int_equal(kg_json_parse_line(deep, sizeof deep, "f.jsonl:7", &j, &err), KG_E_INPUT);
    assert_string_equal(err.message, "f.jsonl:7:65: more than 64 levels of nesting");
    assert_int_equal(kg_json_parse_line("[1]", 3, "f.jsonl:7", &j, &err), KG_OK);
    json_decref(j);
}

static void invalid_utf8_is_an_error(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    static const char *const bad[] = {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"",
                                      "\"\\ud800\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(kg_json_parse(bad[i], strlen(bad[i]), "f", &j, &err), KG_E_INPUT);
        assert_non_null(strstr(err.message, "f:1:"));
    }
}

static void depth_is_bounded(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    static char text[200001];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_int_equal(kg_json_parse(text, 128, "f", &j, &err), KG_OK);
    json_decref(j);
    memset(text, '[', sizeof text);
    text[3] = '\n';
    assert_int_equal(kg_json_parse(text, sizeof text, "f", &j, &err), KG_E_INPUT);
    assert_string_equal(err.message, "f:2:62: more than 64 levels of nesting");
    /* Brackets in a string are no levels. */
    memset(text, '[', 1000);
    text[0] = '"';
    text[500] = '\\';
    text[501] = '"';
    text[999] = '"';
    assert_int_equal(kg_json_parse(text, 1000, "f", &j, &err), KG_OK);
    json_decref(j);
}

static void nul_in_and_around_strings(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    assert_int_equal(kg_json_parse("\"a\\u0000b\"", 10, "f", &j, &err), KG_OK);
    assert_int_equal(json_string_length(j), 3);
    struct kg_buf b;
    kg_buf_init(&b, 100);
    kg_json_dump(j, &b);
    assert_string_equal(b.data, "\"a\\u0000b\"");
    kg_buf_deinit(&b);
    json_decref(j);
    assert_int_equal(kg_json_parse("\"a\0b\"", 5, "f", &j, &err), KG_E_INPUT);
    assert_int_equal(kg_json_parse("[1]\0", 4, "f", &j, &err), KG_E_INPUT);
    assert_int_equal(kg_json_parse("{\"a\\u0000\":1}", 13, "f", &j, &err), KG_E_INPUT);
}

#define BAD "\xEF\xBF\xBD"

static void any_bytes_become_text(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } cases[] = {
        {"", 0, ""},
        {"plain", 5, "plain"},
        {"a\0b", 3, "ab"},
        {"\xff", 1, BAD},
        {"x\x80y", 3, "x" BAD "y"},
        {"\xc3\xa9", 2, "\xc3\xa9"},
        {"\xc3", 1, BAD},
        {"\xe2\x82", 2, BAD}, /* one cut character, one replacement */
        {"\xe2\x82x", 3, BAD "x"},
        {"\xc0\xaf", 2, BAD BAD},         /* overlong */
        {"\xed\xa0\x80", 3, BAD BAD BAD}, /* surrogate */
        {"\xf4\x90\x80\x80", 4, BAD BAD BAD BAD},
        {"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *j = kg_json_text(cases[i].bytes, cases[i].n);
        assert_non_null(j);
        assert_string_equal(json_string_value(j), cases[i].text);
        char *again = json_dumps(j, JSON_ENCODE_ANY);
        assert_non_null(again);
        free(again);
        json_decref(j);
    }
}

static void foreign_bodies_are_read_loosely(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"{\"a\": \"x\", \"a\": \"y\"}", "y"},
        {"{\"a\": \"\\ud800\"}", BAD},
        {"{\"a\": \"\\uDC00z\"}", BAD "z"},
        {"{\"a\": \"\\ud83d\\ude00\"}", "\xf0\x9f\x98\x80"},
        {"{\"a\": \"\\ud83d\\ud83d\\ude00\"}", BAD "\xf0\x9f\x98\x80"},
        {"{\"a\": \"\\\\ud800\"}", "\\ud800"},
        {"{\"a\": \"\\\\\\ud800\"}", "\\" BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(kg_json_parse_loose(cases[i].text, strlen(cases[i].text), "f", &j, &err),
                         KG_OK);
        assert_string_equal(json_string_value(json_object_get(j, "a")), cases[i].value);
        json_decref(j);
    }
    static const char *const bad[] = {"{\"a\": \"\\ud8", "\\ud800", "{\"a\": \"\\ud8zz\"}", "\\"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(kg_json_parse_loose(bad[i], strlen(bad[i]), "f", &j, &err), KG_E_INPUT);
        assert_null(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line_in_order),
        cmocka_unit_test(reals_are_short),
        cmocka_unit_test(pretty_has_lines),
        cmocka_unit_test(dump_beyond_the_buffer_is_marked),
        cmocka_unit_test(errors_name_source_line_column),
        cmocka_unit_test(foreign_integers_may_be_large),
        cmocka_unit_test(errors_of_a_line_name_its_column_alone),
        cmocka_unit_test(invalid_utf8_is_an_error),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(nul_in_and_around_strings),
        cmocka_unit_test(any_bytes_become_text),
        cmocka_unit_test(foreign_bodies_are_read_loosely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
