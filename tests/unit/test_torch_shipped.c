/* The PyTorch problems and candidates that ship, at small sizes on the CPU: every problem is fit to
 * judge with, every right candidate is ok, every wrong one is wrong. Release builds only: the same
 * code runs sanitized in other tests, and a few hundred evaluations would take minutes more. */
#define RIG_LIMIT_S 300

#include "torch_script_rig.h"

#define PROBLEMS "level1/*.py level2/*.py level3/*.py"
#define ROWS     "rows.jsonl#1 rows.jsonl#2 rows.jsonl#3 rows.jsonl#4 rows.jsonl#5 rows.jsonl#6"

static void copies(void)
{
    script_need();
    rig_expect(0, SCRIPT("small.py") " .");
}

static int count(const char *command)
{
    if (rig_run("%s", command) != 0) {
        fail_msg("%s: %.500s", command, rig.err.data);
    }
    return (int)strtol(rig.out.data, NULL, 10);
}

static void test_every_problem_is_fit(void **state)
{
    (void)state;
    copies();
    assert_int_equal(count("ls " PROBLEMS " | wc -l"), 44);
    assert_int_equal(count("wc -l <rows.jsonl"), 6);
    rig_expect(0, "$K problems check --device cpu level2/*.py level3/*.py " ROWS " >half & "
                  "$K problems check --device cpu level1/*.py && wait $! && cat half");
    rig_shows("28 of 28 problems are fit");
    rig_shows("22 of 22 problems are fit");
}

/* That the check can fail: half of the answer is what no input changes. */
static void test_a_problem_that_is_not_fit(void **state)
{
    (void)state;
    copies();
    rig_expect(0, "sed 's/torch.relu(x)/torch.relu(x) * 0/' level1/27_relu.py >trivial.py");
    rig_expect(1, "$K problems check --device cpu trivial.py");
}

static void each_line(const char *text, int *right, int *wrong)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    assert_int_equal(kg_json_parse(text, strcspn(text, "\n"), "out.jsonl", &j, &err), KG_OK);
    const char *id = rig_get(j, "batch_id"), *verdict = rig_get(j, "verdict");
    bool honest = strstr(id, ".fast") != NULL;
    if (strcmp(verdict, honest ? "ok" : "wrong") != 0) {
        fail_msg("%s: %s/%s: %s%s", id, verdict, rig_get(j, "reason"), rig_get(j, "message"),
                 rig_get(json_object_get(j, "error"), "message"));
    }
    *right += honest;
    *wrong += !honest;
    json_decref(j);
}

static void test_every_candidate_ends_as_its_name_says(void **state)
{
    (void)state;
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    int right = 0, wrong = 0;
    copies();
    rig_expect(0, "$K eval --batch shipped.jsonl --out out.jsonl --jobs 2 --device cpu");
    kg_buf_init(&b, 64u << 20);
    assert_int_equal(kg_file_read("out.jsonl", &b, &err), KG_OK);
    for (const char *s = b.data, *nl; (nl = strchr(s, '\n')); s = nl + 1) {
        each_line(s, &right, &wrong);
    }
    kg_buf_deinit(&b);
    assert_int_equal(right, count("ls $T/problems/torch_candidates/*.fast.py | wc -l"));
    assert_int_equal(wrong, count("ls $T/problems/torch_candidates/*.wrong.py | wc -l"));
    assert_true(right >= 44 && wrong >= 44);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_problem_is_fit),
        cmocka_unit_test(test_a_problem_that_is_not_fit),
        cmocka_unit_test(test_every_candidate_ends_as_its_name_says),
    };
    return cmocka_run_group_tests(tests, script_setup, rig_teardown);
}
