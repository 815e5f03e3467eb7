/* A checkpoint as a policy: contexts that are spliced by ids, draws that depend on the ask alone,
 * the end of the context, stop texts. The model is random. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "lm/lm.h"
#include "lm_files.h"
#include "rl/methods/streams.h"
#include "rl/run/source.h"
#include "trial/policy/policy.h"

enum { VOCAB = 520, MAX_POS = 256, MOST = 24 };

static struct kg_err err = KG_ERR_INIT;
static struct rl_talker talker;
static struct lm_model *model;
static void *folder;

#define ok(call)                                                                                   \
    do {                                                                                           \
        if ((call) != KG_OK) {                                                                     \
            fail_msg("%s", err.message);                                                           \
        }                                                                                          \
    } while (0)

static int make(void **state)
{
    const struct rl_source s = {.model = "",
                                .adapter = "",
                                .tokenizer = golden("tok/tokenizer.json"),
                                .template = "qwen3-instruct"};
    const struct lm_config c = {.vocab = VOCAB,
                                .hidden = 32,
                                .inter = 48,
                                .layers = 2,
                                .heads = 4,
                                .kv_heads = 2,
                                .head_dim = 8,
                                .max_pos = MAX_POS,
                                .rope_theta = 1e4f,
                                .rms_eps = 1e-6f,
                                .tied = true,
                                .qk_norm = true};
    if (new_folder(&folder) != 0) {
        return 1;
    }
    *state = folder;
    ok(rl_source_talker(&s, NULL, 0, &talker, &err));
    ok(lm_model_create(&c, 7, &model, &err));
    for (size_t i = 0; i < model->base.n; i++) {
        model->base.w[i] = model->base.w[i] * 3 +
                           (float)(.1 * (rl_draw(1, RL_STREAM_SFT, 0, 0, (uint32_t)i) - .5));
    }
    lm_model_pack(model);
    ok(rl_source_save(in_folder(state, "m"), model, NULL, &talker, NULL, NULL, &err));
    return 0;
}

static int drop(void **state)
{
    (void)state;
    lm_model_destroy(model);
    rl_talker_close(&talker);
    return drop_folder(&folder);
}

static struct tr_policy_options options(void)
{
    static char name[4200];
    struct tr_policy_options o;
    tr_policy_defaults(&o);
    snprintf(name, sizeof name, "checkpoint:%s", in_folder(&folder, "m"));
    o.policy = name;
    o.sampling.max_tokens = MOST;
    o.threads = 1;
    o.parallel = 4;
    return o;
}

static struct tr_policy open_policy(const struct tr_policy_options *o)
{
    struct tr_policy p;
    ok(tr_policy_open(o, &p, &err));
    return p;
}

static const struct tr_message hello = {.role = TR_USER, .text = "write it", .len = 8};

static void submit(const struct tr_policy *p, uint64_t tag, const struct tr_message *m, int n,
                   uint32_t sample)
{
    const struct tr_ask a = {
        .tag = tag, .message = m, .n = n, .seed = 3, .who = {"softmax", sample, 1}};
    ok(p->submit(p->self, &a, &err));
}

static struct tr_reply *take(const struct tr_policy *p)
{
    struct tr_reply *r = NULL;
    while (r == NULL) {
        assert_true(p->pending(p->self) > 0);
        ok(p->next(p->self, -1, -1, &r, &err));
    }
    return r;
}

static struct tr_reply *ask(const struct tr_policy *p, const struct tr_message *m, int n,
                            uint32_t sample)
{
    submit(p, 1, m, n, sample);
    return take(p);
}

/* The likeliest tokens after ids, by the engine alone. Returns how many. */
static int greedy(const struct lm_ids *ids, int32_t out[MOST])
{
    struct lm_threads *threads;
    struct lm_engine *e;
    const struct lm_engine_options o = {.max_seqs = 1, .max_tokens = MAX_POS};
    struct lm_turn turn = {.sampling = {.n_ids = talker.vocab, .top_p = 1}, .max_tokens = MOST};
    struct lm_event events[4];
    uint64_t request = 0;
    int conversation, n = 0;
    turn.n_stop = rl_source_stops(&talker, turn.stop);
    ok(lm_threads_create(1, &threads, &err));
    ok(lm_engine_create(model, threads, &o, &e, &err));
    ok(lm_engine_submit(e, ids->id, (int)ids->n, &turn, 1, &request, &conversation, &err));
    while (lm_engine_busy(e)) {
        int got = lm_engine_step(e, events, 4);
        for (int i = 0; i < got; i++) {
            out[n++] = events[i].token;
        }
    }
    lm_engine_destroy(e);
    lm_threads_destroy(threads);
    return n;
}

static void expect_ids(const struct tr_reply *r, const int32_t *ids, int n)
{
    assert_int_equal(r->code, KG_OK);
    assert_int_equal(r->nids, n);
    assert_memory_equal(r->ids, ids, (size_t)n * sizeof *ids);
}

/* A reply with ids is spliced by them, whatever its text is; one without is encoded. */
static void test_contexts(void **state)
{
    (void)state;
    struct tr_policy_options o = options();
    o.sampling.temperature = 0;
    struct tr_policy p = open_policy(&o);
    struct lm_ids ids;
    int32_t want[MOST];
    const struct lm_chat_message first = {.role = LM_CHAT_USER, .content = "write it", .len = 8};
    lm_ids_init(&ids);
    ok(lm_chat_encode(&talker.chat, &first, 1, true, &ids, &err));
    struct tr_reply *r = ask(&p, &hello, 1, 1);
    expect_ids(r, want, greedy(&ids, want));
    assert_int_equal(r->usage.tokens_in, ids.n);
    assert_int_equal(r->usage.tokens_out, r->nids);
    assert_true(r->usage.counted && r->logprob < 0);

    const struct tr_message talk[3] = {
        hello,
        {.role = TR_ASSISTANT, .text = "not this", .len = 8, .ids = r->ids, .nids = r->nids},
        {.role = TR_USER, .text = "again", .len = 5}};
    lm_ids_add(&ids, r->ids, (size_t)r->nids);
    ok(lm_chat_continue(&talker.chat, r->ids[r->nids - 1] == talker.end, "again", 5, &ids, &err));
    struct tr_reply *second = ask(&p, talk, 3, 1);
    expect_ids(second, want, greedy(&ids, want));
    assert_int_equal(second->usage.tokens_in, ids.n);
    tr_reply_free(second);
    tr_reply_free(r);

    const struct tr_message mixed[3] = {
        hello, {.role = TR_ASSISTANT, .text = "int x;", .len = 6}, talk[2]};
    const struct lm_chat_message all[3] = {
        first,
        {.role = LM_CHAT_ASSISTANT, .content = "int x;", .len = 6},
        {.role = LM_CHAT_USER, .content = "again", .len = 5}};
    lm_ids_reset(&ids);
    ok(lm_chat_encode(&talker.chat, all, 3, true, &ids, &err));
    r = ask(&p, mixed, 3, 1);
    expect_ids(r, want, greedy(&ids, want));
    tr_reply_free(r);
    lm_ids_deinit(&ids);
    p.close(p.self);
}

/* Alone, beside others and in another process's order the draws are the same. */
static void test_draws_are_the_asks(void **state)
{
    (void)state;
    const struct tr_policy_options o = options();
    struct tr_policy p = open_policy(&o);
    struct tr_reply *alone = ask(&p, &hello, 1, 2), *r[4] = {NULL};
    for (uint32_t s = 1; s <= 4; s++) {
        submit(&p, s - 1, &hello, 1, s);
    }
    assert_int_equal(p.room(p.self), 0);
    for (int i = 0; i < 4; i++) {
        struct tr_reply *one = take(&p);
        r[one->tag] = one;
    }
    expect_ids(r[1], alone->ids, alone->nids);
    assert_true(r[1]->logprob == alone->logprob);
    assert_memory_equal(r[1]->text, alone->text, alone->len + 1);
    assert_true(r[0]->nids != r[1]->nids ||
                memcmp(r[0]->ids, r[1]->ids, (size_t)r[0]->nids * sizeof *r[0]->ids) != 0);
    for (int i = 0; i < 4; i++) {
        tr_reply_free(r[i]);
    }
    tr_reply_free(alone);
    p.close(p.self);
}

static void test_lengths(void **state)
{
    (void)state;
    static char text[4096];
    struct tr_policy_options o = options();
    struct tr_policy p = open_policy(&o);
    memset(text, 'z', sizeof text);
    assert_int_equal(p.context(p.self), MAX_POS);
    size_t many = p.count(p.self, text, sizeof text);
    assert_true(many > MAX_POS);
    const struct tr_message big = {.role = TR_USER, .text = text, .len = sizeof text};
    struct tr_reply *r = ask(&p, &big, 1, 1);
    assert_int_equal(r->code, KG_E_LIMIT);
    assert_non_null(strstr(r->err.message, "the context holds 256"));
    tr_reply_free(r);
    struct tr_ask a = {.message = &hello, .n = 1, .max_tokens = 2, .who = {"p", 1, 1}};
    for (uint64_t seed = 0, cut = 0; cut == 0; seed++) { /* most replies do not end at once */
        a.seed = seed;
        ok(p.submit(p.self, &a, &err));
        r = take(&p);
        cut = r->finish == TR_LENGTH;
        assert_true(r->nids <= 2 && (cut == 0 || r->nids == 2));
        tr_reply_free(r);
    }
    p.close(p.self);
    o.sampling.context = 40; /* the rest of the window is what a reply may have */
    o.sampling.max_tokens = 1000;
    p = open_policy(&o);
    r = ask(&p, &hello, 1, 1);
    assert_true(r->usage.tokens_in + r->usage.tokens_out <= 40);
    tr_reply_free(r);
    p.close(p.self);
}

static void test_stop_text(void **state)
{
    (void)state;
    struct tr_policy_options o = options();
    o.sampling.temperature = 0;
    struct tr_policy p = open_policy(&o);
    struct tr_reply *whole_text = ask(&p, &hello, 1, 1);
    p.close(p.self);
    assert_true(whole_text->len > 4);
    char stop[3] = {whole_text->text[whole_text->len / 2],
                    whole_text->text[whole_text->len / 2 + 1]};
    const char *at = strstr(whole_text->text, stop);
    o.sampling.stop[0] = stop;
    o.sampling.nstop = 1;
    p = open_policy(&o);
    struct tr_reply *r = ask(&p, &hello, 1, 1);
    assert_int_equal(r->finish, TR_STOP);
    assert_int_equal(r->len, at - whole_text->text);
    assert_memory_equal(r->text, whole_text->text, r->len);
    assert_true(r->nids < whole_text->nids);
    tr_reply_free(r);
    tr_reply_free(whole_text);
    p.close(p.self);
}

static void test_bad_conversations(void **state)
{
    (void)state;
    const struct tr_policy_options o = options();
    struct tr_policy p = open_policy(&o);
    const int32_t ids[1] = {VOCAB + 5};
    const struct tr_message two[2] = {hello, hello};
    const struct tr_message ends[2] = {hello, {.role = TR_ASSISTANT, .text = "a", .len = 1}};
    const struct tr_message odd[3] = {
        hello, {.role = TR_ASSISTANT, .text = "a", .len = 1, .ids = ids, .nids = 1}, hello};
    const struct {
        const struct tr_message *m;
        int n;
        const char *words;
    } bad[] = {{two, 2, "message 2: user and assistant must take turns"},
               {ends, 2, "the last message must be of the user"},
               {odd, 3, "is not one of this model's"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tr_reply *r = ask(&p, bad[i].m, bad[i].n, 1);
        assert_int_equal(r->code, KG_E_INPUT);
        assert_non_null(strstr(r->err.message, bad[i].words));
        tr_reply_free(r);
    }
    p.close(p.self);
}

static void test_description(void **state)
{
    (void)state;
    const struct tr_policy_options o = options();
    struct tr_policy p = open_policy(&o);
    struct tr_reply *r = NULL;
    ok(p.next(p.self, -1, -1, &r, &err)); /* nothing is under way */
    assert_null(r);
    json_t *j = p.describe(p.self);
    assert_string_equal(json_string_value(json_object_get(j, "kind")), "checkpoint");
    assert_string_equal(json_string_value(json_object_get(j, "template")), "qwen3-instruct");
    json_decref(j);
    submit(&p, 1, &hello, 1, 1);
    ok(p.next(p.self, -1, 0, &r, &err));
    tr_reply_free(r);
    submit(&p, 2, &hello, 1, 1);
    p.close(p.self); /* with replies under way */
    struct tr_policy_options none = options();
    none.policy = "checkpoint:/no/such/folder";
    assert_int_not_equal(tr_policy_open(&none, &p, &err), KG_OK);
    assert_non_null(strstr(err.message, "/no/such/folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts),          cmocka_unit_test(test_draws_are_the_asks),
        cmocka_unit_test(test_lengths),           cmocka_unit_test(test_stop_text),
        cmocka_unit_test(test_bad_conversations), cmocka_unit_test(test_description),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
