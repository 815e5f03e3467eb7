/* A run over KernelBench's problems as that project's result files, read by its analysis; and the
 * commands that work on the folders of runs. */
#include "bench_run_rig.h"
#include "kgym_rig.h"

static const char *const names[] = {"1_relu", "2_gemm", "3_softmax", "7_norm"};

/* Level 1: problems 1 and 2 with 2 samples of 2 turns; level 2: 3, and 7, which is defective. */
static void make_run(const char *folder)
{
    static const int level[] = {1, 1, 2, 2};
    struct bench_rig g;
    bench_begin(&g, folder, 4, 2, 2);
    g.level = level;
    g.names = names;
    bench_turn(&g, 0, 1, 1, 3);
    bench_turn(&g, 0, 1, 2, 1.25); /* this one counts */
    bench_turn(&g, 0, 2, 1, 0);
    bench_turn(&g, 0, 2, 2, 2.5);
    bench_turn(&g, 1, 1, 1, 2);
    bench_error(&g, 1, 1, 2, KG_E_HOST, "busy");
    bench_turn(&g, 1, 1, 2, 0); /* judged again */
    bench_turn(&g, 1, 2, 1, 2); /* its second turn never came */
    bench_turn(&g, 2, 1, 1, 0);
    bench_verdict(&g, 2, 1, 2, KG_V_NO_CODE, "empty");
    bench_turn(&g, 2, 2, 1, 0);
    bench_turn(&g, 2, 2, 2, .5);
    bench_turn(&g, 3, 1, 2, 4);
    bench_error(&g, 3, 2, 2, KG_E_PROBLEM, "no oracle");
    bench_end(&g, NULL);
}

static json_t *file(const char *path)
{
    char *text = kb_get(path);
    json_t *j = kb_json(text);
    free(text);
    return j;
}

static void last_turns_become_their_samples(void **state)
{
    (void)state;
    make_run("run");
    rig_expect(0,
               "sed -i 's/\"suite\": *{/&\"kernelbench_hashes\": {\"1_relu\": \"%032d\"}, /' "
               "run/run.json",
               7);
    for (int again = 0; again < 2; again++) {
        rig_expect(0, "$K bench --export run");
        rig_shows("2 levels in run/kernelbench: 5 kernels, 1 of them replies without code\n");
    }
    json_t *j = file("run/kernelbench/level1/eval_results.json");
    const json_t *one = json_object_get(j, "1"), *two = json_object_get(j, "2");
    assert_int_equal(json_array_size(one), 2);
    assert_int_equal(json_array_size(two), 1); /* a turn that is missing has no result */
    NEAR(json_number_value(json_object_get(json_array_get(one, 0), "runtime")), .8, 1e-9);
    const json_t *own =
        json_object_get(json_object_get(json_array_get(one, 0), "metadata"), "kgym");
    assert_string_equal(json_string_value(json_object_get(own, "problem_hash")),
                        "00000000000000000000000000000007");
    NEAR(json_number_value(json_object_get(json_array_get(one, 1), "runtime")), .4, 1e-9);
    assert_true(json_is_false(json_object_get(json_array_get(two, 0), "correctness")));
    json_decref(j);
    j = file("run/kernelbench/level2/eval_results.json");
    assert_int_equal(json_object_size(j), 1); /* 7 is defective */
    assert_int_equal(json_array_size(json_object_get(j, "3")), 2);
    json_decref(j);
    char *code = kb_get("run/kernelbench/level1/level_1_problem_1_sample_1_kernel.py");
    assert_string_equal(code, "void f(void) {}");
    free(code);
    rig_expect(0, "ls run/kernelbench");
    assert_string_equal(rig.out.data, "level1\nlevel2\n");
}

/* What was exported before its problem turned out defective does not stay. */
static void a_late_defect_is_left_out(void **state)
{
    (void)state;
    struct bench_rig g;
    static const int level[] = {1, 1};
    bench_begin(&g, "late", 2, 2, 1);
    g.level = level;
    g.names = names;
    bench_turn(&g, 0, 1, 1, 2);
    bench_turn(&g, 1, 1, 1, 2);
    bench_end(&g, NULL);
    rig_expect(0, "$K bench --export late && rm -r first; mv late/kernelbench first");
    bench_begin(&g, "late", 2, 2, 1);
    g.level = level;
    g.names = names;
    bench_turn(&g, 0, 1, 1, 2);
    bench_turn(&g, 1, 1, 1, 2);
    bench_error(&g, 1, 2, 1, KG_E_PROBLEM, "no oracle");
    bench_end(&g, NULL);
    rig_expect(0, "mv first late/kernelbench && $K bench --export late");
    json_t *j = file("late/kernelbench/level1/eval_results.json");
    assert_int_equal(json_object_size(j), 1);
    assert_non_null(json_object_get(j, "1"));
    json_decref(j);
}

static void their_analysis_reads_it(void **state)
{
    (void)state;
    struct bench_read x;
    make_run("run");
    rig_expect(0, "$K bench --export run");
    rig_text("base.json",
             "{\"level1\":{\"1_relu.py\":{\"mean\":1.0},\"2_gemm.py\":{\"mean\":1.0}}}");
    rig_expect(0, "$K kernelbench analyze --run run/kernelbench/level1 --level 1 --baseline "
                  "base.json --json");
    json_t *j = kb_json(rig.out.data);
    json_decref(j);
    rig_expect(0, "$K kernelbench analyze --run run/kernelbench/level1 --level 1 --baseline "
                  "base.json");
    rig_shows("2 problems with a baseline: 2 have a sample 0, 2 compiled (100.0 %), 1 correct "
              "(50.0 %)\n");
    /* sample 0 of problem 1 is 1.25 times as fast; p > 1 holds for it and p > 1.5 for none */
    rig_shows("unrounded                0.500   0.500   0.500   0.500   0.000   0.000   1.250\n");
    bench_open(&x, "run", NULL, 0);
    assert_int_equal(x.tables.n, 3);
    /* theirs over sample 0 alone, ours over both samples */
    NEAR(bench_value(&x, 1, "last", "correct"), .5, 1e-12);
    NEAR(bench_value(&x, 1, "last", "fast_2"), .25, 1e-12);
    bench_close(&x);
}

static void other_suites_write_nothing(void **state)
{
    (void)state;
    make_run("other");
    rig_expect(0, "sed -i 's/\"kernelbench\":true/\"kernelbench\":false/' other/run.json");
    rig_expect(2, "$K bench --export other");
    assert_false(kg_file_exists("other/kernelbench"));
    rig_expect(2, "$K bench --export nowhere");
}

static void comparing(void **state)
{
    (void)state;
    make_run("a");
    make_run("b");
    rig_expect(0, "$K bench --compare a b");
    rig_shows("all, 3 problems, turn 2\n");
    rig_shows("left out, defective: 1: 7_norm\n");
    rig_expect(0, "$K bench --compare a b --turn 1 --p 1.1,3 --json");
    json_t *j = kb_json(rig.out.data);
    const json_t *table = json_array_get(json_object_get(j, "tables"), 0);
    const json_t *view = json_array_get(json_object_get(table, "views"), 0);
    const json_t *row = json_object_get(json_object_get(view, "rows"), "fast_1.1");
    NEAR(json_number_value(json_array_get(json_object_get(row, "difference"), 0)), 0, 0);
    json_decref(j);
    rig_expect(0, "$K bench --published");
    rig_expect(0, "$K bench --published a");
    rig_shows("this run, last turn");
}

static void wrong_words(void **state)
{
    (void)state;
    static const char *const words[] = {
        "--compare a",
        "--compare a b c",
        "--compare a b --turn 3",
        "--compare a b --turn x",
        "--compare a b --turn",
        "--compare a b --p 0",
        "--compare a b --jsn",
        "--compare a nowhere",
        "--published a b",
        "--published a --json",
        "--published nowhere",
        "--export",
        "--export a b",
    };
    make_run("a");
    make_run("b");
    for (size_t i = 0; i < N(words); i++) {
        rig_expect(2, "$K bench %s", words[i]);
        assert_string_equal(rig.out.data, "");
    }
    rig_expect(0, "$K bench --compare --help");
    rig_expect(0, "$K bench --published --help");
    rig_expect(0, "$K bench --export --help");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_turns_become_their_samples),
        cmocka_unit_test(a_late_defect_is_left_out),
        cmocka_unit_test(their_analysis_reads_it),
        cmocka_unit_test(other_suites_write_nothing),
        cmocka_unit_test(comparing),
        cmocka_unit_test(wrong_words),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
