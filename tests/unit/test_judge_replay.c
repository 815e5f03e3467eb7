#include "judge_rig.h"

static void write_outputs(struct rig *g, const struct kg_case *c, const unsigned char *saved)
{
    struct kg_layout l = plan(c, false);
    memcpy(g->out + l.offset[Y], saved, l.bytes[Y]);
    memcpy(g->out + l.offset[PICK], saved + l.bytes[Y], l.bytes[PICK]);
}

static void read_outputs(struct rig *g, const struct kg_case *c, unsigned char *saved)
{
    struct kg_layout l = plan(c, false);
    memcpy(saved, g->out + l.offset[Y], l.bytes[Y]);
    memcpy(saved + l.bytes[Y], g->out + l.offset[PICK], l.bytes[PICK]);
}

static void an_old_right_answer_is_a_replay(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(50), b = case_of(51);
    unsigned char saved[40 * 70 * 4 + 40 * 4];
    expect(&g, &a);
    run_float(&g, &a);
    read_outputs(&g, &a, saved);
    assert_true(answer(&g, &a).compare.pass);
    expect(&g, &b);
    write_outputs(&g, &b, saved);
    struct kg_judgement v = answer(&g, &b);
    assert_true(!v.compare.pass && v.replay && v.earlier_expected);
    expect(&g, &a); /* the same inputs again: no replay, and right */
    write_outputs(&g, &a, saved);
    v = answer(&g, &a);
    assert_true(v.compare.pass && !v.replay && !v.earlier_expected);
    rig_close(&g);
}

/* Bytes that only the reference ever produced: memory was read that should not have been. */
static void an_earlier_expected_answer_is_told_apart(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(52), b = case_of(53);
    unsigned char saved[40 * 70 * 4 + 40 * 4];
    OK(kg_judge_fill(&g.j, &a, false, &err));
    run_float(&g, &a);
    read_outputs(&g, &a, saved);
    expect(&g, &a);
    expect(&g, &b);
    write_outputs(&g, &b, saved);
    struct kg_judgement v = answer(&g, &b);
    assert_true(!v.compare.pass && !v.replay && v.earlier_expected);
    rig_close(&g);
}

/* One value of the inputs changed, and the answer did not: of its own kind, since an honest kernel
 * that is wrong may ignore that value. */
static void the_answer_before_an_edit_is_told_apart(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(58), b = a;
    unsigned char saved[40 * 70 * 4 + 40 * 4];
    b.edited = true;
    expect(&g, &a);
    run_float(&g, &a);
    read_outputs(&g, &a, saved);
    struct kg_judgement v = answer(&g, &a);
    assert_true(v.compare.pass && !v.repeats_twin);
    expect(&g, &b);
    write_outputs(&g, &b, saved);
    v = answer(&g, &b);
    assert_true(!v.compare.pass && v.repeats_twin && !v.replay);
    rig_close(&g);
}

/* A kernel that ignores its inputs repeats itself and was never right: wrong, not a replay. */
static void a_repeated_wrong_answer_is_no_replay(void **state)
{
    (void)state;
    struct rig g = rig_open();
    unsigned char noise[40 * 70 * 4 + 40 * 4];
    for (size_t i = 0; i < sizeof noise; i++) {
        noise[i] = (unsigned char)(i * 37 >> 3 & 0x3f);
    }
    for (uint64_t key = 54; key < 57; key++) {
        struct kg_case c = case_of(key);
        expect(&g, &c);
        write_outputs(&g, &c, noise);
        struct kg_judgement v = answer(&g, &c);
        assert_true(!v.compare.pass && !v.replay && !v.earlier_expected);
    }
    rig_close(&g);
}

/* Ones are right where all inputs are zero, and any broken kernel may give them elsewhere. */
static void degenerate_answers_are_no_replay(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case zero = case_of(58), other = case_of(59);
    zero.law = KG_LAW_EQUAL;
    unsigned char saved[40 * 70 * 4 + 40 * 4];
    expect(&g, &zero);
    run_float(&g, &zero);
    read_outputs(&g, &zero, saved);
    assert_true(answer(&g, &zero).compare.pass);
    expect(&g, &other);
    write_outputs(&g, &other, saved);
    struct kg_judgement v = answer(&g, &other);
    assert_true(!v.compare.pass && !v.replay && !v.earlier_expected);
    rig_close(&g);
}

static void a_new_problem_forgets_answers(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(60), b = case_of(61);
    unsigned char saved[40 * 70 * 4 + 40 * 4];
    expect(&g, &a);
    run_float(&g, &a);
    read_outputs(&g, &a, saved);
    assert_true(answer(&g, &a).compare.pass);
    OK(kg_judge_open(&g.j, problem, 0, 0, &err));
    expect(&g, &b);
    write_outputs(&g, &b, saved);
    struct kg_judgement v = answer(&g, &b);
    assert_true(!v.compare.pass && !v.replay && !v.earlier_expected);
    rig_close(&g);
}

static void saved_answers_come_back(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(70), b = case_of(71);
    bool hit = true;
    OK(kg_judge_load(&g.j, &a, 1, &hit, &err));
    assert_false(hit);
    expect(&g, &a);
    OK(kg_judge_save(&g.j, &a, 1, &err));
    expect(&g, &b);
    OK(kg_judge_save(&g.j, &b, 2, &err));
    OK(kg_judge_open(&g.j, problem, 0, 0, &err)); /* the same problem again */
    for (int round = 0; round < 2; round++) {
        struct kg_case c = round ? b : a;
        c.jitter = 17; /* laid out elsewhere */
        OK(kg_judge_load(&g.j, &c, (uint64_t)round + 1, &hit, &err));
        assert_true(hit);
        OK(kg_judge_fill(&g.j, &c, false, &err));
        run_float(&g, &c);
        assert_true(answer(&g, &c).compare.pass);
        ((float *)(void *)(g.out + plan(&c, false).offset[Y]))[0] += 1;
        assert_false(answer(&g, &c).compare.pass);
    }
    rig_close(&g);
}

static void a_number_that_means_other_inputs_is_a_miss(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(72), b = case_of(73);
    bool hit = true;
    expect(&g, &a);
    OK(kg_judge_save(&g.j, &a, 5, &err));
    OK(kg_judge_load(&g.j, &b, 5, &hit, &err));
    assert_false(hit);
    expect(&g, &b);
    OK(kg_judge_save(&g.j, &b, 5, &err)); /* replaces */
    OK(kg_judge_load(&g.j, &b, 5, &hit, &err));
    assert_true(hit);
    OK(kg_judge_load(&g.j, &a, 5, &hit, &err));
    assert_false(hit);
    rig_close(&g);
}

static void another_problem_does_not_see_saved_answers(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_problem *other;
    struct kg_case a = case_of(74);
    bool hit = true;
    char text[sizeof source + 16];
    expect(&g, &a);
    OK(kg_judge_save(&g.j, &a, 5, &err));
    int n = snprintf(text, sizeof text, "%s\n\n", source);
    OK(kg_problem_parse(text, (size_t)n, "other.c", &other, &err));
    OK(kg_judge_open(&g.j, other, 0, 0, &err));
    OK(kg_judge_load(&g.j, &a, 5, &hit, &err));
    assert_false(hit);
    OK(kg_judge_open(&g.j, problem, 0, 0, &err));
    OK(kg_judge_load(&g.j, &a, 5, &hit, &err));
    assert_true(hit);
    kg_problem_destroy(other);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_right_answer_is_a_replay),
        cmocka_unit_test(an_earlier_expected_answer_is_told_apart),
        cmocka_unit_test(the_answer_before_an_edit_is_told_apart),
        cmocka_unit_test(a_repeated_wrong_answer_is_no_replay),
        cmocka_unit_test(degenerate_answers_are_no_replay),
        cmocka_unit_test(a_new_problem_forgets_answers),
        cmocka_unit_test(saved_answers_come_back),
        cmocka_unit_test(a_number_that_means_other_inputs_is_a_miss),
        cmocka_unit_test(another_problem_does_not_see_saved_answers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
