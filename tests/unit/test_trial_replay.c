/* A refinement that goes on in a folder with rounds of an earlier command: they are replayed, and
 * nothing that the folder has of them becomes worse. A stub gives replies; the gym judges
 * them, and measures no time. */
#include "trial_rig.h"

#include "trial/refine/refine.h"

#define REPLY 1000 /* most tokens */

static struct kgym_pool *pool;
static struct tr_suite suite;
static const char *const quick[] = {"stage.timing=false"};
static const struct kgym_options again = {
    .size = sizeof again, .settings = quick, .nsettings = 1, .workers = 1};

/* --- a run --- */

struct call {
    int rounds;
    double reserve;
};

static struct tr_folder *open_folder(const char *path)
{
    struct tr_folder *f = NULL;
    json_t *run = json_pack("{s:s, s:s}", "schema", "kgym.run/1", "kind", "refine");
    good(tr_folder_open(path, run, NULL, &f, &err));
    json_decref(run);
    return f;
}

static enum kg_code refine(struct stub *s, const char *folder, struct call call,
                           struct tr_refine_outcome *out)
{
    struct tr_policy policy = stub_policy(s);
    struct tr_folder *f = open_folder(folder);
    struct tr_drive *d = NULL;
    const struct tr_drive_options drive = {.policy = &policy,
                                           .pool = pool,
                                           .folder = f,
                                           .rewards = "binary",
                                           .feedback = 600,
                                           .max_tokens = REPLY};
    good(tr_drive_create(&drive, &d, &err));
    const struct tr_refine_options o = {.plan = {.strategy = TR_TOP_W,
                                                 .metric = TR_BY_REWARD,
                                                 .w = 4,
                                                 .depth = 1,
                                                 .rounds = call.rounds,
                                                 .reply = REPLY,
                                                 .reserve = call.reserve},
                                        .problem = &suite.problem[0],
                                        .policy = &policy,
                                        .drive = d,
                                        .folder = f,
                                        .again = &again};
    err = (struct kg_err)KG_ERR_INIT;
    enum kg_code code = tr_refine_run(&o, out, &err);
    tr_drive_destroy(d);
    tr_folder_close(f);
    stub_drop(s);
    return code;
}

/* --- files --- */

static struct kg_buf file(const char *folder, const char *name)
{
    char path[300];
    struct kg_buf b;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    kg_buf_init(&b, 64u << 20);
    good(kg_file_read(path, &b, &err));
    return b;
}

/* Line number i, from 1, of rounds.jsonl or another file; the caller's. */
static json_t *line_of(const char *folder, const char *name, int i)
{
    struct kg_buf b = file(folder, name);
    const char *s = b.data;
    json_t *j = NULL;
    for (; i > 1; i--) {
        s = strchr(s, '\n');
        assert_non_null(s);
        s++;
    }
    good(kg_json_parse(s, strcspn(s, "\n"), "line", &j, &err));
    kg_buf_deinit(&b);
    return j;
}

/* --- the model's window --- */

/* A server that does not tell its window, and has room for the first message alone. Its tokens are
 * longer than an estimate takes them to be. */
static void narrow(struct stub *s, const struct tr_ask *ask, struct tr_reply *r)
{
    struct kg_buf text;
    (void)s;
    if (ask->n > 1) {
        r->code = kg_fail(&r->err, KG_E_LIMIT, "the context is too long");
        return;
    }
    kg_buf_init(&text, 1 << 16);
    trial_candidate(&text, "silu", "wrong");
    stub_say(r, text.data);
    kg_buf_deinit(&text);
}

static void test_rounds_keep_the_window_that_they_were_chosen_for(void **state)
{
    (void)state;
    const struct call call = {.rounds = 3, .reserve = .2}, more = {.rounds = 4, .reserve = .2};
    struct stub first = {.answer = narrow}, second = {.answer = narrow}, third = {.answer = narrow};
    struct tr_refine_outcome out;
    good(refine(&first, "narrow", call, &out));
    assert_true(out.ending == TR_END_TURNS && out.rounds == 3 && first.asks > 3);
    struct kg_buf before = file("narrow", "rounds.jsonl");
    json_t *one = line_of("narrow", "rounds.jsonl", 1), *two = line_of("narrow", "rounds.jsonl", 2);
    int64_t learnt = json_integer_value(json_object_get(two, "window"));
    assert_int_equal(json_integer_value(json_object_get(one, "window")), 0);
    /* The estimate of the first message alone does not fit what was learnt. */
    double estimate = (double)json_integer_value(json_object_get(one, "tokens_context"));
    assert_true(learnt > 0 && estimate * 1.2 + REPLY > (double)learnt);
    good(refine(&second, "narrow", call, &out));
    assert_true(out.ending == TR_END_TURNS && out.rounds == 3 && second.asks == 0);
    good(refine(&third, "narrow", more, &out)); /* what was learnt holds for new rounds */
    assert_true(out.ending == TR_END_TURNS && out.rounds == 4 && third.asks == 1);
    struct kg_buf after = file("narrow", "rounds.jsonl");
    assert_memory_equal(before.data, after.data, before.len);
    json_decref(one);
    json_decref(two);
    kg_buf_deinit(&before);
    kg_buf_deinit(&after);
}

/* --- life --- */

static int setup(void **state)
{
    if (rig_setup(state) != 0) {
        return -1;
    }
    pool = trial_pool();
    rig_text("names", "silu\n");
    good(tr_suite_open("native", &suite, &err));
    good(tr_suite_subset(&suite, "names", &err));
    return 0;
}

static int teardown(void **state)
{
    tr_suite_close(&suite);
    kgym_close(pool);
    return rig_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds_keep_the_window_that_they_were_chosen_for),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
