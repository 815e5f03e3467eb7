#include "rl/methods/filter.h"
#include "rl_rig.h"

static struct rl_filter_options options(enum rl_zero_var how)
{
    struct rl_filter_options o;
    rl_filter_defaults(&o, 4);
    o.zero_var = how;
    return o;
}

/* Four rollouts of two turns with these rewards, gamma 0. */
static void group(struct rig *g, const double *first, const double *second)
{
    rig_clear(g);
    for (uint32_t i = 1; i <= 4; i++) {
        rig_row(g, 0, i, 1, first[i - 1], 0);
        rig_row(g, 0, i, 2, second[i - 1], 0);
    }
}

static enum rl_drop fate(struct rig *g, struct rl_filter_options o)
{
    return rl_filter_group(&g->rows, 0, g->rows.n, &o, &g->counts);
}

static void test_EX_7_1_D_08_every_turn_with_signal_counts(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    static const double signal[] = {0, 2, 0, 2}, none[4] = {0};
    group(g, signal, none);
    assert_int_equal(fate(g, options(RL_ZERO_VAR_ANY)), RL_DROP_NO);
    assert_int_equal(fate(g, options(RL_ZERO_VAR_LAST)), RL_DROP_ZERO);
    rig_advantage(g, "trloo", RL_SET_LIVE);
    for (uint32_t i = 1; i <= 4; i++) {
        assert_near(rig_find(g, 0, i, 1)->adv, i % 2 ? -1.3333 : 1.3333);
    }
    group(g, none, signal);
    assert_int_equal(fate(g, options(RL_ZERO_VAR_LAST)), RL_DROP_NO);
    static const double close[] = {1, 1.0005, 1, 1};
    group(g, none, close);
    assert_int_equal(fate(g, options(RL_ZERO_VAR_ANY)), RL_DROP_ZERO);
    assert_int_equal(fate(g, options(RL_ZERO_VAR_OFF)), RL_DROP_NO);
    assert_int_equal(g->counts.of[RL_C_FILTER].looked, 2); /* group() counts anew */
    free(g);
}

static void test_a_dropped_group_would_not_have_moved_the_gradient(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    static const double flat[] = {1, 1, 1, 1};
    group(g, flat, flat);
    assert_int_equal(fate(g, options(RL_ZERO_VAR_ANY)), RL_DROP_ZERO);
    rig_advantage(g, "trloo", RL_SET_LIVE);
    for (size_t i = 0; i < g->rows.n; i++) {
        assert_true(g->row[i].adv == 0);
    }
    free(g);
}

static void test_other_reasons(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    static const double r[] = {0, 2, 0, 2};
    group(g, r, r);
    struct rl_filter_options o = options(RL_ZERO_VAR_ANY);
    assert_int_equal(o.min_group, 3);
    for (uint32_t i = 1; i <= 2; i++) {
        rig_find(g, 0, i, 1)->flags |= RL_INFRA;
        rl_rows_spread_infra(&g->rows);
        assert_int_equal(fate(g, o), i == 1 ? RL_DROP_NO : RL_DROP_FEW);
    }
    group(g, r, r);
    o.need_success = true;
    o.reward_least = 2;
    assert_int_equal(fate(g, o), RL_DROP_FAILED);
    o.reward_least = 1.9;
    assert_int_equal(fate(g, o), RL_DROP_NO);
    rig_find(g, 0, 2, 2)->flags |= RL_CUT;
    assert_int_equal(fate(g, o), RL_DROP_NO);
    o.no_overlong = true;
    assert_int_equal(fate(g, o), RL_DROP_LONG);
    rig_find(g, 0, 2, 2)->flags |= RL_BAD_PROBLEM;
    assert_int_equal(fate(g, o), RL_DROP_PROBLEM);
    assert_string_equal(rl_drop_name(RL_DROP_FEW), "few");
    free(g);
}

static void test_D_31_refill_is_bounded(void **state)
{
    (void)state;
    struct rl_counts c = {0};
    assert_int_equal(rl_refill_decide(16, 16, 0, 3, true, &c), RL_REFILL_TRAIN);
    assert_int_equal(rl_refill_decide(15, 16, 0, 3, true, &c), RL_REFILL_SAMPLE);
    assert_int_equal(rl_refill_decide(15, 16, 2, 3, true, &c), RL_REFILL_SAMPLE);
    assert_int_equal(rl_refill_decide(15, 16, 3, 3, true, &c), RL_REFILL_TRAIN);
    assert_int_equal(rl_refill_decide(15, 16, 0, 3, false, &c), RL_REFILL_TRAIN);
    assert_int_equal(rl_refill_decide(0, 16, 3, 3, true, &c), RL_REFILL_SKIP);
    assert_int_equal(c.of[RL_C_REFILL].acted, 2);
}

static void test_groups_are_chosen_uniformly(void **state)
{
    (void)state;
    uint32_t hits[10] = {0}, order[10], again[10];
    for (uint32_t step = 0; step < 2000; step++) {
        assert_int_equal(rl_refill_choose(42, step, 10, 4, order), 4);
        for (int i = 0; i < 4; i++) {
            hits[order[i]]++;
            assert_true(i == 0 || order[i - 1] < order[i]);
        }
    }
    for (int i = 0; i < 10; i++) {
        assert_in_range(hits[i], 700, 900);
    }
    rl_refill_choose(42, 1999, 10, 4, again);
    assert_memory_equal(order, again, sizeof order);
    assert_int_equal(rl_refill_choose(42, 0, 3, 4, order), 3);
}

static void test_oversampled_rollouts(void **state)
{
    (void)state;
    static const double reward[] = {0, 1, 0, 2, 0, 0, 3, 0};
    static const size_t length[] = {10, 20, 5, 20, 30, 7, 100, 9};
    uint32_t order[8];
    assert_int_equal(rl_oversample_count(16, 1), 16);
    assert_int_equal(rl_oversample_count(10, 1.1), 11);
    assert_int_equal(rl_oversample_count(10, 1.01), 11);
    for (uint32_t step = 0; step < 50; step++) {
        size_t n = rl_oversample_choose(RL_OVER_BALANCED, 1, step, 0, reward, length, 8, 5, order);
        int hits = 0;
        uint32_t seen = 0;
        for (size_t i = 0; i < n; i++) {
            hits += reward[order[i]] > 0;
            seen |= 1u << order[i];
        }
        assert_int_equal(n, 5);
        assert_int_equal(hits, 2); /* 3 of 8, of 5: 1.9 */
        assert_int_equal(__builtin_popcount(seen), 5);
    }
    rl_oversample_choose(RL_OVER_EFFICIENCY, 1, 0, 0, reward, length, 8, 5, order);
    /* successes by reward / length: 3 (.1), 1 (.05); failures by shortness: 2, 5, 7 */
    assert_memory_equal(order, ((const uint32_t[]){1, 2, 3, 5, 7}), 5 * sizeof order[0]);
    uint32_t uniform[8] = {0};
    for (uint32_t step = 0; step < 2000; step++) {
        rl_oversample_choose(RL_OVER_UNIFORM, 1, step, 0, reward, length, 8, 4, order);
        for (int i = 0; i < 4; i++) {
            uniform[order[i]]++;
        }
    }
    for (int i = 0; i < 8; i++) {
        assert_in_range(uniform[i], 900, 1100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_7_1_D_08_every_turn_with_signal_counts),
        cmocka_unit_test(test_a_dropped_group_would_not_have_moved_the_gradient),
        cmocka_unit_test(test_other_reasons),
        cmocka_unit_test(test_D_31_refill_is_bounded),
        cmocka_unit_test(test_groups_are_chosen_uniformly),
        cmocka_unit_test(test_oversampled_rollouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
