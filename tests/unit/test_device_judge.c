#include "device_rig.h"

static void a_right_answer_passes(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), cand = start_runner(&j, honest);
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    struct kg_dj_report r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    good(&r);
    r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    good(&r);
    assert_int_equal(r.nleaves, 2);
    assert_string_equal(r.structure, "(T,T)");
    assert_int_equal(r.leaf[0].shape[1], COLS);
    struct kg_dj_judgement v = compare(&j, 0);
    assert_true(v.compare.pass && v.compare.bit_equal);
    assert_false(v.shape || v.dtype || v.arity || v.structure || v.replay);
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_answer_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
