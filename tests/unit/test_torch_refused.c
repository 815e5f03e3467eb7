/* Problems that cannot be judged here: inputs that are too large for the device or for the host,
 * that take for ever, or that change from draw to draw; files that change between two tasks. Each
 * ends in a clear message, and the same worker judges the next task. Skipped where Python lacks
 * torch. */
#include "torch_eval_rig.h"

#define PROBLEM(answer, inputs)                                                                    \
    HEAD "class Model(nn.Module):\n    def forward(self, x):\n        return " answer              \
         "\n\n\ndef get_inputs():\n" inputs "\n\n\ndef get_init_inputs():\n    return []\n"
#define TWICE HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
#define FEW   "    return [torch.randn(6, 8)]"

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.device_memory_mb = 640;
    config.torch_deadline_compile = 6;
    config.torch_first_call = 1;
    return rig_open();
}

/* The message of the error, or the verdict, has these words. */
static void expect_words(const char *problem, const char *want, const char *blame,
                         const char *words)
{
    struct kg_record r;
    char got[100];
    put("refused.py", problem);
    judge("refused.py", TWICE, KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    const char *said = r.has_error ? r.error.message : r.message ? r.message : "";
    if (strcmp(got, want) != 0 || !strstr(said, words) ||
        (r.has_error && strcmp(kg_blame_name(r.error.blame), blame) != 0)) {
        fail_msg("%s: %s, %s: %s", words, got, want, said);
    }
    kg_record_deinit(&r);
}

static void the_next_task_is_judged(void)
{
    expect_words(PROBLEM("x * 2", FEW), "ok", "", "right on every input");
}

static void inputs_that_are_too_large(void **state)
{
    (void)state;
    need_torch();
    expect_words(PROBLEM("x * 2", "    return [torch.zeros(1 << 26)]"), "error/limit", "host",
                 "refused.py: it needs at least 768 MB of cpu, where 640 MB may be used");
    expect_words(PROBLEM("x * 2", "    return [torch.zeros(1 << 50)]"), "error/host", "host",
                 "runs out of memory (describing the task)");
    the_next_task_is_judged();
}

static void inputs_that_take_for_ever(void **state)
{
    (void)state;
    need_torch();
    expect_words(PROBLEM("x * 2", "    while True:\n        time.sleep(1)"), "error/problem",
                 "problem", "describing the task exceeds its deadline");
    the_next_task_is_judged();
}

static void inputs_that_change_from_draw_to_draw(void **state)
{
    (void)state;
    need_torch();
    static const char nested[] =
        HEAD "count = 0\n\n\nclass Model(nn.Module):\n    def forward(self, x, y):\n"
             "        return (y[0] if torch.is_tensor(x) else x[0]) * 2\n\n\n"
             "def get_inputs():\n    global count\n    count += 1\n    x = torch.randn(4, 4)\n"
             "    return [x, (x, x)] if count % 2 else [(x, x), x]\n\n\n"
             "def get_init_inputs():\n    return []\n";
    expect_words(nested, "error/problem", "problem", "changes from draw to draw");
    the_next_task_is_judged();
}

/* What was known of the file before says nothing about it now. */
static void a_file_that_changes_between_tasks(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_err err = KG_ERR_INIT;
    char path[512], before[65];
    need_torch();
    the_next_task_is_judged();
    judge("refused.py", TWICE, KG_ST_FULL, &r);
    snprintf(before, sizeof before, "%s", r.problem.sha256);
    kg_record_deinit(&r);
    put("refused.py", PROBLEM("x * 3", FEW));
    judge("refused.py", TWICE, KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_WRONG);
    assert_string_not_equal(r.problem.sha256, before);
    kg_record_deinit(&r);
    expect_words("class Model(:\n", "error/problem", "problem", "refused.py");
    snprintf(path, sizeof path, "%s/refused.py", folder);
    assert_int_equal(kg_file_remove_tree(path, &err), KG_OK);
    judge("refused.py", TWICE, KG_ST_FULL, &r);
    assert_true(r.has_error && strstr(r.error.message, "refused.py") != NULL);
    kg_record_deinit(&r);
    the_next_task_is_judged();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_that_are_too_large),
        cmocka_unit_test(inputs_that_take_for_ever),
        cmocka_unit_test(inputs_that_change_from_draw_to_draw),
        cmocka_unit_test(a_file_that_changes_between_tasks),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
