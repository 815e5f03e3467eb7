/* Parts of a policy behind an endpoint: waits between tries, words of refusals, events of a stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trial/policy/completion.h"
#include "trial/policy/refusal.h"
#include "trial/policy/sse.h"

#define SECRET "sk-secret-0123456789"

static struct kg_err err;

static void test_retry_after_forms(void **state)
{
    (void)state;
    assert_true(tr_retry_after("7", -1, 0) == 7);
    assert_true(tr_retry_after(" 1.5 ", -1, 0) == 1.5);
    assert_true(tr_retry_after("", -1, 0) == -1);
    assert_true(tr_retry_after("-5", -1, 0) == -1);
    assert_true(tr_retry_after("5 minutes", -1, 0) == -1);
    assert_true(tr_retry_after("soon", 1060, 1000) == 60);
    assert_true(tr_retry_after("past", 900, 1000) == 0);
    assert_true(tr_retry_after("99999999999999999999999", -1, 0) == 366.0 * 86400);
}

static void test_backoff_grows(void **state)
{
    (void)state;
    double first = tr_backoff(1, 3, 900), tenth = tr_backoff(10, 3, 900);
    assert_true(first >= 0.25 && first <= 0.5);
    assert_true(tenth >= 15 && tenth <= 30);
    assert_true(tr_backoff(1, 3, 900) == first);
    assert_true(tr_backoff(1, 4, 900) != first);
    assert_true(tr_backoff(1000, 3, 1e7) <= 30);
    assert_true(tr_backoff(5, 3, 2) <= 0.1);
}

static void test_words_are_cut_behind_the_key(void **state)
{
    (void)state;
    char text[300], out[40];
    memset(text, 'a', sizeof text);
    memcpy(text + 25, SECRET, strlen(SECRET));
    tr_words_clean(text, sizeof text, SECRET, out, sizeof out);
    assert_string_equal(out, "aaaaaaaaaaaaaaaaaaaaaaaaa[key]aaaaaa...");
    tr_words_clean("a\r\n\tb\xff\xe2\x80\xa8 c", 11, "", out, sizeof out);
    assert_string_equal(out, "a b c");
    tr_words_clean("the word none is no secret", 26, "none", out, sizeof out);
    assert_string_equal(out, "the word none is no secret");
}

static enum kg_code gather(void *user, const char *data, size_t len, struct kg_err *e)
{
    (void)e;
    kg_buf_addf(user, "%zu:%s|", len, data);
    return KG_OK;
}

static void test_events(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"data: a\n\ndata: b\r\n\r\ndata:c\r\rdata: d", "1:a|1:b|1:c|"},
        {"\xef\xbb\xbf"
         "data: a\n\n",
         "1:a|"},
        {"data: a\ndata: b\n\n", "3:a\nb|"},
        {": comment\nevent: e\nid: 1\n\ndatax: a\n\ndata\n\n", "0:|"},
        {"data:  two\n\n\n\n", "4: two|"},
        {"data: last\n", "4:last|"},
        {"data: \xef\xbb\xbf\n\n", "3:\xef\xbb\xbf|"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t piece = 1; piece < 64; piece += 62) {
            struct tr_sse s;
            struct kg_buf out;
            const char *text = cases[i][0];
            kg_buf_init(&out, 4096);
            tr_sse_init(&s, 100);
            for (size_t at = 0, n = strlen(text); at < n; at += piece) {
                assert_int_equal(
                    tr_sse_feed(&s, text + at, n - at < piece ? n - at : piece, gather, &out, &err),
                    KG_OK);
            }
            assert_int_equal(tr_sse_end(&s, gather, &out, &err), KG_OK);
            assert_string_equal(out.data, cases[i][1]);
            tr_sse_deinit(&s);
            kg_buf_deinit(&out);
        }
    }
}

static void test_use_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *count;
        int64_t want;
    } list[] = {{"7", 7},           {"1000000000", 1000000000},
                {"1000000001", -1}, {"9223372036854775807", -1},
                {"-1", -1},         {"1.5", -1},
                {"null", -1}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct tr_completion c;
        char body[200];
        int n = snprintf(body, sizeof body,
                         "{\"choices\": [{\"message\": {\"content\": \"x\"}}], "
                         "\"usage\": {\"completion_tokens\": %s}}",
                         list[i].count);
        tr_completion_init(&c);
        assert_int_equal(tr_completion_body(&c, body, (size_t)n, &err), KG_OK);
        assert_int_equal(c.tokens_out, list[i].want);
        tr_completion_deinit(&c);
    }
}

/* Some servers send an empty reason before the end. */
static void test_an_empty_reason_ends_nothing(void **state)
{
    (void)state;
    static const char *const reasons[] = {"\"\"", "null", "\"stop\""};
    for (size_t i = 0; i < 3; i++) {
        struct tr_completion c;
        char body[200];
        int n =
            snprintf(body, sizeof body,
                     "{\"choices\": [{\"delta\": {\"content\": \"x\"}, \"finish_reason\": %s}]}",
                     reasons[i]);
        tr_completion_init(&c);
        assert_int_equal(tr_completion_event(&c, body, (size_t)n, &err), KG_OK);
        assert_int_equal(tr_completion_whole(&c), i == 2);
        tr_completion_deinit(&c);
    }
}

static void test_fates(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body;
        enum tr_fate fate;
    } list[] = {
        {500, "", TR_AGAIN},
        {429, "{\"message\": \"maximum context length\"}", TR_AGAIN},
        {408, "", TR_AGAIN},
        {400, "{\"error\": {\"message\": \"no\"}}", TR_NEVER},
        {400, "{\"error\": {\"code\": \"context_length_exceeded\"}}", TR_FULL},
        {413, "", TR_FULL},
        {401, "{\"message\": \"context window\"}", TR_NEVER},
        {302, "", TR_NEVER},
        {200, "{\"error\": {\"code\": 503}}", TR_AGAIN},
        {200, "{\"error\": {\"code\": 404, \"message\": \"none\"}}", TR_NEVER},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct tr_words w;
        tr_words_read(list[i].body, strlen(list[i].body), NULL, "", &w);
        assert_int_equal(tr_refusal_fate(list[i].status, &w), list[i].fate);
    }
}

static void test_words_of_bodies(void **state)
{
    (void)state;
    static const char *const list[][2] = {
        {"{\"error\": {\"message\": \"a\\nb\"}}", "a b"},
        {"{\"error\": \"text\"}", "text"},
        {"{\"detail\": \"Not Found\"}", "Not Found"},
        {"{\"odd\": [1]}", "{\"odd\":[1]}"},
        {"<html><b>Bad</b>\r\n<i>Gateway", "Bad Gateway"},
        {"plain", "plain"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct tr_words w;
        tr_words_read(list[i][0], strlen(list[i][0]), NULL, "", &w);
        assert_string_equal(w.text, list[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retry_after_forms),
        cmocka_unit_test(test_backoff_grows),
        cmocka_unit_test(test_words_are_cut_behind_the_key),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_use_that_cannot_be),
        cmocka_unit_test(test_an_empty_reason_ends_nothing),
        cmocka_unit_test(test_fates),
        cmocka_unit_test(test_words_of_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
