#include "judge_rig.h"

static void a_changed_guard_byte_is_found_and_placed(void **state)
{
    (void)state;
    static const struct {
        int arg;
        int64_t at; /* from the array's start; size is added where beyond is set */
        bool beyond;
    } cases[] = {
        {Y, -1, false},     {Y, -2048, false}, {Y, -4095, false},
        {Y, 0, true},       {Y, 1000, true},   {PICK, -1, false},
        {PICK, -64, false}, {PICK, 0, true},   {PICK, 4000, true},
    };
    struct rig g = rig_open();
    for (uint64_t jitter = 0; jitter < 3; jitter++) {
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            struct kg_case c = case_of(20 + k);
            struct kg_take_report t;
            c.jitter = jitter * 71;
            struct kg_layout l = plan(&c, false);
            int64_t at = cases[k].at + (cases[k].beyond ? (int64_t)l.bytes[cases[k].arg] : 0);
            OK(kg_judge_fill(&g.j, &c, false, &err));
            run_float(&g, &c);
            g.out[(int64_t)l.offset[cases[k].arg] + at] ^= 1;
            OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err));
            assert_int_equal(t.what, KG_TAKE_OUT_OF_BOUNDS);
            assert_int_equal(t.arg, cases[k].arg);
            assert_int_equal((int64_t)t.at, at);
        }
    }
    rig_close(&g);
}

static void the_oracles_guards_are_checked_too(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(30);
    struct kg_take_report t;
    struct kg_layout l = plan(&c, true);
    OK(kg_judge_fill(&g.j, &c, true, &err));
    run_oracle(&g, &c);
    g.wide_out[l.offset[Y] + l.bytes[Y]] ^= 0x80;
    OK(kg_judge_take(&g.j, &c, KG_SIDE_ORACLE, &t, &err));
    assert_int_equal(t.what, KG_TAKE_OUT_OF_BOUNDS);
    rig_close(&g);
}

static void guards_restored_from_an_earlier_call_do_not_match(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(31);
    struct kg_take_report t;
    unsigned char old[64];
    OK(kg_judge_fill(&g.j, &c, false, &err));
    memcpy(old, g.out + plan(&c, false).offset[Y] - 64, 64);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    run_float(&g, &c);
    memcpy(g.out + plan(&c, false).offset[Y] - 64, old, 64);
    OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err));
    assert_int_equal(t.what, KG_TAKE_OUT_OF_BOUNDS);
    rig_close(&g);
}

static void unwritten_floats_are_counted(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(32);
    struct kg_take_report t;
    struct kg_layout l = plan(&c, false);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    unsigned char *y = g.out + l.offset[Y], poison[12];
    memcpy(poison, y, sizeof poison);
    run_float(&g, &c);
    memcpy(y + 4 * 1500, poison, 4);
    memcpy(y + 4 * 2000, poison, 8);
    OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err));
    assert_int_equal(t.what, KG_TAKE_UNWRITTEN);
    assert_int_equal(t.arg, Y);
    assert_int_equal(t.at, 1500);
    assert_int_equal(t.unwritten, 3);
    assert_true(t.certain);
    rig_close(&g);
}

/* One to three integers that hold the pattern may have been computed; four in a row were not. */
static void unwritten_integers_count_in_runs(void **state)
{
    (void)state;
    struct rig g = rig_open();
    for (size_t run = 1; run <= 6; run++) {
        struct kg_case c = case_of(40 + run);
        struct kg_take_report t;
        struct kg_layout l = plan(&c, false);
        OK(kg_judge_fill(&g.j, &c, false, &err));
        unsigned char *pick = g.out + l.offset[PICK], poison[24];
        memcpy(poison, pick, sizeof poison);
        run_float(&g, &c);
        memcpy(pick + 4 * 9, poison, 4 * run);
        OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err));
        assert_int_equal(t.what, run < 4 ? KG_TAKE_OK : KG_TAKE_UNWRITTEN);
        assert_int_equal(t.unwritten, run < 4 ? 0 : run);
        assert_int_equal(t.at, run < 4 ? 0 : 9);
        assert_false(t.certain);
    }
    rig_close(&g);
}

static void nothing_written_at_all(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(33);
    struct kg_take_report t;
    OK(kg_judge_fill(&g.j, &c, false, &err));
    OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err));
    /* the first output's own: not what others left as well */
    assert_true(t.what == KG_TAKE_UNWRITTEN && t.arg == 2 && t.unwritten == 40 * 70);
    rig_close(&g);
}

/* After a take the runner may do what it likes. */
static void answers_are_private_once_taken(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(34);
    expect(&g, &c);
    run_float(&g, &c);
    take(&g, &c, KG_SIDE_CANDIDATE);
    memset(g.out, 0, g.j.out.bytes);
    assert_true(judge(&g, &c, KG_COMPARE_ORACLE).compare.pass);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_guard_byte_is_found_and_placed),
        cmocka_unit_test(the_oracles_guards_are_checked_too),
        cmocka_unit_test(guards_restored_from_an_earlier_call_do_not_match),
        cmocka_unit_test(unwritten_floats_are_counted),
        cmocka_unit_test(unwritten_integers_count_in_runs),
        cmocka_unit_test(nothing_written_at_all),
        cmocka_unit_test(answers_are_private_once_taken),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
