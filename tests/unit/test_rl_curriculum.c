#include "rl/methods/curriculum.h"
#include "rl/methods/streams.h"
#include "rl_rig.h"

/* Right answers of 16 at each step; -1: a step without level 1. */
static const int right[] = {4, 5, 7, 8, 8, 9, 6, 3, 2, -1, 10, 11};

/* The share after each of the twelve steps. */
static void follow(const struct rl_curriculum_options *o, double *share, double *accuracy)
{
    struct rl_curriculum c;
    struct rl_counts counts = {0};
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(rl_curriculum_check(o, &err), KG_OK);
    rl_curriculum_init(&c);
    for (int i = 0; i < 12; i++) {
        uint32_t n = right[i] < 0 ? 0 : 16;
        rl_curriculum_update(&c, o, n > 0 ? (uint32_t)right[i] : 0, n, &counts);
        share[i] = rl_curriculum_share(&c, o);
        accuracy[i] = rl_curriculum_accuracy(&c, o);
    }
    assert_int_equal(counts.of[RL_C_CURRICULUM].looked, 12);
}

static struct rl_curriculum_options options(enum rl_curriculum_mode mode)
{
    struct rl_curriculum_options o;
    rl_curriculum_defaults(&o);
    o.mode = mode;
    return o;
}

static void expect(const struct rl_curriculum_options *o, const double *want)
{
    double share[12], accuracy[12];
    follow(o, share, accuracy);
    for (int i = 0; i < 12; i++) {
        assert_close(share[i], want[i], 1e-12);
    }
}

static void test_EX_7_2_ratchet(void **state)
{
    (void)state;
    struct rl_curriculum_options o = options(RL_CUR_RATCHET);
    double share[12], accuracy[12];
    follow(&o, share, accuracy);
    static const double want[] = {-1,    -1,    -1,    -1,    .4000, .4625,
                                  .4750, .4250, .3500, .3500, .3750, .4000};
    for (int i = 0; i < 12; i++) {
        assert_close(accuracy[i], want[i], 1e-9);
    }
    expect(&o, (const double[]){.1, .1, .1, .1, .1, .15, .2, .25, .25, .25, .25, .25});
    o.ge = true;
    expect(&o, (const double[]){.1, .1, .1, .1, .15, .2, .25, .3, .3, .3, .3, .35});
}

static void test_EX_7_2_hysteresis(void **state)
{
    (void)state;
    struct rl_curriculum_options o = options(RL_CUR_HYSTERESIS);
    expect(&o, (const double[]){.1, .1, .1, .1, .1, .15, .15, .2, .2, .2, .2, .2});
    /* falls below .30, but never below p_min */
    struct rl_curriculum c;
    struct rl_counts counts = {0};
    rl_curriculum_init(&c);
    c.k = 1;
    for (int i = 0; i < 12; i++) {
        rl_curriculum_update(&c, &o, 1, 16, &counts);
    }
    assert_int_equal(c.k, 0);
    assert_int_equal(counts.of[RL_C_CURRICULUM].acted, 1);
}

static void test_EX_7_2_ramp_and_prop(void **state)
{
    (void)state;
    struct rl_curriculum_options o = options(RL_CUR_RAMP);
    expect(&o, (const double[]){.1, .1, .1, .1, .1, .15, .2, .25, .3, .35, .4, .45});
    o = options(RL_CUR_PROP);
    static const struct {
        uint32_t c;
        double p;
    } want[] = {{30, .1}, {50, .3}, {70, .5}};
    for (int i = 0; i < 3; i++) {
        struct rl_curriculum c;
        struct rl_counts counts = {0};
        rl_curriculum_init(&c);
        for (int s = 0; s < 5; s++) {
            assert_close(rl_curriculum_share(&c, &o), .1, 1e-12); /* the window is not full */
            rl_curriculum_update(&c, &o, want[i].c, 100, &counts);
        }
        assert_close(rl_curriculum_share(&c, &o), want[i].p, 1e-12);
    }
}

static void test_ratchet_ends_exactly_at_the_most(void **state)
{
    (void)state;
    struct rl_curriculum_options o = options(RL_CUR_RATCHET);
    struct rl_curriculum c;
    struct rl_counts counts = {0};
    rl_curriculum_init(&c);
    for (int i = 0; i < 30; i++) {
        rl_curriculum_update(&c, &o, 16, 16, &counts);
    }
    assert_true(rl_curriculum_share(&c, &o) == .5);
    for (int i = 0; i < 30; i++) {
        rl_curriculum_update(&c, &o, 0, 16, &counts);
    }
    assert_true(rl_curriculum_share(&c, &o) == .5);
    assert_int_equal(counts.of[RL_C_CURRICULUM].acted, 8);
}

static void test_options_that_wait(void **state)
{
    (void)state;
    struct rl_curriculum_options o = options(RL_CUR_RATCHET);
    static const double never[] = {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1};
    o.min_evals = 81; /* the window holds 80 */
    expect(&o, never);
    o.min_evals = 80;
    expect(&o, (const double[]){.1, .1, .1, .1, .1, .15, .2, .25, .25, .25, .25, .25});
    o.min_evals = 0;
    o.lower_bound = true; /* .475 of 80: the lower end is .369 */
    expect(&o, never);
    o.theta_pct = 36, o.fall_pct = 30;
    expect(&o, (const double[]){.1, .1, .1, .1, .1, .1, .15, .15, .15, .15, .15, .15});
    o = options(RL_CUR_STATIC);
    o.p_fixed = .3;
    double share[12], accuracy[12];
    follow(&o, share, accuracy);
    assert_true(share[0] == .3 && share[11] == .3);
}

static void test_EX_7_3_D_39_level_counts_are_unbiased(void **state)
{
    (void)state;
    static const double u[] = {.091995, .958391, .164829, .424764, .998557, .005095};
    static const uint32_t ten[] = {1, 2, 1, 2, 2, 1}, fifteen[] = {2, 3, 2, 2, 3, 2};
    for (uint32_t s = 0; s < 6; s++) {
        assert_close(rl_draw(42, RL_STREAM_CURRICULUM, s, 0, 0), u[s], 5e-7);
        assert_int_equal(rl_curriculum_slots(16, .10, 0, 42, s).n2, ten[s]);
        assert_int_equal(rl_curriculum_slots(16, .15, 0, 42, s).n2, fifteen[s]);
    }
    double two = 0, three = 0;
    for (uint32_t s = 0; s < 20000; s++) {
        struct rl_slots x = rl_curriculum_slots(8, .1, .05, 42, s);
        assert_int_equal(x.n1 + x.n2 + x.n3, 8);
        two += x.n2;
        three += x.n3;
    }
    assert_close(two / 20000, .8, .01);
    assert_close(three / 20000, .4, .012);
    struct rl_slots x = rl_curriculum_slots(4, .9, .9, 42, 0);
    assert_int_equal(x.n1 + x.n2 + x.n3, 4);
}

static void test_problems_come_once_an_epoch(void **state)
{
    (void)state;
    struct rl_cursor c = {0};
    uint32_t order[7], got[21];
    for (int i = 0; i < 21; i++) {
        got[i] = rl_cursor_next(&c, 42, 1, 7, order, false);
    }
    for (int e = 0; e < 3; e++) {
        uint32_t seen = 0;
        for (int i = 0; i < 7; i++) {
            seen |= 1u << got[7 * e + i];
        }
        assert_int_equal(seen, 127);
    }
    assert_memory_not_equal(got, got + 7, 7 * sizeof got[0]);
    /* a cursor out of a checkpoint goes on with the same order */
    struct rl_cursor stored = {0};
    for (int i = 0; i < 10; i++) {
        rl_cursor_next(&stored, 42, 1, 7, order, false);
    }
    uint32_t other[7] = {0};
    assert_int_equal(rl_cursor_next(&stored, 42, 1, 7, other, true), got[10]);
    assert_int_equal(rl_cursor_next(&stored, 42, 1, 7, other, false), got[11]);
}

static void refuse(struct rl_curriculum_options o, const char *words)
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(rl_curriculum_check(&o, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, words));
}

static void test_refused_options(void **state)
{
    (void)state;
    struct rl_curriculum_options o = options(RL_CUR_RATCHET);
    o.window = 17;
    refuse(o, "window");
    o = options(RL_CUR_RATCHET), o.delta = .2;
    refuse(o, "may reach");
    o = options(RL_CUR_HYSTERESIS), o.fall_pct = 50;
    refuse(o, "fall_below");
    o = options(RL_CUR_STATIC), o.p_fixed = 1.5;
    refuse(o, "fixed share");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_7_2_ratchet),
        cmocka_unit_test(test_EX_7_2_hysteresis),
        cmocka_unit_test(test_EX_7_2_ramp_and_prop),
        cmocka_unit_test(test_ratchet_ends_exactly_at_the_most),
        cmocka_unit_test(test_options_that_wait),
        cmocka_unit_test(test_EX_7_3_D_39_level_counts_are_unbiased),
        cmocka_unit_test(test_problems_come_once_an_epoch),
        cmocka_unit_test(test_refused_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
