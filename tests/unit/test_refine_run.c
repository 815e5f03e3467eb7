/* A refinement over the drive, the scripted policy and the gym: the files that it leaves, and that
 * the same call goes on where it was. The gym's times are not asked for. */
#include "kgym_rig.h"

#include <sys/resource.h>

#include "rl/chains/chains.h"
#include "trial/policy/scripted.h"
#include "trial/refine/line_diff.h"
#include "trial/refine/refine.h"
#include "trial/refine/round_log.h"

static const char *const settings[] = {"stage.profile=no"};

static struct kgym_options gym(void)
{
    return (struct kgym_options){.size = sizeof(struct kgym_options),
                                 .preset = "train",
                                 .settings = settings,
                                 .nsettings = 1,
                                 .workers = 1};
}

static int setup(void **state)
{
    struct rl_chain c;
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    char program[512];
    if (rig_setup(state) != 0) {
        return -1;
    }
    snprintf(program, sizeof program, "%s", getenv("K"));
    setenv("KGYM_PROGRAM", program, 1);
    kg_buf_init(&text, RL_CHAIN_BYTES);
    bool ok = rl_chain_parse("silu_rms", &c, &err) == KG_OK;
    rl_chain_problem(&c, &text);
    ok = ok && kg_file_write_atomic("silu_rms.c", text.data, text.len, &err) == KG_OK;
    kg_buf_deinit(&text);
    return ok ? 0 : -1;
}

static struct tr_counts counts;
static int shown;

static void seen(void *user, const struct tr_round *r)
{
    *(int *)user = r->round;
}

/* Runs or goes on. Fills counts. */
static struct tr_refine_outcome refine(const char *folder, enum tr_strategy strategy, int rounds)
{
    static char name[] = "silu_rms", path[] = "./silu_rms.c";
    static const char *const grow[] = {"turns", NULL};
    const struct tr_problem problem = {.name = name, .problem = path, .level = 2, .id = 1};
    const struct kgym_options again = gym();
    const struct tr_policy_options po = {.parallel = 4, .sampling = {.max_tokens = 4096}};
    struct kg_err err = KG_ERR_INIT;
    struct kgym_error e;
    struct kgym_pool *pool = NULL;
    struct tr_policy policy;
    struct tr_folder *f = NULL;
    struct tr_drive *d = NULL;
    struct tr_refine_outcome out;
    json_t *run =
        json_pack("{s:s, s:s, s:i}", "schema", "kgym.run/1", "kind", "refine", "turns", rounds);
    assert_int_equal(kgym_open(&again, &pool, &e), KGYM_OK);
    assert_int_equal(tr_scripted_open("", &po, &policy, &err), KG_OK);
    assert_int_equal(tr_folder_open(folder, run, grow, &f, &err), KG_OK);
    json_decref(run);
    const struct tr_drive_options drive = {.policy = &policy,
                                           .pool = pool,
                                           .folder = f,
                                           .rewards = "dr-kernel",
                                           .feedback = 600,
                                           .max_tokens = 4096,
                                           .seed = 3};
    assert_int_equal(tr_drive_create(&drive, &d, &err), KG_OK);
    const struct tr_refine_options o = {.plan = {.strategy = strategy,
                                                 .metric = TR_BY_REWARD,
                                                 .w = 2,
                                                 .depth = 2,
                                                 .rounds = rounds,
                                                 .reply = 4096},
                                        .problem = &problem,
                                        .policy = &policy,
                                        .drive = d,
                                        .folder = f,
                                        .again = &again,
                                        .seen = seen,
                                        .user = &shown};
    enum kg_code code = tr_refine_run(&o, &out, &err);
    if (code != KG_OK) {
        print_error("%s\n", err.message);
    }
    assert_int_equal(code, KG_OK);
    counts = tr_drive_counts(d);
    tr_drive_destroy(d);
    tr_folder_close(f);
    policy.close(policy.self);
    kgym_close(pool);
    return out;
}

static struct kg_buf file(const char *path)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&b, 64u << 20);
    if (kg_file_read(path, &b, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return b;
}

/* Line number i, from 0, of a file; the caller's. */
static json_t *line_of(const struct kg_buf *b, int i)
{
    const char *s = b->data;
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    for (; i > 0; i--) {
        s = strchr(s, '\n');
        assert_non_null(s);
        s++;
    }
    assert_int_equal(kg_json_parse(s, strcspn(s, "\n"), "line", &j, &err), KG_OK);
    return j;
}

static int lines(const struct kg_buf *b)
{
    int n = 0;
    for (size_t i = 0; i < b->len; i++) {
        n += b->data[i] == '\n';
    }
    return n;
}

static int64_t integer(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void check_rounds(const struct kg_buf *b, int n, int w)
{
    double best = 0;
    assert_int_equal(lines(b), n);
    for (int i = 0; i < n; i++) {
        json_t *o = line_of(b, i);
        const json_t *again = json_object_get(o, "again");
        assert_int_equal(integer(o, "round"), i + 1);
        assert_int_equal(json_array_size(json_object_get(o, "context")), i < w ? i : w);
        if (json_is_true(json_object_get(o, "new_best"))) {
            assert_true(json_is_true(json_object_get(again, "correct")));
            double s = json_number_value(json_object_get(again, "speedup"));
            assert_true(s >= best);
            best = s;
        }
        assert_true(json_number_value(json_object_get(o, "best_speedup")) == best);
        json_decref(o);
    }
}

/* The code of the best is that of its round's reply. */
static void check_best(const char *folder, const struct tr_refine_outcome *out)
{
    char path[300];
    snprintf(path, sizeof path, "%s/best.c", folder);
    struct kg_buf code = file(path);
    snprintf(path, sizeof path, "%s/replies.jsonl", folder);
    struct kg_buf replies = file(path);
    json_t *reply = line_of(&replies, out->best - 1);
    assert_non_null(strstr(json_string_value(json_object_get(reply, "text")), code.data));
    json_decref(reply);
    kg_buf_deinit(&code);
    kg_buf_deinit(&replies);
    snprintf(path, sizeof path, "%s/best.record.json", folder);
    struct kg_buf record = file(path);
    assert_non_null(strstr(record.data, "\"verdict\":\"ok\""));
    kg_buf_deinit(&record);
}

static void test_a_run_leaves_its_files_and_goes_on(void **state)
{
    (void)state;
    struct tr_refine_outcome out = refine("top", TR_TOP_W, 4), more, same;
    assert_int_equal(out.ending, TR_END_TURNS);
    assert_true(out.rounds == 4 && shown == 4 && counts.asked == 4);
    struct kg_buf first = file("top/rounds.jsonl");
    check_rounds(&first, 4, 2);
    more = refine("top", TR_TOP_W, 8);
    assert_true(more.rounds == 8 && counts.asked == 4 && counts.replayed == 4);
    struct kg_buf second = file("top/rounds.jsonl");
    check_rounds(&second, 8, 2);
    assert_memory_equal(first.data, second.data, first.len);
    assert_true(more.best > 0); /* of eight replies, seven of them after feedback */
    assert_string_equal(more.file, "best.c");
    check_best("top", &more);
    same = refine("top", TR_TOP_W, 8);
    assert_true(counts.asked == 0 && counts.sent == 0 && same.best == more.best);
    assert_true(same.verified.speedup == more.verified.speedup);
    check_best("top", &same);
    struct kg_buf talk = file("top/trajectories.jsonl"), summary = file("top/summary.json");
    json_t *last = line_of(&talk, lines(&talk) - 1);
    assert_string_equal(json_string_value(json_object_get(last, "id")), "silu_rms/s1");
    assert_int_equal(json_array_size(json_object_get(last, "turns")), 8);
    json_decref(last);
    assert_non_null(strstr(summary.data, "\"ending\": \"turns\""));
    kg_buf_deinit(&first);
    kg_buf_deinit(&second);
    kg_buf_deinit(&talk);
    kg_buf_deinit(&summary);
}

/* What a kill leaves: rounds whose lines are lost or torn, with replies that are there. */
static void test_lost_and_torn_lines(void **state)
{
    (void)state;
    struct tr_refine_outcome a = refine("torn", TR_PARALLEL_SEQUENTIAL, 4), b;
    struct kg_buf before = file("torn/rounds.jsonl");
    size_t keep = strcspn(before.data, "\n") + 1;
    assert_int_equal(truncate("torn/rounds.jsonl", (off_t)keep + 40), 0);
    b = refine("torn", TR_PARALLEL_SEQUENTIAL, 4);
    assert_true(counts.asked == 0 && b.rounds == 4 && a.correct == b.correct);
    struct kg_buf after = file("torn/rounds.jsonl");
    assert_int_equal(lines(&after), 4);
    assert_memory_equal(before.data, after.data, keep);
    for (int i = 0; i < 4; i++) {
        json_t *x = line_of(&before, i), *y = line_of(&after, i);
        assert_true(json_equal(json_object_get(x, "key"), json_object_get(y, "key")));
        assert_true(json_equal(json_object_get(x, "context"), json_object_get(y, "context")));
        assert_true(json_equal(json_object_get(x, "record"), json_object_get(y, "record")));
        json_decref(x);
        json_decref(y);
    }
    kg_buf_deinit(&before);
    kg_buf_deinit(&after);
}

static void test_a_bad_line_is_named(void **state)
{
    (void)state;
    struct tr_round_log *l = NULL;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(mkdir("bad", 0777), 0);
    assert_int_equal(
        kg_file_write_atomic("bad/rounds.jsonl", "{\"key\": \"p/s1/t1\"}\n[1]\n", 23, &err), KG_OK);
    assert_int_equal(tr_round_log_open("bad", &l, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "bad/rounds.jsonl:2"));
    assert_null(l);
    assert_int_equal(tr_round_log_open("none", &l, &err), KG_E_IO);
}

/* A reply that did not come, and a judging again that failed, come later: their lines are replaced,
 * once. Others stay. */
static void test_a_late_verdict_replaces_its_line(void **state)
{
    (void)state;
    struct tr_round_log *l = NULL;
    struct kg_err err = KG_ERR_INIT;
    struct tr_again again;
    struct tr_turn t = {.state = TR_JUDGED, .correct = true, .verdict = "ok"};
    struct tr_round none = {.round = 1, .sample = 1, .turn = 1}, one = none, two;
    one.result = &t;
    one.tried = true;
    two = one;
    two.round = two.turn = 2;
    assert_int_equal(mkdir("late", 0777), 0);
    assert_int_equal(tr_round_log_open("late", &l, &err), KG_OK);
    assert_int_equal(tr_round_log_add(l, "p", &none, &err), KG_OK);
    assert_int_equal(tr_round_log_add(l, "p", &two, &err), KG_OK);
    assert_false(tr_round_log_has(l, 1) || tr_round_log_has(l, 2));
    assert_false(tr_round_log_again(l, 1, 2, &again)); /* it is made again */
    one.again = two.again = (struct tr_again){.judged = true, .correct = true, .verdict = "ok"};
    assert_int_equal(tr_round_log_add(l, "p", &one, &err), KG_OK);
    assert_int_equal(tr_round_log_add(l, "p", &two, &err), KG_OK);
    struct tr_round three = two;
    three.round = three.turn = 3;
    assert_int_equal(tr_round_log_add(l, "p", &three, &err), KG_OK);
    struct kg_buf all = file("late/rounds.jsonl");
    assert_int_equal(tr_round_log_add(l, "p", &none, &err), KG_OK);
    tr_round_log_close(l);
    assert_int_equal(tr_round_log_open("late", &l, &err), KG_OK);
    assert_true(tr_round_log_has(l, 1) && tr_round_log_has(l, 2) && tr_round_log_has(l, 3));
    assert_true(tr_round_log_again(l, 1, 2, &again) && again.judged && again.correct);
    tr_round_log_close(l);
    struct kg_buf same = file("late/rounds.jsonl");
    assert_int_equal(lines(&all), 3);
    assert_string_equal(all.data, same.data);
    kg_buf_deinit(&all);
    kg_buf_deinit(&same);
}

static void test_a_full_disk_leaves_whole_lines(void **state)
{
    (void)state;
    struct tr_round_log *l = NULL;
    struct kg_err err = KG_ERR_INIT;
    struct rlimit was, small;
    struct stat st;
    const struct tr_round r[] = {{.round = 1, .sample = 1, .turn = 1},
                                 {.round = 2, .sample = 1, .turn = 2}};
    assert_int_equal(mkdir("full", 0777), 0);
    assert_int_equal(tr_round_log_open("full", &l, &err), KG_OK);
    assert_int_equal(tr_round_log_add(l, "p", &r[0], &err), KG_OK);
    assert_int_equal(stat("full/rounds.jsonl", &st), 0);
    off_t whole = st.st_size;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = was;
    small.rlim_cur = (rlim_t)whole + 20;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum kg_code code = tr_round_log_add(l, "p", &r[1], &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(code, KG_E_IO);
    assert_non_null(strstr(err.message, "full/rounds.jsonl"));
    assert_int_equal(stat("full/rounds.jsonl", &st), 0);
    assert_int_equal(st.st_size, whole);
    assert_false(tr_round_log_has(l, 2));
    tr_round_log_close(l);
}

static void diff(const char *a, const char *b, const char *want)
{
    struct kg_buf out;
    kg_buf_init(&out, 1 << 20);
    tr_line_diff("a", a, "b", b, &out);
    assert_string_equal(out.data, want);
    kg_buf_deinit(&out);
}

static void test_line_diff(void **state)
{
    (void)state;
    diff("x\ny\n", "x\ny\n", "");
    diff("", "x\n", "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n");
    diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
         "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
    diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n",
         "--- a\n+++ b\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -7,4 +8,3 @@\n 7\n 8\n 9\n-10\n");
    struct kg_buf long_a, long_b;
    kg_buf_init(&long_a, 1 << 20);
    kg_buf_init(&long_b, 1 << 20);
    for (int i = 0; i < 9000; i++) { /* what differs in the middle decides, not what stays around */
        kg_buf_addf(&long_a, "%d\n", i);
        kg_buf_addf(&long_b, "%s%d\n", i == 9 || i == 11 ? "x" : "", i);
    }
    diff(long_a.data, long_b.data,
         "--- a\n+++ b\n@@ -7,9 +7,9 @@\n 6\n 7\n 8\n-9\n+x9\n 10\n-11\n+x11\n 12\n 13\n 14\n");
    kg_buf_reset(&long_b);
    for (int i = 0; i < 9000; i++) {
        kg_buf_addf(&long_b, "%s%d\n", i % 8999 == 0 || i == 4000 ? "" : "x", i);
    }
    struct kg_buf out; /* far too much: all between the ends goes, and all comes */
    kg_buf_init(&out, 1 << 20);
    tr_line_diff("a", long_a.data, "b", long_b.data, &out);
    assert_memory_equal(out.data, "--- a\n+++ b\n@@ -1,9000 +1,9000 @@\n 0\n-1\n-2\n", 43);
    assert_non_null(strstr(out.data, "\n-4000\n"));
    assert_non_null(strstr(out.data, "\n-8998\n+x1\n"));
    assert_non_null(strstr(out.data, "\n+4000\n"));
    kg_buf_deinit(&out);
    kg_buf_deinit(&long_a);
    kg_buf_deinit(&long_b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_leaves_its_files_and_goes_on),
        cmocka_unit_test(test_lost_and_torn_lines),
        cmocka_unit_test(test_a_bad_line_is_named),
        cmocka_unit_test(test_a_late_verdict_replaces_its_line),
        cmocka_unit_test(test_a_full_disk_leaves_whole_lines),
        cmocka_unit_test(test_line_diff),
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
