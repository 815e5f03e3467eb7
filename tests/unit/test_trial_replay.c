/* A refinement that goes on in a folder with rounds of an earlier command: they are replayed, and
 * nothing that the folder has of them becomes worse. Folders are made up, with replies,
 * records and second verdicts; the gym judges what has no record, and measures no time. */
#include "trial_rig.h"

#include "trial/refine/drive_maker.h"
#include "trial/refine/refine.h"
#include "trial/refine/round_log.h"

#define REPLY 1000 /* most tokens */

static struct kgym_pool *pool;
static struct tr_suite suite;
static json_t *sample; /* the gym's record of a correct kernel */
static const char *const quick[] = {"stage.timing=false"};
static const struct kgym_options again = {
    .size = sizeof again, .settings = quick, .nsettings = 1, .workers = 1};

/* --- a run --- */

struct call {
    int rounds, patience;
    double target, reserve;
    int stop_at; /* interrupted after this round; 0: not */
};

static volatile int stopped;

static void seen(void *user, const struct tr_round *r)
{
    stopped = r->round == ((const struct call *)user)->stop_at;
}

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
                                           .max_tokens = REPLY,
                                           .cancel = &stopped};
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
                                        .target = call.target,
                                        .patience = call.patience,
                                        .again = &again,
                                        .seen = seen,
                                        .user = &call};
    stopped = 0;
    err = (struct kg_err)KG_ERR_INIT;
    enum kg_code code = tr_refine_run(&o, out, &err);
    tr_drive_destroy(d);
    tr_folder_close(f);
    stub_drop(s);
    return code;
}

static void nobody(struct stub *s, const struct tr_ask *ask, struct tr_reply *r)
{
    (void)s;
    (void)r;
    fail_msg("%s: turn %u is asked for", ask->who.problem, (unsigned)ask->who.turn);
}

/* Up to an ending, with the replies that the folder has. */
static struct tr_refine_outcome replay(const char *folder, struct call call)
{
    struct stub s = {.answer = nobody};
    struct tr_refine_outcome out;
    if (refine(&s, folder, call, &out) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return out;
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

static bool has(const char *folder, const char *name, const char *text)
{
    struct kg_buf b = file(folder, name);
    bool found = strstr(b.data, text) != NULL;
    kg_buf_deinit(&b);
    return found;
}

/* --- a made-up folder --- */

#define UNTIMED (-1.)

struct made {
    double speed; /* of both judgings; 0: it is wrong; UNTIMED: correct, and no time */
    bool late;    /* it has no record, and the gym finds it correct */
};

static void code_of(int round, struct kg_buf *out)
{
    kg_buf_addf(out, "/* round %d */\n", round);
}

static void put_reply(struct tr_folder *f, const char *key, int round)
{
    struct kg_buf text, fast;
    kg_buf_init(&text, 1 << 16);
    kg_buf_init(&fast, 1 << 16);
    trial_candidate(&fast, suite.problem[0].name, "fast");
    kg_buf_addf(&text, "%.*s", (int)(strstr(fast.data, "```c\n") + 5 - fast.data), fast.data);
    code_of(round, &text);
    kg_buf_adds(&text, strstr(fast.data, "```c\n") + 5);
    const struct tr_reply r = {.text = text.data,
                               .len = text.len,
                               .finish = TR_STOP,
                               .usage = {.tokens_in = 100, .tokens_out = 10, .counted = true},
                               .model = "stub",
                               .logprob = (double)NAN};
    good(tr_folder_put_reply(f, key, &r, &err));
    kg_buf_deinit(&text);
    kg_buf_deinit(&fast);
}

/* The text of a record; the caller's. */
static char *record_of(int round, double speed)
{
    json_t *j = json_deep_copy(sample);
    struct kg_buf code;
    char hash[65];
    kg_buf_init(&code, 256);
    code_of(round, &code);
    snprintf(hash, sizeof hash, "%064d", round);
    json_t *candidate = json_object_get(j, "candidate");
    json_object_set_new(candidate, "code", json_string(code.data));
    json_object_set_new(candidate, "sha256", json_string(hash));
    if (speed > 0) {
        json_object_set_new(j, "speedup",
                            json_pack("{s:f, s:f, s:f, s:i}", "ratio", speed, "lo", speed * .95,
                                      "hi", speed * 1.05, "pairs", 9));
        json_object_set_new(json_object_get(j, "timing"), "status", json_string("measured"));
    } else if (speed == 0) {
        json_object_set_new(j, "verdict", json_string("wrong"));
        json_object_set_new(j, "reason", json_string("value"));
    }
    char *text = json_dumps(j, JSON_COMPACT);
    assert_non_null(text);
    json_decref(j);
    kg_buf_deinit(&code);
    return text;
}

/* Fills the round and its turn as they were when the round was counted. */
static void past(const struct made *m, int round, struct tr_turn *t, struct tr_round *r)
{
    static struct tr_reply reply = {.finish = TR_STOP};
    double best = r->best_speedup;
    *t = (struct tr_turn){.sample = 1,
                          .turn = (uint32_t)round,
                          .state = m->late ? TR_NO_VERDICT : TR_JUDGED,
                          .reply = &reply,
                          .correct = m->speed != 0,
                          .speedup = m->speed > 0 ? m->speed : (double)NAN};
    snprintf(t->verdict, sizeof t->verdict, "%s", m->late ? "" : m->speed != 0 ? "ok" : "wrong");
    *r = (struct tr_round){.round = round,
                           .sample = 1,
                           .turn = (uint32_t)round,
                           .result = t,
                           .best = r->best,
                           .best_speedup = best};
    if (!m->late && (m->speed > best || (m->speed == UNTIMED && r->best == 0))) {
        char *record = record_of(round, m->speed);
        r->tried = r->new_best = true;
        r->best = round;
        r->best_speedup = m->speed > 0 ? m->speed : 0;
        tr_again_read(record, strlen(record), &r->again);
    }
}

/* Rounds 1 to n of an earlier command. The best one's record is that of its second judging. */
static void make(const char *folder, const struct made *made, int n)
{
    struct tr_folder *f = open_folder(folder);
    struct tr_round_log *log = NULL;
    struct tr_round r = {.best = 0};
    struct tr_turn t;
    good(tr_round_log_open(folder, &log, &err));
    for (int i = 1; i <= n; i++) {
        char key[64];
        char *record = record_of(i, made[i - 1].speed);
        snprintf(key, sizeof key, "%s/s1/t%d", suite.problem[0].name, i);
        put_reply(f, key, i);
        if (!made[i - 1].late) {
            good(tr_folder_put_record(f, key, record, strlen(record), NULL, NULL, &err));
        }
        free(record);
        past(&made[i - 1], i, &t, &r);
        good(tr_round_log_add(log, suite.problem[0].name, &r, &err));
        if (r.new_best) {
            good(tr_folder_write(f, "best.record.json", r.again.record, r.again.record_len, &err));
            free(r.again.record);
        }
    }
    tr_round_log_close(log);
    tr_folder_close(f);
}

/* --- endings --- */

static const char *const files[] = {"best.c",       "best.record.json", "bests.diff",
                                    "summary.json", "rounds.jsonl",     "trajectories.jsonl"};
enum { FILES = sizeof files / sizeof *files };

static void keep_files(const char *folder, struct kg_buf out[FILES])
{
    for (int i = 0; i < FILES; i++) {
        out[i] = file(folder, files[i]);
    }
}

/* The first n files are as they were. */
static void check_files(const char *folder, const struct kg_buf was[FILES], int n)
{
    for (int i = 0; i < n; i++) {
        struct kg_buf now = file(folder, files[i]);
        if (strcmp(was[i].data, now.data) != 0) {
            fail_msg("%s has changed: %.1000s", files[i], now.data);
        }
        kg_buf_deinit(&now);
    }
}

static void drop_files(struct kg_buf was[FILES])
{
    for (int i = 0; i < FILES; i++) {
        kg_buf_deinit(&was[i]);
    }
}

static const struct made six[] = {{1.2, false}, {0, false}, {1.1, false},
                                  {2, false},   {0, false}, {1.5, false}};

/* Other bounds than those of the first command end nothing before its own last round. */
static void test_bounds_wait_for_the_last_round_of_the_folder(void **state)
{
    (void)state;
    struct kg_buf was[FILES];
    make("bounds", six, 6);
    struct tr_refine_outcome out = replay("bounds", (struct call){.rounds = 6});
    assert_true(out.ending == TR_END_TURNS && out.rounds == 6 && out.best == 4);
    assert_true(has("bounds", "best.c", "round 4"));
    keep_files("bounds", was);
    out = replay("bounds", (struct call){.rounds = 6, .patience = 2});
    assert_true(out.ending == TR_END_PATIENCE && out.rounds == 6 && out.best == 4);
    check_files("bounds", was, 3);
    assert_true(has("bounds", "summary.json", "\"round\": 4"));
    out = replay("bounds", (struct call){.rounds = 9, .target = 1.05});
    assert_true(out.ending == TR_END_TARGET && out.rounds == 6 && out.best == 4);
    assert_string_equal(out.why, "2x, at least 1.9x");
    check_files("bounds", was, 3);
    out = replay("bounds", (struct call){.rounds = 6});
    check_files("bounds", was, FILES);
    drop_files(was);
}

/* An interrupt while rounds are replayed: the gym judges round 3 when it comes. */
static void test_an_interrupted_replay_leaves_the_files(void **state)
{
    (void)state;
    const struct made late[] = {{1.2, false}, {0, false}, {0, true}, {2, false}};
    struct stub s = {.answer = nobody};
    struct kg_buf was[FILES];
    struct tr_refine_outcome out;
    make("broken", late, 4);
    rig_text("broken/best.c", "/* round 4 */\n");
    rig_text("broken/bests.diff", "of the first command");
    rig_text("broken/summary.json", "{}\n");
    keep_files("broken", was);
    assert_int_equal(refine(&s, "broken", (struct call){.rounds = 4, .stop_at = 2}, &out),
                     KG_E_CANCELLED);
    assert_true(out.rounds == 2 && out.before == 4);
    check_files("broken", was, FILES);
    out = replay("broken", (struct call){.rounds = 4});
    assert_true(out.rounds == 4 && out.best == 4);
    assert_true(has("broken", "summary.json", "\"rounds\": 4"));
    drop_files(was);
}

/* --- verdicts that come late --- */

static char *hash_of_record(const char *folder, char out[65])
{
    struct kg_buf b = file(folder, "best.record.json");
    struct tr_again a;
    tr_again_read(b.data, b.len, &a);
    memcpy(out, a.record_hash, 65);
    kg_buf_deinit(&b);
    return out;
}

/* Line number i says so. */
static void check_line(const char *folder, int i, bool new_best, int best)
{
    json_t *o = line_of(folder, "rounds.jsonl", i);
    if (json_is_true(json_object_get(o, "new_best")) != new_best ||
        json_integer_value(json_object_get(o, "best_round")) != best) {
        fail_msg("line %d is not of best %d: %s", i, best, json_dumps(o, JSON_COMPACT));
    }
    json_decref(o);
}

/* best.record.json is what line number i says of its second judging. */
static void check_record(const char *folder, int i)
{
    char hash[65];
    json_t *o = line_of(folder, "rounds.jsonl", i);
    assert_string_equal(hash_of_record(folder, hash),
                        rig_get(json_object_get(o, "again"), "record"));
    json_decref(o);
}

/* Round 2 is the best for the moment. It must not take the record of round 4, which stays the best
 * and is not judged again. */
static void test_a_late_verdict_leaves_the_record_of_the_best(void **state)
{
    (void)state;
    const struct made made[] = {{0, false}, {0, true}, {0, false}, {2, false}, {1, false}};
    make("moment", made, 5);
    check_line("moment", 2, false, 0);
    struct tr_refine_outcome out = replay("moment", (struct call){.rounds = 5});
    assert_true(out.rounds == 5 && out.best == 4 && out.again == 2);
    assert_true(has("moment", "best.c", "round 4"));
    check_record("moment", 4);
    check_line("moment", 2, true, 2);
    check_line("moment", 3, false, 2); /* a line behind it follows */
    check_line("moment", 4, true, 4);
    check_line("moment", 5, false, 4);
}

/* No time is measured, so the first correct kernel stays the best: round 2, once it is judged. */
static void test_a_late_best_takes_the_place_of_a_later_one(void **state)
{
    (void)state;
    const struct made made[] = {{0, false}, {0, true}, {0, false}, {UNTIMED, false}, {0, false}};
    char was[65], is[65];
    make("late", made, 5);
    check_line("late", 4, true, 4);
    hash_of_record("late", was);
    struct tr_refine_outcome out = replay("late", (struct call){.rounds = 5});
    assert_true(out.rounds == 5 && out.best == 2);
    assert_true(has("late", "best.c", "round 2") && has("late", "summary.json", "\"round\": 2"));
    assert_string_not_equal(hash_of_record("late", is), was);
    check_record("late", 2);
    check_line("late", 2, true, 2);
    check_line("late", 4, false, 2);
    check_line("late", 5, false, 2);
    json_t *four = line_of("late", "rounds.jsonl", 4);
    assert_string_equal(rig_get(json_object_get(four, "again"), "record"), was); /* it was made */
    json_decref(four);
    struct kg_buf before = file("late", "rounds.jsonl");
    out = replay("late", (struct call){.rounds = 5});
    struct kg_buf after = file("late", "rounds.jsonl");
    assert_string_equal(before.data, after.data);
    check_record("late", 2);
    kg_buf_deinit(&before);
    kg_buf_deinit(&after);
}

/* Round 3 has no verdict either, and the interrupt comes while the gym judges it: the record of
 * round 2 is lost. That of round 4 does not stay in its place. */
static void test_a_lost_record_is_not_that_of_another_kernel(void **state)
{
    (void)state;
    const struct made made[] = {{0, false}, {0, true}, {0, true}, {UNTIMED, false}};
    struct stub s = {.answer = nobody};
    struct tr_refine_outcome out;
    make("lost", made, 4);
    assert_int_equal(refine(&s, "lost", (struct call){.rounds = 4, .stop_at = 2}, &out),
                     KG_E_CANCELLED);
    check_record("lost", 4);
    out = replay("lost", (struct call){.rounds = 4});
    assert_true(out.rounds == 4 && out.best == 2 && has("lost", "best.c", "round 2"));
    assert_false(kg_file_exists("lost/best.record.json"));
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

/* What made-up records are copies of. */
static void take_sample(void)
{
    struct tr_refine_outcome out;
    struct tr_folder *f = open_folder("sample");
    put_reply(f, "silu/s1/t1", 1);
    tr_folder_close(f);
    out = replay("sample", (struct call){.rounds = 1});
    assert_true(out.rounds == 1 && out.best == 1);
    sample = line_of("sample", "records.jsonl", 1);
}

static int setup(void **state)
{
    if (rig_setup(state) != 0) {
        return -1;
    }
    pool = trial_pool();
    rig_text("names", "silu\n");
    good(tr_suite_open("native", &suite, &err));
    good(tr_suite_subset(&suite, "names", &err));
    take_sample();
    return 0;
}

static int teardown(void **state)
{
    json_decref(sample);
    tr_suite_close(&suite);
    kgym_close(pool);
    return rig_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds_wait_for_the_last_round_of_the_folder),
        cmocka_unit_test(test_an_interrupted_replay_leaves_the_files),
        cmocka_unit_test(test_a_late_verdict_leaves_the_record_of_the_best),
        cmocka_unit_test(test_a_late_best_takes_the_place_of_a_later_one),
        cmocka_unit_test(test_a_lost_record_is_not_that_of_another_kernel),
        cmocka_unit_test(test_rounds_keep_the_window_that_they_were_chosen_for),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
