/* The problems of a trial by every way to name them, and parts of a suite. */
#include "kgym_rig.h"

#include "trial/drive/suite.h"

#define good(call) assert_int_equal(call, KG_OK)

static struct kg_err err = KG_ERR_INIT;
static struct tr_suite suite;

static int setup(void **state)
{
    return rig_setup(state) != 0 ? -1 : setenv("KGYM_PROGRAM", getenv("K"), 1);
}

static void open_in_tree(const char *word)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", getenv("T"), word);
    good(tr_suite_open(path, &suite, &err));
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_names(void **state)
{
    (void)state;
    good(tr_suite_open("native", &suite, &err));
    assert_string_equal(suite.name, "native");
    assert_true(suite.n >= 16 && suite.n == suite.of && !suite.kernelbench);
    assert_string_equal(suite.problem[0].name, "add_layer_norm");
    assert_string_equal(suite.problem[0].problem, "add_layer_norm");
    assert_true(suite.problem[0].level == 2 && suite.problem[0].id == 1);
    assert_int_equal(strlen(suite.problem[0].hash), 64);
    tr_suite_close(&suite);
    good(tr_suite_open("softmax", &suite, &err));
    assert_int_equal(suite.n, 1);
    tr_suite_close(&suite);
    assert_int_equal(tr_suite_open("softmx", &suite, &err), KG_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "did you mean 'softmax'?"));
    assert_int_equal(tr_suite_open("./no/such", &suite, &err), KG_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "no/such"));
    assert_int_equal(tr_suite_open("nosuch.py", &suite, &err), KG_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "nosuch.py: no such problem file"));
    assert_int_equal(tr_suite_open("NoBench:2", &suite, &err), KG_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "there is no folder NoBench/level2"));
}

static void test_levels_of_kernelbench(void **state)
{
    (void)state;
    open_in_tree("problems/torch:2");
    assert_true(suite.kernelbench && suite.n >= 2);
    for (size_t i = 0; i < suite.n; i++) {
        assert_int_equal(suite.problem[i].level, 2);
        assert_true(i == 0 || suite.problem[i].id > suite.problem[i - 1].id);
    }
    assert_int_equal(suite.problem[0].id, 1);
    assert_string_equal(suite.problem[0].name, "01_linear_gelu");
    assert_true(suite.problem[0].problem[0] == '/');
    size_t level2 = suite.n;
    tr_suite_close(&suite);
    open_in_tree("problems/torch/level2/");
    assert_true(suite.kernelbench && suite.n == level2);
    assert_string_equal(suite.name, "level2");
    tr_suite_close(&suite);
    open_in_tree("problems/torch");
    assert_true(suite.kernelbench && suite.n > level2);
    for (size_t i = 1; i < suite.n; i++) {
        assert_true(suite.problem[i].level >= suite.problem[i - 1].level);
    }
    tr_suite_close(&suite);
}

/* That project's result files cannot tell the two apart. */
static void test_two_of_one_number(void **state)
{
    (void)state;
    assert_int_equal(system("mkdir -p kb/level1 && for n in 1_A 2_B 02_C; do "
                            "cp $T/problems/torch/level1/01_softmax.py kb/level1/$n.py; done"),
                     0);
    good(tr_suite_open("kb/level1", &suite, &err));
    assert_true(suite.n == 3 && !suite.kernelbench);
    for (size_t i = 0; i < suite.n; i++) {
        assert_int_equal(suite.problem[i].id, i + 1);
    }
    tr_suite_close(&suite);
    assert_int_equal(unlink("kb/level1/02_C.py"), 0);
    good(tr_suite_open("kb/level1", &suite, &err));
    assert_true(suite.n == 2 && suite.kernelbench);
    tr_suite_close(&suite);
}

static void test_rows_and_what_is_put_aside(void **state)
{
    (void)state;
    open_in_tree("problems/kernelbook/rows.jsonl");
    assert_true(suite.n >= 2 && !suite.kernelbench);
    assert_string_equal(suite.problem[0].name, "ScaledTanh");
    assert_non_null(strstr(suite.problem[0].problem, "rows.jsonl#1"));
    tr_suite_close(&suite);
    assert_int_equal(system("head -1 $T/problems/kernelbook/rows.jsonl >one && "
                            "(cat one; echo nonsense; cat one) >twice.jsonl"),
                     0);
    good(tr_suite_open("twice.jsonl", &suite, &err));
    assert_int_equal(suite.n, 2); /* of one name: their lines tell them apart */
    assert_string_equal(suite.problem[0].name, "ScaledTanh#1");
    assert_string_equal(suite.problem[1].name, "ScaledTanh#3");
    assert_int_equal(suite.naside, 1);
    assert_non_null(strstr(suite.aside[0].name, "#2"));
    tr_suite_close(&suite);
}

static void test_two_of_one_name(void **state)
{
    (void)state;
    assert_int_equal(system("mkdir -p two/a two/b && cp $T/problems/native/silu.c two/a && "
                            "cp $T/problems/native/silu.c two/b"),
                     0);
    assert_int_equal(tr_suite_open("two/", &suite, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "two problems are called `silu`"));
}

static bool has(const char *name)
{
    for (size_t i = 0; i < suite.n; i++) {
        if (strcmp(suite.problem[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void test_parts(void **state)
{
    (void)state;
    char five[5][64];
    good(tr_suite_open("native", &suite, &err));
    good(tr_suite_subset(&suite, "5@7", &err));
    assert_true(suite.n == 5 && suite.of >= 16);
    for (size_t i = 0; i < 5; i++) {
        snprintf(five[i], sizeof five[i], "%s", suite.problem[i].name);
        assert_true(i == 0 || strcmp(five[i], five[i - 1]) > 0); /* in the suite's order */
    }
    tr_suite_close(&suite);
    good(tr_suite_open("native", &suite, &err));
    good(tr_suite_subset(&suite, "8@7", &err)); /* holds the smaller one */
    for (size_t i = 0; i < 5; i++) {
        assert_true(has(five[i]));
    }
    tr_suite_close(&suite);
    write_file("names", "# a part\n softmax \r\n\nsilu # fast\n");
    good(tr_suite_open("native", &suite, &err));
    good(tr_suite_subset(&suite, "names", &err));
    assert_int_equal(suite.n, 2);
    assert_true(has("softmax") && has("silu"));
    write_file("names", "silu\nsoftmx\n");
    assert_int_equal(tr_suite_subset(&suite, "names", &err), KG_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "names:2"));
    assert_int_equal(tr_suite_subset(&suite, "5@", &err), KG_E_USAGE);
    assert_int_equal(suite.n, 2);
    tr_suite_close(&suite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_levels_of_kernelbench),
        cmocka_unit_test(test_two_of_one_number),
        cmocka_unit_test(test_rows_and_what_is_put_aside),
        cmocka_unit_test(test_two_of_one_name),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
