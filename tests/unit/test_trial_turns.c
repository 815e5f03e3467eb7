/* Reading the folder of a run: keys, what is refused, and lines that are torn, foreign or hostile.
 */
#include "bench_run_rig.h"

#include "trial/bench/key.h"

static void keys(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        size_t len;
        uint32_t s, t;
    } good[] = {{"p0/s1/t1", 2, 1, 1},
                {"a/b/s12/t345", 3, 12, 345},
                {"s1/t1/s2/t3", 5, 2, 3},
                {"x y/s999999999/t1", 3, 999999999, 1}};
    static const char *const bad[] = {
        "",          "p0",      "p0/s1",     "p0/s0/t1",  "p0/s1/t0",
        "p0/s01/t1", "p0/s1/t", "p0/s/t1",   "/s1/t1",    "p0/t1/s1",
        "p0s1/t1",   "p0/s1t1", "p0/s1/t1 ", "p0/s1/t-1", "p0/s1/t1111111111"};
    size_t len;
    uint32_t s, t;
    for (size_t i = 0; i < N(good); i++) {
        assert_true(tr_key_read(good[i].key, &len, &s, &t));
        assert_int_equal(len, good[i].len);
        assert_int_equal(s, good[i].s);
        assert_int_equal(t, good[i].t);
        char name[16], key[TR_KEY_BYTES];
        snprintf(name, sizeof name, "%.*s", (int)len, good[i].key);
        tr_key_write(name, s, t, key);
        assert_string_equal(key, good[i].key);
    }
    for (size_t i = 0; i < N(bad); i++) {
        if (tr_key_read(bad[i], &len, &s, &t)) {
            fail_msg("`%s` is a key", bad[i]);
        }
    }
    assert_true(tr_key_read("p0/s2", &len, &s, NULL));
    assert_int_equal(s, 2);
}

static void append(const char *file, const char *text)
{
    FILE *f = fopen(file, "a");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void one_turn(const char *folder)
{
    struct bench_rig g;
    bench_begin(&g, folder, 2, 1, 1);
    bench_turn(&g, 0, 1, 1, 1.5);
    bench_end(&g, NULL);
}

/* Each line is left out, counted, and named by file and line; what is good still counts. */
static void lines_that_are_left_out(void **state)
{
    (void)state;
    static const char *const reply[] = {
        "garbage\n",
        "[1]\n",
        "{\"key\":\"p0/s1/t1\"}\n",
        "{\"key\":\"p0/s1/t1\",\"finish\":\"stop\",\"tokens_in\":-1,\"tokens_out\":1}\n",
        "{\"key\":\"p0/s1/t1\",\"finish\":\"stop\",\"tokens_in\":1e3,\"tokens_out\":1}\n",
        "{\"key\":\"p9/s1/t1\",\"finish\":\"stop\",\"tokens_in\":1,\"tokens_out\":1}\n",
        "{\"key\":\"p0/s2/t1\",\"finish\":\"stop\",\"tokens_in\":1,\"tokens_out\":1}\n",
        "\n",
    };
    struct tr_bench b;
    one_turn("run");
    for (size_t i = 0; i < N(reply); i++) {
        append("run/replies.jsonl", reply[i]);
    }
    append("run/records.jsonl", "{\"schema\":\"kgym.record/2\",\"batch_id\":\"p1/s1/t1\"}\n");
    append("run/records.jsonl", "{\"schema\":\"kgym.record/1\",\"batch_id\":7}\n");
    append("run/records.jsonl", "{\"schema\":\"kgym.record/1\",\"batch_id\":\"p1/s1/t1\",\"verd");
    WORKS(tr_bench_read("run", &b, &err));
    assert_int_equal(b.left_out, 10);
    assert_non_null(strstr(b.note[0], "replies.jsonl:2:7: not valid JSON"));
    assert_string_equal(b.note[5], "replies.jsonl:7: `p9/s1/t1` is no turn of this run");
    assert_non_null(strstr(b.note[7], "records.jsonl:2: not a record"));
    assert_int_equal(tr_bench_turn(&b, 0, 0, 0)->tokens_in, 10);
    assert_true(tr_bench_turn(&b, 0, 0, 0)->facts.correct);
    assert_int_equal(tr_bench_turn(&b, 1, 0, 0)->facts.state, TR_FACT_NONE); /* torn: not guessed */
    tr_bench_deinit(&b);
}

static void hostile_records(void **state)
{
    (void)state;
    static const char *const record[] = {
        "\"verdict\":\"ok\",\"compiled\":true,\"timing\":{\"status\":\"measured\"},"
        "\"speedup\":{\"ratio\":-3,\"lo\":1e300,\"hi\":\"x\"},\"coverage\":7",
        "\"verdict\":[],\"error\":7",
        "\"error\":{\"blame\":\"candidate\",\"code\":\"a code that is much longer than its room\"}",
        "\"verdict\":\"ok\",\"compiled\":true,\"speedup\":{\"ratio\":9}",
    };
    static const enum tr_fact_state state_of[] = {TR_FACT_JUDGED, TR_FACT_NO_VERDICT,
                                                  TR_FACT_JUDGED, TR_FACT_JUDGED};
    for (size_t i = 0; i < N(record); i++) {
        char line[400];
        struct tr_facts f;
        snprintf(line, sizeof line, "{\"schema\":\"kgym.record/1\",%s}", record[i]);
        json_t *j = kb_json(line);
        assert_true(tr_facts_read(j, &f));
        assert_int_equal(f.state, state_of[i]);
        assert_true(isnan(f.speedup) && isnan(f.speedup_lo) && isnan(f.speedup_hi));
        assert_true(isnan(f.coverage));
        assert_true(f.correct == (i == 0 || i == 3));
        json_decref(j);
    }
    struct tr_facts f;
    assert_false(tr_facts_read(NULL, &f));
    assert_int_equal(f.state, TR_FACT_NONE);
}

static void what_is_no_run(void **state)
{
    (void)state;
    struct tr_bench b;
    FAILS(tr_bench_read("nowhere", &b, &err), KG_E_NOT_FOUND, "nowhere/run.json");
    kb_put("other/run.json", "{\"kind\":\"refine\"}");
    FAILS(tr_bench_read("other", &b, &err), KG_E_USAGE, "other/run.json: `kind`");
    kb_put("torn/run.json", "{\"kind\":");
    FAILS(tr_bench_read("torn", &b, &err), KG_E_INPUT, "torn/run.json");
    kb_put("bare/run.json", "{\"kind\":\"bench\",\"suite\":{\"name\":\"x\",\"problems\":[{}]},"
                            "\"samples\":1,\"turns\":0}");
    FAILS(tr_bench_read("bare", &b, &err), KG_E_INPUT, "samples or turns");
    kb_put("huge/run.json", "{\"kind\":\"bench\",\"suite\":{\"name\":\"x\",\"problems\":[{}]},"
                            "\"samples\":4000000,\"turns\":4000000}");
    FAILS(tr_bench_read("huge", &b, &err), KG_E_LIMIT, "turns in all");
    kb_put("bad/run.json", "{\"kind\":\"bench\",\"suite\":{\"name\":\"x\",\"problems\":[{}]},"
                           "\"samples\":1,\"turns\":1}");
    FAILS(tr_bench_read("bad", &b, &err), KG_E_INPUT, "suite.problems[0].name");
    kb_put("twice/run.json",
           "{\"kind\":\"bench\",\"suite\":{\"name\":\"x\",\"problems\":[{\"name\":\"a\"},"
           "{\"name\":\"a\"}]},\"samples\":1,\"turns\":1}");
    FAILS(tr_bench_read("twice", &b, &err), KG_E_INPUT, "two have the name a");
}

static void a_run_that_has_just_begun(void **state)
{
    (void)state;
    struct bench_rig g;
    struct bench_read x;
    bench_begin(&g, "run", 2, 2, 1);
    WORKS(kg_file_mkdirs("run", 0755, &err));
    bench_write_run(&g, NULL); /* and no other file */
    bench_open(&x, "run", NULL, 0);
    assert_true(x.tables.partial);
    assert_int_equal(x.tables.counts.missing, 4);
    NEAR(bench_value(&x, 0, "last", "correct"), 0, 0);
    assert_true(isnan(bench_value(&x, 0, "last", "geomean")));
    bench_close(&x);
    kg_buf_deinit(&g.replies);
    kg_buf_deinit(&g.records);
    kg_buf_deinit(&g.trajectories);
}

static void levels_are_sorted_and_names_found(void **state)
{
    (void)state;
    static const int level[] = {3, 1, 3, 1};
    static const char *const names[] = {"zeta", "a/b", "alpha", "a"};
    struct bench_rig g;
    struct tr_bench b;
    bench_begin(&g, "run", 4, 1, 1);
    g.level = level;
    g.names = names;
    for (int q = 0; q < 4; q++) {
        bench_turn(&g, q, 1, 1, 1 + q);
    }
    bench_end(&g, NULL);
    WORKS(tr_bench_read("run", &b, &err));
    static const char *const want[] = {"a/b", "a", "zeta", "alpha"};
    static const double speed[] = {2, 4, 1, 3};
    for (size_t q = 0; q < 4; q++) {
        assert_string_equal(b.problem[q].name, want[q]);
        NEAR(tr_bench_turn(&b, q, 0, 0)->facts.speedup, speed[q], 0);
    }
    assert_int_equal(b.left_out, 0);
    assert_string_equal(b.device, "Test CPU");
    tr_bench_deinit(&b);
}

/* The conversation tells of a defect, and no record. What the suite put aside is listed. */
static void defects_without_a_record(void **state)
{
    (void)state;
    struct bench_rig g;
    struct bench_read x;
    struct kg_buf text;
    bench_begin(&g, "run", 2, 1, 1);
    g.aside = "[{\"name\":\"odd\",\"why\":\"no entry\"}]";
    bench_turn(&g, 0, 1, 1, 1.5);
    bench_ended(&g, 1, 1, "defect");
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    assert_false(x.bench.problem[0].defect);
    assert_true(x.bench.problem[1].defect);
    assert_int_equal(x.tables.table[0].problems, 1);
    kg_buf_init(&text, 1 << 16);
    tr_tables_text(&x.tables, false, &text);
    assert_non_null(strstr(text.data, "left out: odd: no entry\n"));
    kg_buf_deinit(&text);
    bench_close(&x);
}

/* A conversation without room ends, also before its first reply; where that turn has a reply since,
 * or the conversation another end, the line is an old one. */
static void turns_without_room(void **state)
{
    (void)state;
    struct bench_rig g;
    struct bench_read x;
    bench_begin(&g, "run", 3, 1, 2);
    bench_turn(&g, 0, 1, 1, 1.5);
    bench_turn(&g, 0, 1, 2, 1.5);
    bench_turn(&g, 2, 1, 1, 1.5);
    bench_end(&g, NULL);
    append("run/full.jsonl", "{\"id\":\"p1/s1\",\"turn\":1,\"why\":\"long\"}\n");
    append("run/full.jsonl", "{\"id\":\"p2/s1\",\"turn\":2,\"why\":\"long\"}\n");
    append("run/full.jsonl", "{\"id\":\"p1/s1\",\"turn\":3}\n{\"id\":\"p1/s1\"}\n");
    bench_open(&x, "run", NULL, 0);
    assert_int_equal(x.tables.counts.full, 3);
    assert_false(x.tables.partial);
    assert_int_equal(x.bench.left_out, 2);
    assert_string_equal(x.bench.note[0], "full.jsonl:3: no `turn` of this run");
    bench_close(&x);
    append("run/trajectories.jsonl", "{\"id\":\"p1/s1\",\"end\":\"infra\"}\n");
    append("run/replies.jsonl", "{\"key\":\"p2/s1/t2\",\"finish\":\"stop\",\"tokens_in\":1,"
                                "\"tokens_out\":1}\n");
    bench_open(&x, "run", NULL, 0);
    assert_int_equal(x.tables.counts.full, 0);
    assert_int_equal(x.tables.counts.missing, 2);
    assert_int_equal(x.bench.ended[2], TR_BENCH_OPEN);
    assert_true(x.tables.partial);
    bench_close(&x);
    append("run/trajectories.jsonl", "{\"id\":\"p2/s1\",\"end\":\"full\",\"turns\":[{}]}\n");
    bench_open(&x, "run", NULL, 0);
    assert_int_equal(x.tables.counts.full, 0);
    assert_int_equal(x.bench.ended[2], TR_BENCH_OPEN);
    bench_close(&x);
    append("run/trajectories.jsonl", "{\"id\":\"p0/s1\",\"end\":\"full\",\"turns\":[{},{}]}\n"
                                     "{\"id\":\"p1/s1\",\"end\":\"full\",\"turns\":[]}\n");
    bench_open(&x, "run", NULL, 0);
    assert_int_equal(x.bench.ended[0], TR_BENCH_DONE);
    assert_int_equal(x.bench.ended[1], TR_BENCH_DONE);
    bench_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys),
        cmocka_unit_test_setup_teardown(lines_that_are_left_out, kb_enter, kb_leave),
        cmocka_unit_test(hostile_records),
        cmocka_unit_test_setup_teardown(what_is_no_run, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(a_run_that_has_just_begun, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(levels_are_sorted_and_names_found, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(defects_without_a_record, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(turns_without_room, kb_enter, kb_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
