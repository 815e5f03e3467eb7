/* A policy behind a real server: llama.cpp's, with a tiny random model. Skipped where
 * `tools/setup.sh llama` has not installed it; `make test-long` does. */
#include "endpoint_rig.h"

static bool there;

static int start_llama(void **state)
{
    (void)state;
    unsetenv("OPENAI_API_KEY");
    setenv("no_proxy", "*", 1);
    there = faulty_endpoint_llama(&server);
    return 0;
}

static int stop_llama(void **state)
{
    return there ? stop(state) : 0;
}

static void need_llama(void)
{
    if (!there) {
        print_message("skipped: no llama.cpp in build/llama-venv (tools/setup.sh llama)\n");
        skip();
    }
}

static struct tr_policy_options llama(void)
{
    struct tr_policy_options o = options("");
    o.model = NULL; /* the only one of the list */
    o.timeout_s = 60;
    o.patience_s = 60;
    o.sampling.max_tokens = 16;
    return o;
}

static struct tr_reply *ask_all(const struct tr_policy *p, const struct tr_message *m, int n)
{
    const struct tr_ask a = {.tag = 1, .message = m, .n = n, .who = {"p", 1, 1}};
    assert_int_equal(p->submit(p->self, &a, &err), KG_OK);
    return take(p);
}

/* The template's own tokens are counted: <|im_start|>user, its line end, the text, <|im_end|>, a
 * line end, the header of the assistant. "er" is one token. */
static void test_template_and_streams(void **state)
{
    (void)state;
    need_llama();
    const struct tr_message talk[] = {{.role = TR_USER, .text = "hi", .len = 2},
                                      {.role = TR_ASSISTANT, .text = "yo", .len = 2},
                                      {.role = TR_USER, .text = "hi", .len = 2}};
    for (int stream = 0; stream < 2; stream++) {
        struct tr_policy_options o = llama();
        o.stream = stream;
        o.sampling.logprobs = true;
        struct tr_policy p = open_policy(&o);
        struct tr_reply *r = ask_all(&p, talk, 1);
        assert_int_equal(r->code, KG_OK);
        assert_true(r->usage.counted);
        assert_int_equal(r->usage.tokens_in, 20);
        assert_true(r->usage.tokens_out >= 1 && r->usage.tokens_out <= 16);
        assert_int_equal(r->finish, r->usage.tokens_out == 16 ? TR_LENGTH : TR_STOP);
        assert_true(r->logprob < 0);
        assert_true(r->model[0] != '\0');
        tr_reply_free(r);
        r = ask_all(&p, talk, 3);
        assert_int_equal(r->usage.tokens_in, 20 + 15 + 9);
        tr_reply_free(r);
        p.close(p.self);
    }
}

static void test_long_context(void **state)
{
    (void)state;
    need_llama();
    static char text[4000];
    memset(text, 'a', sizeof text);
    const struct tr_policy_options o = llama();
    struct tr_policy p = open_policy(&o);
    const struct tr_message fits = {.role = TR_USER, .text = text, .len = 900},
                            full = {.role = TR_USER, .text = text, .len = sizeof text};
    struct tr_reply *r = ask_all(&p, &fits, 1);
    assert_int_equal(r->code, KG_OK);
    assert_int_equal(r->usage.tokens_in, 918);
    tr_reply_free(r);
    r = ask_all(&p, &full, 1);
    if (r->code != KG_E_LIMIT) {
        fail_msg("code %d: %s", r->code, r->err.message);
    }
    assert_int_equal(r->usage.tries, 1);
    tr_reply_free(r);
    p.close(p.self);
}

/* More asks than the server has slots. */
static void test_many(void **state)
{
    (void)state;
    need_llama();
    const struct tr_policy_options o = llama();
    struct tr_policy p = open_policy(&o);
    for (uint64_t tag = 0; tag < 12; tag++) {
        submit(&p, tag, "write something");
    }
    for (int i = 0; i < 12; i++) {
        struct tr_reply *r = take(&p);
        assert_int_equal(r->code, KG_OK);
        tr_reply_free(r);
    }
    p.close(p.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template_and_streams),
        cmocka_unit_test(test_long_context),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, start_llama, stop_llama);
}
