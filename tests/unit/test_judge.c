#include "judge_rig.h"

static void fill_writes_the_law(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(1);
    float x[40 * 70];
    int32_t idx[40];
    void *buf[KG_MAX_ARGS] = {x, idx};
    for (int round = 0; round < 3; round++) {
        c.jitter = round ? 1234567 : 0;
        c.edited = round == 2;
        kg_law_fill(problem, &c.shape, c.law, c.key, buf);
        if (c.edited) {
            kg_law_edit(problem, &c.shape, c.key, buf);
        }
        struct kg_layout l = plan(&c, false);
        OK(kg_judge_fill(&g.j, &c, false, &err));
        assert_memory_equal(g.in + l.offset[X], x, sizeof x);
        assert_memory_equal(g.in + l.offset[IDX], idx, sizeof idx);
    }
    rig_close(&g);
}

static void wide_fill_holds_the_same_values(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(2);
    c.jitter = 99;
    struct kg_layout n = plan(&c, false), w = plan(&c, true);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    OK(kg_judge_fill(&g.j, &c, true, &err));
    for (size_t i = 0; i < 40 * 70; i++) {
        float f;
        double d;
        memcpy(&f, g.in + n.offset[X] + 4 * i, 4);
        memcpy(&d, g.wide_in + w.offset[X] + 8 * i, 8);
        assert_true((double)f == d);
    }
    assert_memory_equal(g.in + n.offset[IDX], g.wide_in + w.offset[IDX], n.bytes[IDX]);
    rig_close(&g);
}

/* What is in place already may be used again: the same bytes as from nothing. */
static void inputs_in_place_change_no_values(void **state)
{
    (void)state;
    struct rig g = rig_open();
    for (uint64_t key = 0; key < 8; key++) {
        struct kg_case plain = case_of(key), edited = plain, other = case_of(key + 100);
        edited.edited = true;
        struct kg_layout l = plan(&plain, false);
        float want[40 * 70];
        OK(kg_judge_fill(&g.j, &other, false, &err));
        OK(kg_judge_fill(&g.j, &edited, false, &err)); /* from nothing */
        memcpy(want, g.in + l.offset[X], sizeof want);
        OK(kg_judge_fill(&g.j, &plain, false, &err));
        float was[40 * 70];
        memcpy(was, g.in + l.offset[X], sizeof was);
        OK(kg_judge_fill(&g.j, &edited, false, &err)); /* from its twin */
        assert_memory_equal(want, g.in + l.offset[X], sizeof want);
        OK(kg_judge_fill(&g.j, &plain, true, &err)); /* never from the edited values */
        assert_memory_equal(was, g.in + l.offset[X], sizeof was);
        expect(&g, &plain);
        OK(kg_judge_save(&g.j, &plain, 1, &err));
        OK(kg_judge_fill(&g.j, &edited, false, &err)); /* saved: another's all the same */
        assert_memory_equal(want, g.in + l.offset[X], sizeof want);
        expect(&g, &plain);
        OK(kg_judge_save(&g.j, &plain, 1, &err));
        OK(kg_judge_fill(&g.j, &plain, false, &err));
        assert_memory_equal(was, g.in + l.offset[X], sizeof was);
    }
    rig_close(&g);
}

/* Bytes around every array, input and output, are no constant and read as NaN. */
static void guards_are_fresh_garbage(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(3);
    struct kg_layout l = plan(&c, false);
    unsigned char before[2][KG_GUARD_BYTES];
    for (int round = 0; round < 2; round++) {
        OK(kg_judge_fill(&g.j, &c, false, &err));
        const unsigned char *zones[] = {g.in + l.offset[X] - KG_GUARD_BYTES,
                                        g.out + l.offset[Y] - KG_GUARD_BYTES};
        for (int k = 0; k < 2; k++) {
            const float *f = (const void *)zones[k];
            for (int i = 0; i < KG_GUARD_BYTES / 4; i++) {
                assert_true(isnan(f[i]));
            }
            if (round) {
                assert_memory_not_equal(before[k], zones[k], KG_GUARD_BYTES);
            }
            memcpy(before[k], zones[k], KG_GUARD_BYTES);
        }
        assert_memory_not_equal(before[0], before[1], KG_GUARD_BYTES);
        float past;
        memcpy(&past, g.in + l.offset[IDX] + l.bytes[IDX], sizeof past);
        assert_true(isnan(past));
    }
    rig_close(&g);
}

static void a_second_fill_has_fresh_poison_and_the_same_inputs(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(4);
    struct kg_layout l = plan(&c, false);
    uint32_t first, second, pick;
    OK(kg_judge_fill(&g.j, &c, false, &err));
    memcpy(&first, g.out + l.offset[Y], 4);
    memcpy(&pick, g.out + l.offset[PICK], 4);
    assert_true(isnan(*(const float *)(const void *)(g.out + l.offset[Y])));
    assert_true((int32_t)pick < -1000000);
    unsigned char *x = malloc(l.bytes[X]);
    memcpy(x, g.in + l.offset[X], l.bytes[X]);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    memcpy(&second, g.out + l.offset[Y], 4);
    assert_int_not_equal(first, second);
    assert_memory_equal(x, g.in + l.offset[X], l.bytes[X]);
    free(x);
    rig_close(&g);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* One word of each line, far apart from one read to the next. */
static int64_t read_lines(const unsigned char *map, size_t bytes, volatile uint64_t *sink)
{
    size_t lines = bytes / 64, at = 0;
    int64_t start = kg_clock_ns();
    for (size_t i = 0; i < lines; i++) {
        uint64_t word;
        memcpy(&word, map + at * 64, sizeof word);
        *sink += word;
        at = (at + lines / 2 + 1) % lines;
    }
    return kg_clock_ns() - start;
}

static void a_flush_drops_lines_and_changes_nothing(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(4);
    struct kg_layout l = plan(&c, false);
    struct kg_take_report take;
    int64_t ns[2][31];
    uint64_t sink = 0;
    OK(kg_judge_fill(&g.j, &c, false, &err));
    unsigned char *in = malloc(l.in_end), *out = malloc(l.out_end);
    assert_true(in != NULL && out != NULL);
    for (int i = 0; i < 31; i++) {
        memcpy(in, g.in, l.in_end);
        memcpy(out, g.out, l.out_end);
        ns[0][i] = read_lines(g.in, l.in_end, &sink);
        OK(kg_judge_flush(&g.j, &c, &err));
        ns[1][i] = read_lines(g.in, l.in_end, &sink);
        assert_memory_equal(in, g.in, l.in_end);
        assert_memory_equal(out, g.out, l.out_end);
    }
    for (int k = 0; k < 2; k++) {
        qsort(ns[k], 31, sizeof ns[k][0], by_value);
    }
    printf("%zu bytes: %lld ns, after a flush %lld ns\n", (size_t)l.in_end, (long long)ns[0][15],
           (long long)ns[1][15]);
    assert_true(ns[1][15] > ns[0][15]);
    OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &take, &err));
    assert_int_equal(take.what, KG_TAKE_UNWRITTEN);
    c.out_base = 1 << 30;
    assert_int_equal(kg_judge_flush(&g.j, &c, &err), KG_E_LIMIT);
    free(in);
    free(out);
    rig_close(&g);
}

static void an_honest_answer_passes_in_every_mode(void **state)
{
    (void)state;
    struct rig g = rig_open();
    for (uint64_t key = 0; key < 6; key++) {
        struct kg_case c = case_of(key);
        c.jitter = key * 31;
        expect(&g, &c);
        run_float(&g, &c);
        take(&g, &c, KG_SIDE_CANDIDATE);
        for (int mode = KG_COMPARE_ORACLE; mode <= KG_COMPARE_EXACT; mode++) {
            struct kg_judgement v = judge(&g, &c, (enum kg_compare_mode)mode);
            assert_true(v.compare.pass && v.compare.bit_equal);
            assert_false(v.replay || v.earlier_expected);
        }
    }
    rig_close(&g);
}

static void a_wrong_element_fails_and_is_named(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(5);
    struct kg_layout l = plan(&c, false);
    expect(&g, &c);
    run_float(&g, &c);
    ((int32_t *)(void *)(g.out + l.offset[PICK]))[17] += 1;
    struct kg_judgement v = answer(&g, &c);
    assert_false(v.compare.pass);
    assert_int_equal(v.arg, PICK);
    assert_int_equal(v.compare.first_bad, 17);
    assert_int_equal(v.compare.n_bad, 1);
    run_float(&g, &c);
    ((float *)(void *)(g.out + l.offset[Y]))[2799] += 1e-3f;
    v = answer(&g, &c);
    assert_true(!v.compare.pass && v.arg == Y && v.compare.first_bad == 2799);
    rig_close(&g);
}

static void timed_calls_need_no_oracle(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case known = case_of(6), c = case_of(7);
    expect(&g, &known);
    struct kg_judgement v;
    OK(kg_judge_self(&g.j, &known, &v, &err));
    OK(kg_judge_fill(&g.j, &c, false, &err));
    run_float(&g, &c);
    take(&g, &c, KG_SIDE_FLOAT);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    run_float(&g, &c);
    take(&g, &c, KG_SIDE_CANDIDATE);
    assert_true(judge(&g, &c, KG_COMPARE_FLOAT).compare.pass);
    assert_int_equal(kg_judge_compare(&g.j, &c, KG_COMPARE_ORACLE, &v, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: the oracle's answer to this case was not taken");
    ((float *)(void *)(g.out + plan(&c, false).offset[Y]))[3] += 1e-3f;
    take(&g, &c, KG_SIDE_CANDIDATE);
    assert_false(judge(&g, &c, KG_COMPARE_FLOAT).compare.pass);
    rig_close(&g);
}

static void self_refuses_a_reference_that_is_off(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(8);
    struct kg_judgement v;
    expect(&g, &c);
    OK(kg_judge_self(&g.j, &c, &v, &err));
    assert_true(v.compare.pass);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    run_float(&g, &c);
    ((float *)(void *)(g.out + plan(&c, false).offset[Y]))[3] += 0.1f;
    take(&g, &c, KG_SIDE_FLOAT);
    OK(kg_judge_self(&g.j, &c, &v, &err));
    assert_true(!v.compare.pass && v.arg == Y && v.compare.first_bad == 3);
    rig_close(&g);
}

static void self_refuses_references_of_different_classes(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(9);
    struct kg_judgement v;
    expect(&g, &c);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    run_float(&g, &c);
    for (int i = 0; i < 29; i++) { /* 28 of 2800 are one in a hundred */
        ((float *)(void *)(g.out + plan(&c, false).offset[Y]))[i * 3] = NAN;
    }
    take(&g, &c, KG_SIDE_FLOAT);
    OK(kg_judge_self(&g.j, &c, &v, &err));
    assert_false(v.compare.pass);
    rig_close(&g);
}

static void answers_of_another_case_are_refused(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(10), b = case_of(11);
    struct kg_take_report t;
    struct kg_judgement v;
    assert_int_equal(kg_judge_take(&g.j, &a, KG_SIDE_FLOAT, &t, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: outputs are taken of a case that was not filled");
    expect(&g, &a);
    run_float(&g, &a);
    take(&g, &a, KG_SIDE_CANDIDATE);
    assert_int_equal(kg_judge_compare(&g.j, &b, KG_COMPARE_EXACT, &v, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: the candidate's answer to this case was not taken");
    assert_int_equal(kg_judge_save(&g.j, &b, 1, &err), KG_E_GYM);
    b = a;
    b.edited = true;
    assert_int_equal(kg_judge_compare(&g.j, &b, KG_COMPARE_EXACT, &v, &err), KG_E_GYM);
    b = a;
    b.jitter = 5; /* the same values elsewhere: what is expected is the same */
    OK(kg_judge_compare(&g.j, &b, KG_COMPARE_EXACT, &v, &err));
    rig_close(&g);
}

static void opening_wipes_what_was_there(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(80);
    struct kg_layout l = plan(&c, false);
    expect(&g, &c);
    run_float(&g, &c);
    OK(kg_judge_open(&g.j, problem, 0, 0, &err));
    for (uint64_t i = 0; i < l.in_end; i++) {
        assert_int_equal(g.in[i], 0);
    }
    for (uint64_t i = 0; i < l.out_end; i++) {
        assert_int_equal(g.out[i], 0);
    }
    struct kg_take_report t;
    assert_int_equal(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err), KG_E_GYM);
    rig_close(&g);
}

static void regions_grow_and_are_kept_where_large_enough(void **state)
{
    (void)state;
    struct kg_judge j;
    OK(kg_judge_start(-1, &j, &err));
    OK(kg_judge_open(&j, problem, 0, 0, &err)); /* as the default shape needs */
    struct kg_case c = case_of(81);
    c.jitter = 3;
    OK(kg_judge_fill(&j, &c, false, &err));
    OK(kg_judge_fill(&j, &c, true, &err));
    int fd = j.in.fd;
    size_t bytes = j.in.bytes;
    OK(kg_judge_open(&j, problem, 4096, 4096, &err));
    assert_true(j.in.fd == fd && j.in.bytes == bytes);
    OK(kg_judge_open(&j, problem, 1 << 21, 1 << 20, &err));
    assert_true(j.in.bytes >= 1 << 21 && j.out.bytes >= 1 << 20);
    OK(kg_judge_fill(&j, &c, false, &err));
    kg_judge_stop(&j);
}

static void cases_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(82);
    c.in_base = g.j.in.bytes - 4096;
    assert_int_equal(kg_judge_fill(&g.j, &c, false, &err), KG_E_LIMIT);
    assert_non_null(strstr(err.message, "a case of twice needs "));
    c = case_of(82);
    c.out_base = (uint64_t)1 << 30;
    assert_int_equal(kg_judge_fill(&g.j, &c, false, &err), KG_E_LIMIT);
    c = case_of(82);
    c.shape.dim[0] = 0;
    assert_int_equal(kg_judge_fill(&g.j, &c, false, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: twice has no such shape");
    c = case_of(82);
    c.in_base = 3;
    assert_int_equal(kg_judge_fill(&g.j, &c, false, &err), KG_E_GYM);
    assert_string_equal(err.message, "cannot ask the judge to `fill`: a base is no multiple of 8");
    c = case_of(82);
    OK(kg_judge_fill(&g.j, &c, false, &err)); /* none of it did harm */
    rig_close(&g);
}

static void nothing_works_before_open(void **state)
{
    (void)state;
    struct kg_judge j;
    struct kg_case c = case_of(83);
    struct kg_judgement v;
    struct kg_take_report t;
    bool hit;
    int64_t ns;
    OK(kg_judge_start(-1, &j, &err));
    assert_int_equal(kg_judge_fill(&j, &c, false, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: no problem is open");
    assert_int_equal(kg_judge_take(&j, &c, KG_SIDE_FLOAT, &t, &err), KG_E_GYM);
    assert_int_equal(kg_judge_compare(&j, &c, KG_COMPARE_EXACT, &v, &err), KG_E_GYM);
    assert_int_equal(kg_judge_self(&j, &c, &v, &err), KG_E_GYM);
    assert_int_equal(kg_judge_save(&j, &c, 1, &err), KG_E_GYM);
    assert_int_equal(kg_judge_load(&j, &c, 1, &hit, &err), KG_E_GYM);
    assert_int_equal(kg_judge_floor(&j, &c, &ns, &err), KG_E_GYM);
    kg_judge_stop(&j);
}

/* What one process wrote beside the arrays is no message to the next. */
static void clear_leaves_nothing_in_the_outputs(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(85);
    struct kg_take_report t;
    OK(kg_judge_fill(&g.j, &c, false, &err));
    g.out[g.j.out.bytes - 1] = 1;
    OK(kg_judge_clear(&g.j, &err));
    for (size_t i = 0; i < g.j.out.bytes; i++) {
        assert_int_equal(g.out[i], 0);
    }
    assert_int_equal(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err), KG_E_GYM);
    rig_close(&g);
}

static void floor_measures_and_unpoisons(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(84);
    struct kg_take_report t;
    int64_t ns = 0;
    OK(kg_judge_fill(&g.j, &c, false, &err));
    OK(kg_judge_floor(&g.j, &c, &ns, &err));
    assert_true(ns > 0 && ns < 1000000000);
    assert_int_equal(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err), KG_E_GYM);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill_writes_the_law),
        cmocka_unit_test(wide_fill_holds_the_same_values),
        cmocka_unit_test(inputs_in_place_change_no_values),
        cmocka_unit_test(guards_are_fresh_garbage),
        cmocka_unit_test(a_second_fill_has_fresh_poison_and_the_same_inputs),
        cmocka_unit_test(a_flush_drops_lines_and_changes_nothing),
        cmocka_unit_test(an_honest_answer_passes_in_every_mode),
        cmocka_unit_test(a_wrong_element_fails_and_is_named),
        cmocka_unit_test(timed_calls_need_no_oracle),
        cmocka_unit_test(self_refuses_a_reference_that_is_off),
        cmocka_unit_test(self_refuses_references_of_different_classes),
        cmocka_unit_test(answers_of_another_case_are_refused),
        cmocka_unit_test(opening_wipes_what_was_there),
        cmocka_unit_test(regions_grow_and_are_kept_where_large_enough),
        cmocka_unit_test(cases_that_do_not_fit_are_refused),
        cmocka_unit_test(nothing_works_before_open),
        cmocka_unit_test(clear_leaves_nothing_in_the_outputs),
        cmocka_unit_test(floor_measures_and_unpoisons),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
