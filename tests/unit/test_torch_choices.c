/* Choices among equals, on the CPU: other tie rules and other roundings are right, indices that
 * point at other values are wrong. Skipped where Python lacks torch. */
#include "torch_choices_rig.h"

#include "base/file.h"
#include "base/trace.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/judging/case_choices.h"

static void among_equals(void **state)
{
    (void)state;
    need_torch();
    each_kind(2);
}

/* Timed calls have values of their own. */
static void while_timed(void **state)
{
    (void)state;
    need_torch();
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true};
    worker->config.timing_blocks = worker->config.timing_min_blocks = 1;
    kg_torch_of(worker)->null_half_width = 0.01;
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++) {
        bool some = strcmp(choices[k].name, "argmax of integers") == 0 ||
                    strcmp(choices[k].name, "codes alone") == 0 ||
                    strcmp(choices[k].name, "counts of the largest") == 0;
        if (some) {
            put("choice.py", choices[k].problem);
            judged(choices[k].name, choices[k].honest, KG_ST_TIMING, true);
            judged(choices[k].name, choices[k].wrong[0], KG_ST_TIMING, false);
        }
    }
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = false};
}

/* Right for long enough to be timed; then what its calls leave is no other choice. */
static void state_while_timed(void **state)
{
    (void)state;
    static const char head[] =
        HEAD "calls = []\n\n\n" WITH("ModelNew", HITS) "        calls.append(1)\n"
                                                       "        i = 7 - x.flip(-1).argmax(-1)\n";
    static const char *const late[] = {
        DRIFT "        if len(calls) <= 30:\n    " HIT FOUND,
        HIT DRIFT "        if len(calls) > 30:\n            self.mean[3] += 1\n" FOUND,
    };
    need_torch();
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true};
    worker->config.timing_blocks = worker->config.timing_min_blocks = 8;
    kg_torch_of(worker)->null_half_width = 0.01;
    put("choice.py", COUNTS);
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        char text[1500];
        struct kg_record r;
        snprintf(text, sizeof text, "%s%s", head, late[i]);
        judge("choice.py", text, KG_ST_TIMING, &r);
        assert_int_equal(r.verdict, KG_V_WRONG);
        assert_string_equal(r.reason, "state");
        assert_int_equal(r.stages[KG_ST_FULL].status, KG_SS_PASS);
        kg_record_deinit(&r);
    }
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = false};
}

#define NORM(n) WITH(n, "        self.norm = nn.BatchNorm1d(16)\n") "        return self.norm(x)\n"

/* A state that calls change makes no choice: nobody asks under other roundings. */
static void a_norm_chooses_nothing(void **state)
{
    (void)state;
    need_torch();
    struct kg_record r;
    struct kg_buf text;
    char trace[400];
    snprintf(trace, sizeof trace, "%s/trace", folder);
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_trace_to(trace, &err), KG_OK);
    put("norm.py", HEAD NORM("Model") GIVEN("torch.randn(64, 16)"));
    judge("norm.py", HEAD NORM("ModelNew"), KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    kg_record_deinit(&r);
    kg_buf_init(&text, 1 << 24);
    assert_int_equal(kg_file_read(trace, &text, &err), KG_OK);
    assert_non_null(strstr(text.data, "\"self check\""));
    assert_null(strstr(text.data, "\"choice\""));
    kg_buf_deinit(&text);
}

/* As far off as the reference's own rounding: in the same tensor, in as many elements, by as much.
 */
static void what_excuses_a_tensor(void **state)
{
    (void)state;
    const struct kg_dj_judgement own = {.leaf = 1, .compare = {.worst = 2, .n_bad = 3}};
    struct kg_dj_judgement mine = {.leaf = 1, .compare = {.worst = 8, .n_bad = 12}}, other = own;
    assert_true(kg_tchoices_as_far(&mine, &own));
    other.compare.nonfinite = true;
    assert_false(kg_tchoices_as_far(&mine, &other));
    other = own;
    other.leaf = 0;
    assert_false(kg_tchoices_as_far(&mine, &other));
    mine.compare.n_bad++;
    assert_false(kg_tchoices_as_far(&mine, &own));
    mine.compare.n_bad--;
    mine.compare.worst = 8.1;
    assert_false(kg_tchoices_as_far(&mine, &own));
}

/* A choice among rows makes all numbers of a row wrong: few rows are asked to the end. */
static void when_to_stop(void **state)
{
    (void)state;
    const struct kg_tleaf rows = {.dtype = KG_TD_F32, .rank = 2, .shape = {1024, 32}};
    const struct kg_tleaf indices = {.dtype = KG_TD_I64, .rank = 2, .shape = {1024, 32}};
    struct kg_tinstance s = {.desc = {.noutputs = 2}};
    s.desc.output[0].leaf = rows;
    s.desc.output[1].leaf = indices;
    for (int leaf = 0; leaf < 2; leaf++) {
        uint64_t most = leaf == 0 ? 8 * 32 : 8;
        struct kg_dj_judgement j = {.leaf = leaf, .compare = {.n_bad = most}};
        assert_true(kg_tchoices_hope(&s, 8, &j, &j));
        j.compare.n_bad++;
        assert_true(kg_tchoices_hope(&s, 7, &j, &j));
        assert_false(kg_tchoices_hope(&s, 8, &j, &j));
        struct kg_dj_judgement first = {.leaf = leaf, .compare = {.n_bad = 2 * most + 2}};
        assert_true(kg_tchoices_hope(&s, 8, &first, &j));
        first = j;
        first.leaf = 1 - leaf; /* all of another output was seen */
        assert_true(kg_tchoices_hope(&s, 8, &first, &j));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(among_equals),          cmocka_unit_test(while_timed),
        cmocka_unit_test(state_while_timed),     cmocka_unit_test(a_norm_chooses_nothing),
        cmocka_unit_test(what_excuses_a_tensor), cmocka_unit_test(when_to_stop),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
