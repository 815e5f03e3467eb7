/* Turns between a policy and the gym: all that was paid for is kept, nothing is asked or judged
 * twice, errors end as they should. A stub gives the replies; the gym judges them. */
#include "trial_rig.h"

#include "trial/drive/samples.h"

static struct kgym_pool *pool;
static struct tr_suite suite;

static int setup(void **state)
{
    if (rig_setup(state) != 0) {
        return -1;
    }
    pool = trial_pool();
    FILE *f = fopen("names", "we");
    fputs("silu\ntranspose\n", f);
    fclose(f);
    return tr_suite_open("native", &suite, &err) != KG_OK ||
           tr_suite_subset(&suite, "names", &err) != KG_OK;
}

static int teardown(void **state)
{
    tr_suite_close(&suite);
    kgym_close(pool);
    return rig_teardown(state);
}

/* The first turn is wrong, the second right; sample 2 says what sample 1 says. */
static void improve(struct stub *s, const struct tr_ask *ask, struct tr_reply *r)
{
    struct kg_buf text;
    (void)s;
    kg_buf_init(&text, 1 << 16);
    trial_candidate(&text, ask->who.problem, ask->who.turn == 1 ? "wrong" : "fast");
    stub_say(r, text.data);
    kg_buf_deinit(&text);
}

static struct tr_folder *open_folder(const char *path)
{
    struct tr_folder *f = NULL;
    json_t *run = json_pack("{s:s, s:s}", "schema", "kgym.run/1", "kind", "bench");
    good(tr_folder_open(path, run, NULL, &f, &err));
    json_decref(run);
    return f;
}

static struct tr_drive *open_drive(struct tr_policy *policy, struct tr_folder *f,
                                   struct tr_budget budget)
{
    struct tr_drive *d = NULL;
    const struct tr_drive_options o = {.policy = policy,
                                       .pool = pool,
                                       .folder = f,
                                       .rewards = "binary",
                                       .feedback = 600,
                                       .max_tokens = 100,
                                       .budget = budget};
    good(tr_drive_create(&o, &d, &err));
    return d;
}

struct run {
    struct tr_samples out;
    struct tr_counts counts;
    enum kg_code code;
};

static struct run go(struct stub *s, const char *path, uint32_t samples, uint32_t turns,
                     struct tr_budget budget)
{
    struct run r = {.code = KG_OK};
    struct tr_policy policy = stub_policy(s);
    struct tr_folder *f = open_folder(path);
    struct tr_drive *d = open_drive(&policy, f, budget);
    r.code = tr_samples_run(
        &(struct tr_samples_options){
            .drive = d, .folder = f, .suite = &suite, .samples = samples, .turns = turns},
        &r.out, &err);
    r.counts = tr_drive_counts(d);
    tr_drive_destroy(d);
    tr_folder_close(f);
    stub_drop(s);
    return r;
}

static int lines_of(const char *path)
{
    struct kg_buf text;
    int n = 0;
    kg_buf_init(&text, 64u << 20);
    good(kg_file_read(path, &text, &err));
    for (size_t i = 0; i < text.len; i++) {
        n += text.data[i] == '\n';
    }
    kg_buf_deinit(&text);
    return n;
}

static json_t *line_of(const char *path, int number)
{
    struct kg_buf text;
    json_t *line = NULL;
    kg_buf_init(&text, 64u << 20);
    good(kg_file_read(path, &text, &err));
    char *at = text.data;
    while (--number > 0) {
        at = strchr(at, '\n') + 1;
    }
    good(kg_json_parse(at, strcspn(at, "\n"), path, &line, &err));
    kg_buf_deinit(&text);
    return line;
}

static const char *string_at(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static void test_conversations_are_judged_and_kept(void **state)
{
    (void)state;
    struct stub s = {.answer = improve};
    struct run r = go(&s, "talks", 2, 2, (struct tr_budget){0});
    good(r.code);
    assert_int_equal(r.out.turns, 8);
    assert_int_equal(r.out.planned, 8);
    assert_int_equal(r.out.correct, 4);
    assert_int_equal(s.asks, 8);
    assert_int_equal(r.counts.sent, 4); /* equal replies share an evaluation */
    assert_int_equal(lines_of("talks/replies.jsonl"), 8);
    assert_int_equal(lines_of("talks/records.jsonl"), 8);
    assert_int_equal(lines_of("talks/trajectories.jsonl"), 4);
    assert_int_equal(s.last_messages, 3);
    assert_non_null(strstr(s.last, "Verdict: wrong"));
    json_t *talk = line_of("talks/trajectories.jsonl", 1);
    const json_t *turns = json_object_get(talk, "turns"), *first = json_array_get(turns, 0);
    assert_string_equal(string_at(talk, "schema"), "kgym.trajectory/1");
    assert_string_equal(string_at(talk, "end"), "done");
    assert_int_equal(strlen(string_at(talk, "configuration")), 64);
    assert_int_equal(json_array_size(turns), 2);
    assert_string_equal(string_at(first, "verdict"), "wrong");
    assert_non_null(strstr(string_at(first, "feedback"), "Verdict: wrong"));
    assert_string_equal(string_at(json_array_get(turns, 1), "verdict"), "ok");
    assert_true(json_is_null(json_object_get(json_array_get(turns, 1), "feedback")));
    const json_t *reward =
        json_object_get(json_object_get(json_array_get(turns, 1), "rewards"), "binary");
    assert_true(json_number_value(reward) > 0);
    json_decref(talk);
}

static void refuse_all(struct stub *s, const struct tr_ask *ask, struct tr_reply *r)
{
    (void)s;
    (void)r;
    fail_msg("asked again: %s, sample %u, turn %u", ask->who.problem, ask->who.sample,
             ask->who.turn);
}

static void test_nothing_is_asked_or_judged_twice(void **state)
{
    (void)state;
    struct stub s = {.answer = improve}, none = {.answer = refuse_all};
    good(go(&s, "again", 2, 2, (struct tr_budget){0}).code);
    struct run r = go(&none, "again", 2, 2, (struct tr_budget){0});
    good(r.code);
    assert_int_equal(r.counts.replayed, 8);
    assert_int_equal(r.counts.sent, 0);
    assert_int_equal(r.out.correct, 4);
    assert_int_equal(lines_of("again/trajectories.jsonl"), 4);
    struct kg_buf empty; /* the process was killed before any record was stored */
    kg_buf_init(&empty, 1);
    good(kg_file_write_atomic("again/records.jsonl", "", 0, &err));
    kg_buf_deinit(&empty);
    r = go(&none, "again", 2, 2, (struct tr_budget){0});
    good(r.code);
    assert_int_equal(r.counts.sent, 4);
    assert_int_equal(r.out.correct, 4);
    assert_int_equal(lines_of("again/records.jsonl"), 8);
    struct stub more = {.answer = improve}; /* samples grow */
    r = go(&more, "again", 3, 2, (struct tr_budget){0});
    good(r.code);
    assert_int_equal(more.asks, 4);
    assert_int_equal(r.counts.sent, 0);
}

static void cut(struct stub *s, const struct tr_ask *ask, struct tr_reply *r)
{
    (void)s;
    (void)ask;
    stub_say(r, "Let me think about this for a while. First");
    r->finish = TR_LENGTH;
}

static void test_a_cut_reply_is_told(void **state)
{
    (void)state;
    struct stub s = {.answer = cut};
    good(go(&s, "cut", 1, 2, (struct tr_budget){0}).code);
    assert_true(strncmp(s.last, "Your reply was cut off", 22) == 0);
    assert_non_null(strstr(s.last, "Verdict: no_code"));
    json_t *line = line_of("cut/replies.jsonl", 1);
    assert_string_equal(string_at(line, "finish"), "length");
    json_decref(line);
}

/* Withheld for silu; for transpose longer than anything that is judged, and ends in the middle of a
 * character. */
static void empty_or_huge(struct stub *s, const struct tr_ask *ask, struct tr_reply *r)
{
    (void)s;
    r->text = strdup("");
    r->finish = TR_FILTER;
    if (strcmp(ask->who.problem, "transpose") == 0) {
        r->len = (size_t)70 << 20;
        r->text = realloc(r->text, r->len + 1);
        assert_non_null(r->text);
        for (size_t i = 0; i < r->len; i++) {
            r->text[i] = "a\xc3\xa9"[i % 3];
        }
        r->text[r->len] = '\0';
        r->finish = TR_STOP;
    }
}

static void test_empty_and_huge_replies_are_judged(void **state)
{
    (void)state;
    struct stub s = {.answer = empty_or_huge};
    struct run r = go(&s, "odd", 1, 1, (struct tr_budget){0});
    good(r.code);
    assert_int_equal(r.out.judged, 2);
    json_t *line = line_of("odd/replies.jsonl", 1);
    bool first_is_silu = strcmp(string_at(line, "key"), "silu/s1/t1") == 0;
    json_decref(line);
    line = line_of("odd/replies.jsonl", first_is_silu ? 2 : 1);
    assert_string_equal(string_at(line, "finish"), "length");
    size_t len = json_string_length(json_object_get(line, "text"));
    assert_true(len <= 4 << 20 && len > (4 << 20) - 4);
    json_decref(line);
}

static void test_a_budget_ends_cleanly_and_can_grow(void **state)
{
    (void)state;
    struct stub s = {.answer = improve, .room = 1}, rest = {.answer = improve},
                none = {.answer = improve};
    struct run r = go(&s, "budget", 2, 2, (struct tr_budget){.tokens = 300});
    good(r.code);
    assert_int_equal(strncmp(r.out.spent, "300 tokens", 10), 0);
    assert_int_equal(s.asks, 3); /* 110 tokens each */
    assert_int_equal(r.out.turns, 3);
    r = go(&rest, "budget", 2, 2,
           (struct tr_budget){.tokens = 5000, .price_in = 10, .price_out = 100});
    good(r.code);
    assert_int_equal(rest.asks, 5);
    assert_int_equal(r.out.turns, 8);
    assert_string_equal(r.out.spent, "");
    assert_true(fabs(r.counts.money - 8 * (100 * 10 + 10 * 100) / 1e6) < 1e-12);
    /* What is paid for is not stopped, and a budget that stopped nothing is not told. */
    r = go(&none, "budget", 2, 2, (struct tr_budget){.tokens = 300});
    good(r.code);
    assert_int_equal(none.asks, 0);
    assert_int_equal(r.out.turns, 8);
    assert_string_equal(r.out.spent, "");
    r = go(&none, "budget", 3, 2, (struct tr_budget){.tokens = 300});
    assert_int_equal(none.asks, 0);
    assert_int_equal(r.out.turns, 8);
    assert_int_equal(strncmp(r.out.spent, "300 tokens", 10), 0);
}

/* Others are under way when one fails for good. */
static void refuse_second(struct stub *s, const struct tr_ask *ask, struct tr_reply *r)
{
    if (s->asks == 2) {
        r->code = kg_fail(&r->err, KG_E_USAGE, "the endpoint refuses the key");
        return;
    }
    improve(s, ask, r);
}

static void test_a_refused_key_ends_at_once(void **state)
{
    (void)state;
    struct stub s = {.answer = refuse_second}, rest = {.answer = improve};
    struct run r = go(&s, "refused", 2, 1, (struct tr_budget){0});
    assert_int_equal(r.code, KG_E_USAGE);
    assert_string_equal(err.message, "the endpoint refuses the key");
    assert_int_equal(lines_of("refused/replies.jsonl"), 3); /* the others were received */
    r = go(&rest, "refused", 2, 1, (struct tr_budget){0});
    good(r.code);
    assert_int_equal(rest.asks, 1);
}

static void other_model(struct stub *s, const struct tr_ask *ask, struct tr_reply *r)
{
    improve(s, ask, r);
    if (ask->who.sample == 2) {
        snprintf(r->model, sizeof r->model, "stub-2");
    }
}

/* As the gym stores an evaluation that somebody else's fault ended. */
static void put_error(const char *folder, const char *key, const char *code, const char *blame)
{
    struct tr_folder *f = open_folder(folder);
    char *text = NULL;
    size_t len;
    json_t *record = NULL;
    struct kg_buf out;
    good(tr_folder_record(f, key, &text, &len, &err));
    good(kg_json_parse(text, len, key, &record, &err));
    free(text);
    json_object_set_new(record, "verdict", json_null());
    json_object_set_new(record, "correct", json_null());
    json_object_set_new(record, "rewards", json_object());
    json_object_set_new(
        record, "error",
        json_pack("{s:s, s:s, s:s}", "code", code, "blame", blame, "message", "it failed"));
    kg_buf_init(&out, 1 << 24);
    kg_json_dump(record, &out);
    good(tr_folder_put_record(f, key, out.data, out.len, NULL, NULL, &err));
    kg_buf_deinit(&out);
    json_decref(record);
    tr_folder_close(f);
}

static void test_an_error_is_judged_again_a_defect_is_not(void **state)
{
    (void)state;
    struct stub s = {.answer = improve}, none = {.answer = refuse_all};
    good(go(&s, "errors", 1, 1, (struct tr_budget){0}).code);
    put_error("errors", "silu/s1/t1", "gym", "gym");
    struct run r = go(&none, "errors", 1, 1, (struct tr_budget){0});
    good(r.code);
    assert_int_equal(r.counts.sent, 1);
    assert_int_equal(r.out.judged, 2);
    assert_int_equal(r.out.lost, 0);
    put_error("errors", "silu/s1/t1", "problem", "problem");
    r = go(&none, "errors", 1, 1, (struct tr_budget){0});
    good(r.code);
    assert_int_equal(r.counts.sent, 0);
    assert_int_equal(r.out.defective, 1);
    assert_int_equal(r.out.judged, 1);
    json_t *talk = line_of("errors/trajectories.jsonl", lines_of("errors/trajectories.jsonl"));
    assert_string_equal(string_at(talk, "id"), "silu/s1");
    assert_string_equal(string_at(talk, "end"), "defect");
    json_decref(talk);
}

static void test_a_record_without_configuration_has_no_hash(void **state)
{
    (void)state;
    struct stub s = {.answer = improve}, none = {.answer = refuse_all};
    char *text = NULL;
    size_t len;
    json_t *record = NULL;
    struct kg_buf out;
    good(go(&s, "bare", 1, 1, (struct tr_budget){0}).code);
    struct tr_folder *f = open_folder("bare");
    good(tr_folder_record(f, "silu/s1/t1", &text, &len, &err));
    good(kg_json_parse(text, len, "record", &record, &err));
    assert_int_equal(json_object_del(record, "config"), 0);
    kg_buf_init(&out, 1 << 24);
    kg_json_dump(record, &out);
    good(tr_folder_put_record(f, "silu/s1/t1", out.data, out.len, NULL, NULL, &err));
    tr_folder_close(f);
    kg_buf_deinit(&out);
    json_decref(record);
    free(text);
    assert_int_equal(unlink("bare/trajectories.jsonl"), 0);
    good(go(&none, "bare", 1, 1, (struct tr_budget){0}).code);
    for (int i = 1; i <= 2; i++) {
        json_t *talk = line_of("bare/trajectories.jsonl", i);
        bool silu = strcmp(string_at(talk, "id"), "silu/s1") == 0;
        assert_int_equal(strlen(string_at(talk, "configuration")), silu ? 0 : 64);
        json_decref(talk);
    }
}

static void test_a_model_that_changes_ends_the_run(void **state)
{
    (void)state;
    struct stub s = {.answer = other_model}, next = {.answer = improve, .model = "stub-3"};
    struct run r = go(&s, "model", 2, 1, (struct tr_budget){0});
    assert_int_equal(r.code, KG_E_USAGE);
    assert_non_null(strstr(err.message, "`stub`"));
    assert_non_null(strstr(err.message, "`stub-2`"));
    assert_int_equal(lines_of("model/replies.jsonl"), 2);
    assert_int_equal(lines_of("model/refused.jsonl"), 2);
    r = go(&next, "model", 2, 1, (struct tr_budget){0}); /* nor may it be another one later */
    assert_int_equal(r.code, KG_E_USAGE);
    assert_non_null(strstr(err.message, "`stub-3`"));
}

/* Of silu's conversation the second turn does not fit; transpose's replies can't be read at first.
 */
static void full_or_unread(struct stub *s, const struct tr_ask *ask, struct tr_reply *r)
{
    if (strcmp(ask->who.problem, "silu") == 0 && ask->who.turn == 2) {
        r->code = kg_fail(&r->err, KG_E_LIMIT, "too long");
    } else if (strcmp(ask->who.problem, "transpose") == 0) {
        r->code = kg_fail(&r->err, KG_E_INPUT, "no chat completion");
    } else {
        improve(s, ask, r);
    }
}

static void test_a_full_conversation_ends_alone(void **state)
{
    (void)state;
    struct stub s = {.answer = full_or_unread, .room = 1};
    struct run r = go(&s, "ends", 1, 3, (struct tr_budget){0});
    good(r.code);
    assert_int_equal(r.out.turns, 1);
    assert_int_equal(r.out.full, 1);
    assert_string_equal(r.out.why_full, "too long");
    assert_string_equal(r.out.why_lost, "no chat completion");
    assert_int_equal(lines_of("ends/full.jsonl"), 1);
    assert_int_equal(r.out.lost, 1);
    json_t *talk = line_of("ends/trajectories.jsonl", 1);
    assert_string_equal(string_at(talk, "end"), "full");
    json_decref(talk);
    assert_int_equal(lines_of("ends/trajectories.jsonl"), 1);
    r = go(&s, "ends", 6, 1, (struct tr_budget){0}); /* four in a row: nothing comes of it */
    assert_int_equal(r.code, KG_E_INPUT);
    assert_string_equal(err.message, "no chat completion");
}

static void test_an_interrupt_keeps_all(void **state)
{
    (void)state;
    static const volatile int stop = 1;
    struct stub s = {.answer = improve};
    struct tr_turn *turn = NULL;
    struct tr_policy policy = stub_policy(&s);
    struct tr_folder *f = open_folder("stop");
    struct tr_drive *d = NULL;
    const char *prompt = NULL;
    good(tr_drive_create(
        &(struct tr_drive_options){.policy = &policy, .pool = pool, .folder = f, .cancel = &stop},
        &d, &err));
    good(tr_drive_prompt(d, &suite.problem[0], &prompt, &err));
    const struct tr_message first = {.role = TR_USER, .text = prompt, .len = strlen(prompt)};
    good(tr_drive_begin(d, &suite.problem[0], 1, 1, &first, 1, &err));
    assert_int_equal(tr_drive_next(d, -1, &turn, &err), KG_E_CANCELLED);
    assert_null(turn);
    tr_drive_destroy(d);
    tr_folder_close(f);
    assert_int_equal(lines_of("stop/replies.jsonl"), 1);
}

/* An error elsewhere ends the run: here nobody takes the turn. */
static void test_received_replies_outlive_the_drive(void **state)
{
    (void)state;
    struct stub s = {.answer = improve};
    struct tr_policy policy = stub_policy(&s);
    struct tr_folder *f = open_folder("left");
    struct tr_drive *d = open_drive(&policy, f, (struct tr_budget){0});
    const struct tr_message first = {.role = TR_USER, .text = "x", .len = 1};
    good(tr_drive_begin(d, &suite.problem[0], 1, 1, &first, 1, &err));
    good(tr_drive_begin(d, &suite.problem[1], 1, 1, &first, 1, &err));
    tr_drive_destroy(d);
    tr_folder_close(f);
    assert_int_equal(lines_of("left/replies.jsonl"), 2);
}

static void test_a_source_is_judged_once_more(void **state)
{
    (void)state;
    struct kg_buf text;
    char *record = NULL;
    kg_buf_init(&text, 1 << 16);
    trial_candidate(&text, "silu", "fast");
    good(tr_drive_again(pool, &suite.problem[0], text.data, text.len, &record, &err));
    assert_non_null(strstr(record, "\"verdict\":\"ok\""));
    free(record);
    kg_buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversations_are_judged_and_kept),
        cmocka_unit_test(test_nothing_is_asked_or_judged_twice),
        cmocka_unit_test(test_a_cut_reply_is_told),
        cmocka_unit_test(test_empty_and_huge_replies_are_judged),
        cmocka_unit_test(test_a_budget_ends_cleanly_and_can_grow),
        cmocka_unit_test(test_a_refused_key_ends_at_once),
        cmocka_unit_test(test_an_error_is_judged_again_a_defect_is_not),
        cmocka_unit_test(test_a_record_without_configuration_has_no_hash),
        cmocka_unit_test(test_a_model_that_changes_ends_the_run),
        cmocka_unit_test(test_a_full_conversation_ends_alone),
        cmocka_unit_test(test_an_interrupt_keeps_all),
        cmocka_unit_test(test_received_replies_outlive_the_drive),
        cmocka_unit_test(test_a_source_is_judged_once_more),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
