#include "rl/methods/bootstrap.h"
#include "rl/methods/metrics.h"
#include "rl_rig.h"

static void test_EX_8_1_D_18_pass_at_k(void **state)
{
    (void)state;
    static const size_t k[] = {1, 2, 4, 8};
    static const struct {
        size_t c;
        double pass[4];
    } want[] = {{1, {.125, .25, .5, 1}},
                {3, {.375, .642857, .928571, 1}},
                {6, {.75, .964286, 1, 1}},
                {0, {0, 0, 0, 0}}};
    struct kg_err err = KG_ERR_INIT;
    double got;
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 4; j++) {
            assert_int_equal(rl_metrics_pass(8, want[i].c, k[j], &got, &err), KG_OK);
            assert_close(got, want[i].pass[j], 1e-6);
        }
    }
    assert_int_equal(rl_metrics_pass(8, 1, 9, &got, &err), KG_E_USAGE);
    assert_int_equal(rl_metrics_pass(8, 1, 0, &got, &err), KG_E_USAGE);
}

static struct rl_outcome right(double s)
{
    return (struct rl_outcome){.sampled = true,
                               .extracted = true,
                               .valid = true,
                               .compiled = true,
                               .numerics = true,
                               .correct = true,
                               .speedup = s,
                               .speedup_lo = .9 * s,
                               .coverage = 1};
}

static struct rl_outcome wrong(void)
{
    return (struct rl_outcome){.sampled = true, .extracted = true, .speedup = 5};
}

static void test_EX_8_2_D_15_fast_p_is_strict(void **state)
{
    (void)state;
    static const double s[] = {.8, 1.0, 1.01, 1.3, 2.08, 7.5};
    struct rl_outcome o[8];
    for (int i = 0; i < 8; i++) {
        o[i] = i < 6 ? right(s[i]) : wrong(); /* a stray speed of a wrong one counts nothing */
    }
    struct rl_results r = {1, 8, 1, o};
    struct rl_view v = rl_view_last(&r);
    static const double want[][2] = {{1, .5}, {1.2, .375}, {1.5, .25}, {2, .25}, {3, .125}};
    for (int i = 0; i < 5; i++) {
        assert_near(rl_metrics_fast(&r, v, want[i][0], false, NULL), want[i][1]);
    }
    assert_near(rl_metrics_fast(&r, v, 1, true, NULL), .375); /* 1.01 has a lower end of .909 */
    assert_near(rl_metrics_fast_of_correct(&r, v, 1), 4.0 / 6);
    double work[8];
    struct rl_speeds x = rl_metrics_speeds(&r, v, work);
    assert_near(x.geomean, 1.5937);
    assert_near(x.median, 1.155);
    assert_near(x.mean, 2.2817);
    assert_near(x.geo_floor1, 1.4586);
    /* unrounded it is above 1; the published form has both times at three digits */
    o[0] = right(3.4649 / 3.4551);
    assert_near(rl_metrics_fast(&r, v, 1, false, NULL), .625);
    assert_near(3.4649 / 3.4551, 1.002836);
    assert_true(rl_metrics_fast_published(3.4649, 3.4551, 1));
    assert_false(rl_metrics_fast_published(3.4649, 3.4551, 1.0001));
    double log_sum, count;
    rl_metrics_logs(&r, v, true, &log_sum, &count);
    assert_true(count == 8);
}

static void three(struct rl_outcome *o)
{
    static const double s[3][3] = {{0, 1.04, 1.21}, {1.3, 0, 1.1}, {0, 0, 0}};
    for (int q = 0; q < 3; q++) {
        for (int t = 0; t < 3; t++) {
            o[3 * q + t] = s[q][t] > 0 ? right(s[q][t]) : wrong();
        }
    }
}

static void test_EX_8_3_by_turn_and_best_so_far(void **state)
{
    (void)state;
    static const double p[] = {1, 1.2};
    static const double turn[][3] = {{.3333, .3333, .6667}, {.3333, 0, .3333}};
    static const double best[][3] = {{.3333, .6667, .6667}, {.3333, .3333, .6667}};
    struct rl_outcome o[9];
    three(o);
    struct rl_results r = {3, 1, 3, o};
    for (int i = 0; i < 2; i++) {
        for (size_t t = 1; t <= 3; t++) {
            struct rl_view v = {RL_OF_TURN, t};
            assert_near(rl_metrics_fast(&r, v, p[i], false, NULL), turn[i][t - 1]);
            v.of = RL_OF_BEST;
            assert_near(rl_metrics_fast(&r, v, p[i], false, NULL), best[i][t - 1]);
        }
    }
}

static void test_D_06_missing_turns_keep_the_denominator(void **state)
{
    (void)state;
    struct rl_outcome o[9];
    three(o);
    o[8].sampled = false; /* a short trajectory */
    o[5].sampled = false; /* and one that was right: it does not count */
    struct rl_results r = {3, 1, 3, o};
    double per[3];
    assert_near(rl_metrics_fast(&r, rl_view_last(&r), 1, false, per), .3333);
    assert_true(per[0] == 1 && per[1] == 0 && per[2] == 0);
    assert_near(rl_metrics_rates(&r, rl_view_last(&r)).correct, .3333);
}

static void test_rates(void **state)
{
    (void)state;
    struct rl_outcome o[6] = {right(2),
                              right(1),
                              {.sampled = true, .extracted = true, .valid = true, .compiled = true},
                              {.sampled = true, .extracted = true},
                              {.sampled = true},
                              {.sampled = true, .extracted = true, .numerics = true, .hack = true}};
    o[1].coverage = .01;
    struct rl_results r = {2, 3, 1, o};
    struct rl_view v = rl_view_last(&r);
    struct rl_rates x = rl_metrics_rates(&r, v);
    assert_near(x.extracted, 5.0 / 6);
    assert_near(x.valid, .5);
    assert_near(x.compiled, .5);
    assert_near(x.correct, 2.0 / 6);
    assert_near(x.numerics, .5);
    assert_near(x.hack, 1.0 / 3);
    assert_near(x.lazy, 1.0 / 6);
    double per[2], pass;
    rl_metrics_rate(&r, v, RL_RATE_LAZY, per);
    assert_near(per[0], 1.0 / 3);
    rl_metrics_rate(&r, v, RL_RATE_HACK, per);
    assert_near(per[1], 1.0 / 3);
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(rl_metrics_pass_at(&r, v, 2, -1, &pass, per, &err), KG_OK);
    assert_near(per[0], 1);
    assert_near(pass, .5);
    assert_int_equal(rl_metrics_pass_at(&r, v, 1, 1, &pass, per, &err), KG_OK);
    assert_near(pass, 1.0 / 6);
    assert_int_equal(rl_metrics_pass_at(&r, v, 4, 1, &pass, per, &err), KG_E_USAGE);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void test_EX_8_4_the_problem_is_the_unit(void **state)
{
    (void)state;
    static const double m[] = {1, 0, .5, .25};
    assert_close(rl_standard_error(m, 4), .213478, 1e-6);
    static double work[RL_BOOTSTRAP_RESAMPLES];
    double sum = 0, squares = 0;
    for (int i = 0; i < 256; i++) { /* every resample */
        work[i] = (m[i & 3] + m[i >> 2 & 3] + m[i >> 4 & 3] + m[i >> 6]) / 4;
        sum += work[i];
        squares += work[i] * work[i];
    }
    assert_close(sqrt(squares / 256 - sum / 256 * sum / 256), .184877, 1e-6);
    qsort(work, 256, sizeof work[0], ascending);
    assert_close(rl_metrics_quantile(work, 256, .025), .125, 1e-12);
    assert_close(rl_metrics_quantile(work, 256, .975), .8125, 1e-12);
    struct rl_interval x = rl_bootstrap(m, NULL, 4, 42, RL_BOOTSTRAP_RESAMPLES, work);
    assert_close(x.value, .4375, 1e-12);
    assert_close(x.sd, .184877, .004);
    assert_close(x.lo, .125, .063);
    assert_close(x.hi, .8125, .063);
    struct rl_interval again = rl_bootstrap(m, NULL, 4, 42, RL_BOOTSTRAP_RESAMPLES, work);
    assert_memory_equal(&x, &again, sizeof x);
}

static void test_quantile_is_the_smallest_that_reaches_the_level(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4};
    assert_true(rl_metrics_quantile(x, 4, .25) == 1);
    assert_true(rl_metrics_quantile(x, 4, .2500001) == 2);
    assert_true(rl_metrics_quantile(x, 4, 0) == 1);
    assert_true(rl_metrics_quantile(x, 4, 1) == 4);
}

static void test_paired_differences_are_narrower(void **state)
{
    (void)state;
    static double a[40], b[40], work[2000];
    for (int q = 0; q < 40; q++) {
        a[q] = q % 5 / 5.0;
        b[q] = a[q] + (q % 4 ? .1 : .05);
    }
    struct rl_interval d = rl_bootstrap_difference(a, NULL, b, NULL, 40, 0, 42, 2000, work);
    assert_close(d.value, .0875, 1e-9);
    assert_true(d.lo > .075 && d.hi < .1);
    struct rl_interval one = rl_bootstrap(b, NULL, 40, 42, 2000, work);
    assert_true(one.hi - one.lo > 5 * (d.hi - d.lo));
    struct rl_interval same = rl_bootstrap_difference(a, NULL, a, NULL, 40, 0, 42, 2000, work);
    assert_true(same.lo == 0 && same.hi == 0);
}

static void test_geometric_mean_as_a_ratio(void **state)
{
    (void)state;
    static const double logs[] = {1.2, 0, .3, 0}, count[] = {2, 0, 1, 0};
    static const double more[] = {2.4, 0, .6, 0};
    static double work[2000];
    struct rl_interval x = rl_bootstrap(logs, count, 4, 42, 2000, work);
    assert_close(x.value, .5, 1e-12);
    assert_true(x.empty > 60 && x.empty < 190); /* of 2000 resamples 1 in 16 has no success */
    assert_true(x.lo >= .3 - 1e-12 && x.hi <= .6 + 1e-12);
    struct rl_interval d = rl_bootstrap_difference(logs, count, more, count, 4, 1, 42, 2000, work);
    assert_close(d.value, exp(1) - exp(.5), 1e-9);
    static const double none[4] = {0};
    x = rl_bootstrap(logs, none, 4, 42, 100, work);
    assert_true(isnan(x.lo) && x.empty == 100);
}

static void test_seeds_are_resampled_too(void **state)
{
    (void)state;
    static double v[3 * 20], work[2000];
    for (int s = 0; s < 3; s++) {
        for (int q = 0; q < 20; q++) {
            v[20 * s + q] = .2 * s + .01 * (q % 2);
        }
    }
    struct rl_interval x = rl_bootstrap_seeds(v, 3, 20, 42, 2000, work);
    assert_close(x.value, .205, 1e-9);
    assert_close(x.sd, sqrt(.02666667 / 3), .004); /* variance of 0, .2, .4 over three seeds */
    assert_true(x.lo < .02 && x.hi > .39);
}

static void test_a_list_of_statistics_has_the_intervals_of_each(void **state)
{
    (void)state;
    static const double m[] = {1, 0, .5, .25, .75}, more[] = {1, .5, .5, .25, 1};
    static const double logs[] = {1.2, 0, .3, 0, 0}, count[] = {2, 0, 1, 0, 0};
    static const double most[] = {2.4, 0, .6, 0, 0};
    static double all[4 * 2000], work[2000];
    const struct rl_statistic s[] = {{.num = m},
                                     {.num = logs, .den = count}, /* some resamples have none */
                                     {m, NULL, more, NULL, 0},
                                     {logs, count, most, count, 1}};
    size_t draw[5];
    struct rl_interval out[4], want[4];
    rl_bootstrap_list(s, 4, 5, 42, 2000, out, all, draw);
    want[0] = rl_bootstrap(m, NULL, 5, 42, 2000, work);
    want[1] = rl_bootstrap(logs, count, 5, 42, 2000, work);
    want[2] = rl_bootstrap_difference(m, NULL, more, NULL, 5, 0, 42, 2000, work);
    want[3] = rl_bootstrap_difference(logs, count, most, count, 5, 1, 42, 2000, work);
    assert_memory_equal(out, want, sizeof want);
    assert_true(out[1].empty > 0 && out[0].empty == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_8_1_D_18_pass_at_k),
        cmocka_unit_test(test_EX_8_2_D_15_fast_p_is_strict),
        cmocka_unit_test(test_EX_8_3_by_turn_and_best_so_far),
        cmocka_unit_test(test_D_06_missing_turns_keep_the_denominator),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_EX_8_4_the_problem_is_the_unit),
        cmocka_unit_test(test_quantile_is_the_smallest_that_reaches_the_level),
        cmocka_unit_test(test_paired_differences_are_narrower),
        cmocka_unit_test(test_geometric_mean_as_a_ratio),
        cmocka_unit_test(test_seeds_are_resampled_too),
        cmocka_unit_test(test_a_list_of_statistics_has_the_intervals_of_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
