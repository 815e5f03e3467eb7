/* A policy behind an endpoint: answers of every form, and an endpoint that fails in every way. */
#include "endpoint_rig.h"

/* --- answers --- */

static void test_streamed_and_whole(void **state)
{
    (void)state;
    for (int stream = 0; stream < 2; stream++) {
        struct tr_policy_options o = options("ok");
        o.stream = stream;
        struct tr_reply *r = ask_with(&o);
        assert_int_equal(r->code, KG_OK);
        assert_string_equal(r->text, "1 messages, the last says: hello");
        assert_int_equal(r->len, strlen(r->text));
        assert_null(r->reasoning);
        assert_int_equal(r->finish, TR_STOP);
        assert_string_equal(r->model, "tiny");
        assert_true(r->usage.counted);
        assert_int_equal(r->usage.tokens_in, 11);
        assert_int_equal(r->usage.tokens_out, 7);
        assert_int_equal(r->usage.tries, 1);
        assert_true(isnan(r->logprob));
        assert_null(r->ids);
        tr_reply_free(r);
    }
}

static void test_what_is_sent(void **state)
{
    (void)state;
    struct tr_policy_options o = options("parameters");
    o.sampling.temperature = 0.25;
    o.sampling.top_p = 0.5;
    o.sampling.max_tokens = 77;
    o.sampling.stop[0] = "</end>";
    o.sampling.nstop = 1;
    struct tr_reply *r = ask_with(&o);
    json_t *j = NULL;
    assert_int_equal(kg_json_parse(r->text, r->len, "sent", &j, &err), KG_OK);
    assert_string_equal(json_string_value(json_object_get(j, "model")), "tiny");
    assert_true(json_number_value(json_object_get(j, "temperature")) == 0.25);
    assert_true(json_number_value(json_object_get(j, "top_p")) == 0.5);
    assert_int_equal(json_integer_value(json_object_get(j, "max_tokens")), 77);
    assert_string_equal(json_string_value(json_array_get(json_object_get(j, "stop"), 0)), "</end>");
    assert_true(json_is_true(json_object_get(j, "stream")));
    assert_true(json_is_integer(json_object_get(j, "seed")));
    assert_null(json_object_get(j, "logprobs"));
    assert_null(json_object_get(j, "n"));
    json_decref(j);
    tr_reply_free(r);
}

/* The same ask has the same seed, another turn another one. */
static void test_seed_is_the_asks(void **state)
{
    (void)state;
    const struct tr_policy_options o = options("parameters");
    struct tr_policy p = open_policy(&o);
    json_int_t seed[3];
    for (int i = 0; i < 3; i++) {
        json_t *j = NULL;
        submit(&p, i < 2 ? 1 : 2, "hello");
        struct tr_reply *r = take(&p);
        assert_int_equal(kg_json_parse(r->text, r->len, "sent", &j, &err), KG_OK);
        seed[i] = json_integer_value(json_object_get(j, "seed"));
        assert_in_range(seed[i], 0, 0x7fffffff);
        json_decref(j);
        tr_reply_free(r);
    }
    p.close(p.self);
    assert_int_equal(seed[0], seed[1]);
    assert_int_not_equal(seed[0], seed[2]);
}

static void test_conversation(void **state)
{
    (void)state;
    const struct tr_policy_options o = options("roles");
    struct tr_policy p = open_policy(&o);
    const struct tr_message m[] = {{.role = TR_SYSTEM, .text = "s", .len = 1},
                                   {.role = TR_USER, .text = "u\xff", .len = 2},
                                   {.role = TR_ASSISTANT, .text = "a\"b", .len = 3},
                                   {.role = TR_USER, .text = "last", .len = 4}};
    const struct tr_ask a = {.tag = 1, .message = m, .n = 4, .who = {"p", 1, 1}};
    assert_int_equal(p.submit(p.self, &a, &err), KG_OK);
    struct tr_reply *r = take(&p);
    assert_string_equal(r->text, "[[\"system\", \"s\"], [\"user\", \"u\\ufffd\"], "
                                 "[\"assistant\", \"a\\\"b\"], [\"user\", \"last\"]]");
    tr_reply_free(r);
    p.close(p.self);
}

static void test_reasoning_is_apart(void **state)
{
    (void)state;
    static const char *const faults[] = {"reasoning", "reasoning2"};
    for (int i = 0; i < 4; i++) {
        struct tr_policy_options o = options(faults[i / 2]);
        o.stream = i % 2 == 0;
        struct tr_reply *r = ask_with(&o);
        assert_string_equal(r->text, "the answer");
        assert_string_equal(r->reasoning, "let me think");
        assert_int_equal(r->reasoning_len, strlen(r->reasoning));
        tr_reply_free(r);
    }
}

static void test_ends(void **state)
{
    (void)state;
    struct tr_reply *r = ask("length");
    assert_int_equal(r->finish, TR_LENGTH);
    assert_string_equal(r->text, "cut of");
    tr_reply_free(r);
    r = ask("filter");
    assert_int_equal(r->code, KG_OK);
    assert_int_equal(r->finish, TR_FILTER);
    tr_reply_free(r);
    expect_text("parts", "one two", 1);
    expect_text("abort", "try 2", 2);
}

static void test_logprobs(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct tr_policy_options o = options("logprobs");
        o.sampling.logprobs = i < 2;
        o.stream = i == 0;
        struct tr_reply *r = ask_with(&o);
        assert_true(i < 2 ? r->logprob == -0.75 : isnan(r->logprob));
        tr_reply_free(r);
    }
}

static void test_usage_is_estimated(void **state)
{
    (void)state;
    struct tr_reply *r = ask("no-usage");
    assert_false(r->usage.counted);
    assert_int_equal(r->usage.tokens_out, 9); /* 24 bytes */
    assert_int_equal(r->usage.tokens_in, 2);  /* 5 bytes */
    tr_reply_free(r);
}

static void test_model_that_changes(void **state)
{
    (void)state;
    const struct tr_policy_options o = options("model");
    struct tr_policy p = open_policy(&o);
    for (int i = 1; i <= 2; i++) {
        char name[16];
        submit(&p, 1, "hello");
        struct tr_reply *r = take(&p);
        snprintf(name, sizeof name, "tiny-%d", i);
        assert_string_equal(r->model, name);
        tr_reply_free(r);
    }
    p.close(p.self);
}

/* One byte at a time, CRLF, comments, a byte order mark, other fields; lines before a body. */
static void test_forms_of_streams(void **state)
{
    (void)state;
    expect_text("unicode", "h\u00e9llo \U0001F680 \u4e16\u754c, split", 1);
    expect_text("keep-alive", "patient", 1); /* asked for a stream, answers whole */
    expect_text("latin", "caf\ufffd", 1);
    expect_text("drip", "drop by drop", 1);
    expect_text("no-done", "try 1", 1); /* the reply is whole, what follows is lost */
}

/* --- asked again --- */

static void test_asked_again(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int tries;
    } want[] = {{"try 3", 3}, {"try 3", 3},
                {"try 3", 3}, {"try 3", 3},
                {"try 3", 3}, {"try 2", 2},
                {"try 2", 2}, {"try 2", 2},
                {"try 2", 2}, {"try 2, with a text of some length", 2}};
    static const char *const faults[] = {"429",    "408",       "409",     "500",         "503",
                                         "no-end", "half-json", "garbage", "error-event", "reset"};
    enum { N = sizeof faults / sizeof *faults };
    struct tr_reply *r[N];
    ask_each(faults, N, r);
    for (int i = 0; i < N; i++) {
        expect_reply(r[i], faults[i], want[i].text, want[i].tries);
    }
}

static void test_retry_after(void **state)
{
    (void)state;
    static const char *const faults[] = {"429-second", "429-date", "429-hour"};
    struct tr_reply *r[3];
    ask_each(faults, 3, r);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(r[i]->code, KG_OK);
        assert_true(strtod(r[i]->text, NULL) >= 0.99);
        assert_int_equal(r[i]->usage.tries, 2);
        tr_reply_free(r[i]);
    }
    expect_error(r[2], KG_E_IO, "it asks to wait 3600 s", 1);
}

/* A limit of the rate holds all requests back, not one alone. */
static void test_hold(void **state)
{
    (void)state;
    const struct tr_policy_options o = options("429-second/hold");
    struct tr_policy p = open_policy(&o);
    struct tr_reply *r = NULL;
    submit(&p, 1, "first");
    for (bool seen = false; !seen;) {
        assert_int_equal(p.next(p.self, -1, 10, &r, &err), KG_OK);
        assert_null(r);
        struct tr_reply *n = ask("count/429-second/hold");
        seen = strcmp(n->text, "1") == 0;
        tr_reply_free(n);
    }
    assert_int_equal(p.next(p.self, -1, 300, &r, &err), KG_OK); /* its answer is read */
    assert_null(r);
    submit(&p, 2, "second");
    for (int i = 0; i < 2; i++) {
        r = take(&p);
        assert_int_equal(r->code, KG_OK);
        assert_true(strtod(r->text, NULL) >= 0.99);
        tr_reply_free(r);
    }
    p.close(p.self);
}

static void test_silence(void **state)
{
    (void)state;
    struct tr_policy_options o = options("silent");
    o.timeout_s = 0.4;
    struct tr_reply *r = ask_with(&o);
    assert_int_equal(r->code, KG_OK);
    assert_true(r->usage.tries >= 2);
    tr_reply_free(r);
    o = options("drip-comments"); /* bytes come, a reply does not */
    o.patience_s = 0.4;
    expect_error(ask_with(&o), KG_E_IO, "silent for too long", 1);
}

static void test_patience_ends(void **state)
{
    (void)state;
    struct tr_policy_options o = options("500-always");
    o.patience_s = 0.8;
    struct tr_reply *r = ask_with(&o);
    assert_int_equal(r->code, KG_E_IO);
    assert_true(r->usage.tries >= 2);
    assert_non_null(strstr(r->err.message, "HTTP 500): out of"));
    expect_error(r, KG_E_IO, "memory", r->usage.tries);
}

/* --- no reply --- */

static void test_refused(void **state)
{
    (void)state;
    expect_error(ask("401"), KG_E_USAGE,
                 "refuses the key (HTTP 401): Incorrect API key provided: "
                 "Bearer [key]. Get one elsewhere.",
                 1);
    expect_error(ask("403"), KG_E_USAGE, "refuses the key (HTTP 403): Forbidden", 1);
    expect_error(ask("404"), KG_E_USAGE, "(HTTP 404): The model `x` does not exist", 1);
    expect_error(ask("400"), KG_E_USAGE, "(HTTP 400): Unsupported value: temperature", 1);
    expect_error(ask("quota"), KG_E_USAGE, "You exceeded your current quota", 1);
    expect_error(ask("redirect"), KG_E_USAGE, "sends to another address", 1);
    expect_text("unknown", "8192", 4); /* without seed, stream_options, max_tokens */
    expect_text("unknown-fastapi", "without", 2);
}

static void test_context_exceeded(void **state)
{
    (void)state;
    expect_error(ask("full-openai"), KG_E_LIMIT, "maximum context length is 8192", 1);
    expect_error(ask("full-vllm"), KG_E_LIMIT, "maximum context length is 4096", 1);
    expect_error(ask("full-llama"), KG_E_LIMIT, "exceeds the available context size", 1);
    expect_error(ask("full-event"), KG_E_LIMIT, "prompt is too long", 1);
}

static void test_no_chat_completion(void **state)
{
    (void)state;
    static const char *const faults[] = {"garbage-always", "other-json", "page", "no-http"};
    static const char *const words[] = {"the body is no JSON (asked 3 times",
                                        "there are no choices", "answers with `text/html`",
                                        "does not speak HTTP"};
    struct tr_reply *r[4];
    ask_each(faults, 4, r);
    for (int i = 0; i < 4; i++) {
        expect_error(r[i], KG_E_INPUT, words[i], 3);
    }
}

/* The patience is short: each try reads 64 MB. */
static void test_too_long(void **state)
{
    (void)state;
    static const char *const faults[][2] = {{"huge", "longer than 64 MB"},
                                            {"huge-stream", "longer than 64 MB"},
                                            {"huge-line", "longer than 4194304 bytes"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct tr_policy_options o = options(faults[i][0]);
        o.patience_s = 2;
        struct tr_reply *r = ask_with(&o);
        expect_error(r, KG_E_INPUT, faults[i][1], r->usage.tries);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streamed_and_whole),
        cmocka_unit_test(test_what_is_sent),
        cmocka_unit_test(test_seed_is_the_asks),
        cmocka_unit_test(test_conversation),
        cmocka_unit_test(test_reasoning_is_apart),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_logprobs),
        cmocka_unit_test(test_usage_is_estimated),
        cmocka_unit_test(test_model_that_changes),
        cmocka_unit_test(test_forms_of_streams),
        cmocka_unit_test(test_asked_again),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_patience_ends),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_context_exceeded),
        cmocka_unit_test(test_no_chat_completion),
        cmocka_unit_test(test_too_long),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
