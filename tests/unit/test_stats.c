/* Statistics of paired timings: goldens, properties of the random order, degenerate inputs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gym/timing/stats.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define NEAR(got, want, tol)                                                                       \
    do {                                                                                           \
        double g_ = (got), w_ = (want);                                                            \
        if (!(fabs(g_ - w_) <= (tol))) {                                                           \
            fail_msg("%s = %.17g, expected %.17g", #got, g_, w_);                                  \
        }                                                                                          \
    } while (0)

static void median_of_known_sets(void **state)
{
    (void)state;
    const double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
    NEAR(kg_median(odd, N(odd)), 3, 0);
    NEAR(kg_median(even, N(even)), 2.5, 0);
    NEAR(kg_median(one, 1), 7, 0);
    assert_true(isnan(kg_median(one, 0)));
    assert_true(odd[0] == 5 && odd[1] == 1); /* inputs are not sorted in place */
}

static void quantile_interpolates(void **state)
{
    (void)state;
    const double x[] = {40, 10, 30, 20, 50};
    static const struct {
        double q, want;
    } golden[] = {{0, 10},     {0.25, 20}, {0.5, 30}, {0.1, 14}, {0.9, 46},
                  {0.975, 49}, {1, 50},    {-1, 10},  {2, 50}};
    for (size_t i = 0; i < N(golden); i++) {
        NEAR(kg_quantile(x, N(x), golden[i].q), golden[i].want, 1e-12);
    }
    assert_true(isnan(kg_quantile(x, 0, 0.5)));
    assert_true(isnan(kg_quantile(x, N(x), NAN)));
}

static void yuens_interval(void **state)
{
    (void)state;
    const double x[] = {9, 1, 3, 1000, 5, 2, 7, 8, 4, 6}; /* drawn in: 3 3 3 4 5 6 7 8 8 8 */
    NEAR(kg_yuen_half_width(x, N(x), 0.2), kg_t_quantile(0.975, 5) * sqrt(42.5 / 30), 1e-12);
    NEAR(kg_yuen_half_width(x + 4, 5, 0), kg_t_quantile(0.975, 4) * kg_stddev(x + 4, 5) / sqrt(5),
         1e-12);
    NEAR(kg_yuen_half_width(x, 4, 0.2), kg_yuen_half_width(x, 4, 0), 1e-9); /* none to draw in */
    assert_true(isinf(kg_yuen_half_width(x, 1, 0)));
    assert_true(isinf(kg_yuen_half_width(x, 0, 0.2)));
    assert_true(isinf(kg_yuen_half_width(x, 5, 0.4))); /* one stays */
}

static void yuens_interval_of_two(void **state)
{
    (void)state;
    const double x[] = {9, 1, 3, 1000, 5, 2, 7, 8, 4, 6}, y[] = {3, 1, 2}; /* squares: 42.5, 2 */
    NEAR(kg_yuen_half_width_of_two(x, N(x), y, N(y), 0.2),
         kg_t_quantile(0.975, 7) * sqrt(42.5 / 30 + 2.0 / 6) / 2, 1e-12);
    NEAR(kg_yuen_half_width_of_two(x, N(x), x, N(x), 0.2),
         kg_t_quantile(0.975, 10) * sqrt(2 * 42.5 / 30) / 2, 1e-12);
    assert_true(isinf(kg_yuen_half_width_of_two(x, N(x), y, 1, 0.2)));
    assert_true(isinf(kg_yuen_half_width_of_two(y, 1, x, N(x), 0.2)));
    assert_true(isinf(kg_yuen_half_width_of_two(x, 0, y, 0, 0)));
}

/* Against the closed forms of none, all and one of n; an error of the bound is one in 1,000. */
static void share_that_some_of_n_show(void **state)
{
    (void)state;
    NEAR(kg_share_least(0, 64, 1e-3), 0, 0);
    NEAR(kg_share_least(64, 64, 1e-3), pow(1e-3, 1.0 / 64), 1e-9);
    NEAR(kg_share_least(1, 64, 1e-3), 1 - pow(1 - 1e-3, 1.0 / 64), 1e-9);
    NEAR(kg_share_least(16, 16, 1e-3), pow(1e-3, 1.0 / 16), 1e-9);
    for (int k = 1; k <= 64; k++) {
        assert_true(kg_share_least(k, 64, 1e-3) > kg_share_least(k - 1, 64, 1e-3));
        assert_true(kg_share_least(k, 64, 1e-3) < k / 64.0);
    }
}

static void trimmed_mean_drops_floor_per_end(void **state)
{
    (void)state;
    double x[50];
    for (int i = 0; i < 50; i++) {
        x[i] = i < 5 ? -1e9 : i >= 45 ? 1e9 : 100 + i;
    }
    NEAR(kg_trimmed_mean(x, 50, 0.1), 124.5, 1e-9); /* exactly five go at each end */
    const double y[] = {9, 1, 2, 3, 4, 5, 6, 7, 8}; /* floor(0.9) = 0: nothing goes */
    NEAR(kg_trimmed_mean(y, N(y), 0.1), 5, 1e-12);
    NEAR(kg_trimmed_mean(y, N(y), 0), 5, 1e-12);
    NEAR(kg_trimmed_mean(y, N(y), 0.49), 5, 1e-12);
    assert_true(isnan(kg_trimmed_mean(y, 0, 0.1)));
    assert_true(isnan(kg_trimmed_mean(y, N(y), 0.5)));
    assert_true(isnan(kg_trimmed_mean(y, N(y), -0.1)));
}

static void mean_and_stddev(void **state)
{
    (void)state;
    const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    NEAR(kg_mean(x, N(x)), 5, 1e-12);
    NEAR(kg_stddev(x, N(x)), sqrt(32.0 / 7), 1e-12);
    assert_true(isnan(kg_mean(x, 0)));
    assert_true(isnan(kg_stddev(x, 1)));
}

/* Printed tables; the last digits from closed forms: dof 1 tan, dof 2 algebraic. */
static void t_quantiles_match_tables(void **state)
{
    (void)state;
    static const struct {
        double p;
        int dof;
        double want, tol;
    } golden[] = {
        {0.975, 1, 12.706204736174698, 1e-9},  {0.975, 2, 4.302652729749464, 1e-10},
        {0.975, 3, 3.182446305284263, 1e-9},   {0.975, 4, 2.776445105197793, 1e-9},
        {0.975, 5, 2.570581835636314, 1e-9},   {0.975, 9, 2.262157162798205, 1e-9},
        {0.975, 10, 2.228138851964939, 1e-9},  {0.975, 30, 2.042272456301238, 1e-9},
        {0.975, 100, 1.983971518523552, 1e-8}, {0.95, 4, 2.131846786326649, 1e-9},
        {0.995, 4, 4.604094871349993, 1e-8},   {0.5, 7, 0, 1e-12},
        {0.025, 4, -2.776445105197793, 1e-9},  {0.975, 1000000, 1.959966, 1e-5},
    };
    for (size_t i = 0; i < N(golden); i++) {
        NEAR(kg_t_quantile(golden[i].p, golden[i].dof), golden[i].want, golden[i].tol);
    }
    assert_true(isnan(kg_t_quantile(0.975, 0)));
    assert_true(isnan(kg_t_quantile(0, 4)));
    assert_true(isnan(kg_t_quantile(1, 4)));
    assert_true(isnan(kg_t_quantile(NAN, 4)));
}

static void log_ratio_subtracts_k_on_both_sides(void **state)
{
    (void)state;
    const struct kg_pair p[] = {{2100, 1100, false}, {2100, 1100, true}};
    NEAR(exp(kg_pairs_log_ratio(p, 2, 100)), 2, 1e-12);
    NEAR(exp(kg_pairs_log_ratio(p, 2, 0)), 2100.0 / 1100, 1e-12);
}

static void log_ratio_weighs_orders_alike(void **state)
{
    (void)state;
    /* Three pairs one way at ratio 4, one the other way at ratio 1: the mean of the orders is 2;
     * a pooled median would say 4, and a ratio of means something else again. */
    const struct kg_pair p[] = {
        {4000, 1000, false}, {4000, 1000, false}, {400, 100, false}, {1000, 1000, true}};
    NEAR(exp(kg_pairs_log_ratio(p, 4, 0)), 2, 1e-12);
}

static void log_ratio_ignores_one_hiccup_per_order(void **state)
{
    (void)state;
    const struct kg_pair p[] = {{2000, 1000, false}, {2000, 90000, false}, {2000, 1000, false},
                                {2000, 1000, true},  {70000, 1000, true},  {2000, 1000, true}};
    NEAR(exp(kg_pairs_log_ratio(p, 6, 0)), 2, 1e-12);
}

static void log_ratio_of_times_below_k(void **state)
{
    (void)state;
    const struct kg_pair p[] = {{50, 300, false}, {50, 300, true}};
    NEAR(kg_pairs_log_ratio(p, 2, 100), -log(200), 1e-12); /* 1 ns against 200 */
    const struct kg_pair q[] = {{300, 100, false}};
    NEAR(kg_pairs_log_ratio(q, 1, 100), log(200), 1e-12);
    NEAR(kg_pairs_log_ratio(q, 1, 400), 0, 1e-12);
}

static void log_ratio_of_one_order_or_none(void **state)
{
    (void)state;
    const struct kg_pair p[] = {{300, 100, true}, {300, 100, true}};
    NEAR(exp(kg_pairs_log_ratio(p, 2, 0)), 3, 1e-12);
    assert_true(isnan(kg_pairs_log_ratio(p, 0, 0)));
}

static void ratio_with_known_interval(void **state)
{
    (void)state;
    /* mean log 0.7, s = 0.1, n = 3: half-width 4.302653 * 0.1 / sqrt(3) */
    const double l[] = {0.6, 0.7, 0.8};
    struct kg_ratio r;
    kg_ratio_of(l, 3, 60, &r);
    double half = 4.302652729749464 * 0.1 / sqrt(3);
    NEAR(r.ratio, exp(0.7), 1e-12);
    NEAR(r.half_width, half, 1e-9);
    NEAR(r.lo, exp(0.7 - half), 1e-9);
    NEAR(r.hi, exp(0.7 + half), 1e-9);
    assert_int_equal(r.pairs, 60);
}

static void ratio_of_few_processes(void **state)
{
    (void)state;
    const double l[] = {0.5, 0.5};
    struct kg_ratio r;
    kg_ratio_of(l, 1, 20, &r);
    NEAR(r.ratio, exp(0.5), 1e-12);
    assert_true(isinf(r.half_width) && r.lo == 0 && isinf(r.hi));
    kg_ratio_of(l, 2, 40, &r);
    NEAR(r.half_width, 0, 1e-12);
    kg_ratio_of(l, 0, 0, &r);
    assert_true(isnan(r.ratio) && isinf(r.half_width));
}

static uint64_t splitmix(void *ctx)
{
    uint64_t s, z;
    memcpy(&s, ctx, sizeof s);
    s += 0x9e3779b97f4a7c15u;
    memcpy(ctx, &s, sizeof s);
    z = (s ^ (s >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void order_is_balanced_in_blocks_of_four(void **state)
{
    (void)state;
    uint64_t seed = 20240229;
    printf("seed %llu\n", (unsigned long long)seed);
    for (size_t n = 0; n < 70; n++) {
        bool first[70];
        kg_balanced_order(splitmix, &seed, first, n);
        for (size_t b = 0; b < n; b += 4) {
            size_t m = n - b < 4 ? n - b : 4, ones = 0;
            for (size_t i = 0; i < m; i++) {
                ones += first[b + i];
            }
            assert_in_range(ones, m / 2, (m + 1) / 2);
        }
    }
}

/* All six arrangements of a block come up equally often: no ABBA rhythm to alias with. */
static void order_uses_every_arrangement(void **state)
{
    (void)state;
    uint64_t seed = 77;
    printf("seed %llu\n", (unsigned long long)seed);
    int count[16] = {0};
    bool first[4 * 600];
    kg_balanced_order(splitmix, &seed, first, N(first));
    for (size_t b = 0; b < N(first); b += 4) {
        count[first[b] | first[b + 1] << 1 | first[b + 2] << 2 | first[b + 3] << 3]++;
    }
    static const int balanced[] = {3, 5, 6, 9, 10, 12};
    int seen = 0;
    for (size_t i = 0; i < N(balanced); i++) {
        assert_in_range(count[balanced[i]], 60, 140); /* 100 expected, sd 9 */
        seen += count[balanced[i]];
    }
    assert_int_equal(seen, 600);
}

/* A source stuck at its largest value must not hang the draw for ever or skew it: the first word
 * is rejected, later ones are used. */
static uint64_t biased(void *ctx)
{
    int *calls = ctx;
    return (*calls)++ % 2 == 0 ? UINT64_MAX : 1;
}

static void order_rejects_the_uneven_tail(void **state)
{
    (void)state;
    int calls = 0;
    bool first[8];
    kg_balanced_order(biased, &calls, first, N(first));
    assert_true(calls >= 12); /* every draw cost two words */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_of_known_sets),
        cmocka_unit_test(quantile_interpolates),
        cmocka_unit_test(yuens_interval),
        cmocka_unit_test(yuens_interval_of_two),
        cmocka_unit_test(share_that_some_of_n_show),
        cmocka_unit_test(trimmed_mean_drops_floor_per_end),
        cmocka_unit_test(mean_and_stddev),
        cmocka_unit_test(t_quantiles_match_tables),
        cmocka_unit_test(log_ratio_subtracts_k_on_both_sides),
        cmocka_unit_test(log_ratio_weighs_orders_alike),
        cmocka_unit_test(log_ratio_ignores_one_hiccup_per_order),
        cmocka_unit_test(log_ratio_of_times_below_k),
        cmocka_unit_test(log_ratio_of_one_order_or_none),
        cmocka_unit_test(ratio_with_known_interval),
        cmocka_unit_test(ratio_of_few_processes),
        cmocka_unit_test(order_is_balanced_in_blocks_of_four),
        cmocka_unit_test(order_uses_every_arrangement),
        cmocka_unit_test(order_rejects_the_uneven_tail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
