#include "rl/methods/bestof.h"
#include "rl_rig.h"

static void weights(const struct rl_candidate *c, size_t n, const double *want)
{
    for (size_t i = 0; i < n; i++) {
        assert_close(c[i].weight, want[i], 1e-12);
    }
}

static void fill(struct rl_candidate *c)
{
    static const struct rl_candidate all[] = {
        {.correct = true, .reward = 2, .speedup_lo = 1, .tokens = 50, .sample = 0, .hash = 1},
        {.correct = true, .reward = 3, .speedup_lo = 1, .tokens = 50, .sample = 1, .hash = 2},
        {.correct = false, .reward = 9, .speedup_lo = 9, .tokens = 1, .sample = 2, .hash = 3},
        {.correct = true, .reward = 3, .speedup_lo = 2, .tokens = 90, .sample = 3, .hash = 4},
        {.correct = true, .reward = 3, .speedup_lo = 2, .tokens = 80, .sample = 4, .hash = 5},
        {.correct = true, .reward = 3, .speedup_lo = 2, .tokens = 80, .sample = 5, .hash = 6},
        {.correct = true, .reward = 4, .speedup_lo = 2, .tokens = 70, .sample = 6, .hash = 4},
    };
    memcpy(c, all, sizeof all);
}

static void test_ranking_and_repeats(void **state)
{
    (void)state;
    struct rl_candidate c[7];
    struct rl_bestof_options o;
    struct rl_bestof_report report = {0};
    struct rl_counts counts = {0};
    rl_bestof_defaults(&o);
    fill(c);
    assert_int_equal(rl_bestof_choose(c, 7, &o, &report, &counts), 3);
    /* 6 first; 3 is equal to it; then 4 before 5 by its sample */
    weights(c, 7, (const double[]){0, 0, 0, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3});
    o.keep = 5;
    o.each_one = true;
    assert_int_equal(rl_bestof_choose(c, 7, &o, &report, &counts), 5);
    weights(c, 7, (const double[]){1, 1, 0, 0, 1, 1, 1});
    assert_int_equal(report.problems, 2);
    assert_int_equal(report.repeated, 2);
    assert_int_equal(report.correct, 12);
    assert_int_equal(counts.of[RL_C_TOPK].acted, 8);
}

static void test_never_filled_up_and_strict(void **state)
{
    (void)state;
    struct rl_candidate c[7];
    struct rl_bestof_options o;
    struct rl_bestof_report report = {0};
    struct rl_counts counts = {0};
    rl_bestof_defaults(&o);
    fill(c);
    o.least = true;
    o.reward_least = 3;
    assert_int_equal(rl_bestof_choose(c, 7, &o, &report, &counts), 1);
    weights(c, 7, (const double[]){0, 0, 0, 0, 0, 0, 1});
    o.reward_least = 4;
    assert_int_equal(rl_bestof_choose(c, 7, &o, &report, &counts), 0);
    weights(c, 7, (const double[7]){0});
    assert_int_equal(report.without, 1);
}

static void test_winners_are_advantages_of_topk(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    struct rl_candidate c[7];
    struct rl_bestof_options o;
    struct rl_bestof_report report = {0};
    rl_bestof_defaults(&o);
    fill(c);
    rl_bestof_choose(c, 7, &o, &report, &g->counts);
    for (uint32_t i = 0; i < 7; i++) {
        rig_row(g, 0, i + 1, 1, c[i].reward, 1)->win = c[i].weight;
    }
    rig_advantage(g, "topk", RL_SET_KEPT);
    for (uint32_t i = 0; i < 7; i++) {
        assert_close(g->row[i].adv, i < 4 ? 0 : 1.0 / 3, 1e-12);
    }
    free(g);
}

static void test_EX_7_4_yield_of_a_round(void **state)
{
    (void)state;
    static const double want[][3] = {{.01, .0956, .1000},  {.03, .2626, .2998},
                                     {.07, .5160, .6961},  {.15, .8031, 1.4386},
                                     {.30, .9718, 2.4397}, {.63, 1, 2.9919}};
    for (size_t i = 0; i < 6; i++) {
        double any, kept;
        rl_bestof_yield(10, 3, want[i][0], &any, &kept);
        assert_near(any, want[i][1]);
        assert_near(kept, want[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranking_and_repeats),
        cmocka_unit_test(test_never_filled_up_and_strict),
        cmocka_unit_test(test_winners_are_advantages_of_topk),
        cmocka_unit_test(test_EX_7_4_yield_of_a_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
