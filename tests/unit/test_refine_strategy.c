/* Which turns each strategy shows, by the examples of the method and by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "trial/refine/strategy.h"

#define N 32

/* Stored turns of one conversation with these rewards; 0 is a failure. */
static void store(struct tr_past *past, const double *reward, int n)
{
    for (int i = 0; i < n; i++) {
        past[i] = (struct tr_past){.sample = 1,
                                   .turn = (uint32_t)i + 1,
                                   .judged = true,
                                   .correct = reward[i] > 0,
                                   .reward = reward[i],
                                   .speedup = reward[i],
                                   .coverage = 1,
                                   .tokens = 3600};
    }
}

static struct tr_plan plan_of(enum tr_strategy s)
{
    return (struct tr_plan){.strategy = s,
                            .metric = TR_BY_REWARD,
                            .w = 4,
                            .depth = 3,
                            .rounds = 20,
                            .prompt = 1500,
                            .reply = 8192,
                            .context = 32768};
}

static void expect(const struct tr_plan *plan, const struct tr_past *past, int round,
                   const int *shown, int n)
{
    struct tr_choice c;
    tr_strategy_choose(plan, past, round, &c);
    assert_int_equal(c.n, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(c.shown[i], shown[i]);
    }
}

static void test_EX_9_1_D_14_a_strategy_selects_as_described(void **state)
{
    (void)state;
    static const double r[] = {0, 2.10, 2.45, 0, 3.10, 2.95, 0, 3.40};
    struct tr_past past[N];
    store(past, r, 8);
    struct tr_plan top = plan_of(TR_TOP_W), window = plan_of(TR_WINDOW), last = plan_of(TR_LAST_W);
    expect(&top, past, 9, (const int[]){3, 5, 6, 8}, 4);
    expect(&window, past, 9, (const int[]){5, 6, 7, 8}, 4);
    expect(&last, past, 9, (const int[]){5, 6, 7, 8}, 4);
    static const double sums[] = {4.55, 7.65, 8.50, 6.05, 9.45};
    for (int i = 0; i < 5; i++) { /* the window that ends at turn i + 4 has this sum */
        double sum = 0;
        for (int j = i; j < i + 4; j++) {
            sum += r[j];
        }
        assert_true(fabs(sum - sums[i]) < 1e-9);
    }
    expect(&window, past, 8, (const int[]){3, 4, 5, 6}, 4);
}

static void test_EX_9_2_ties_of_strategies(void **state)
{
    (void)state;
    static const double r[] = {0, 2, 2, 2, 2, 2};
    struct tr_past past[N];
    store(past, r, 6);
    struct tr_plan top = plan_of(TR_TOP_W), window = plan_of(TR_WINDOW);
    expect(&top, past, 7, (const int[]){3, 4, 5, 6}, 4);
    expect(&window, past, 7, (const int[]){2, 3, 4, 5}, 4);
}

/* Prompt 1500, answers 3000, feedback 600, window 32 768, replies up to 8192. */
static void test_published_lengths(void **state)
{
    (void)state;
    struct tr_past past[N];
    struct tr_choice c;
    double r[N];
    for (int i = 0; i < N; i++) {
        r[i] = 1;
    }
    store(past, r, N);
    struct tr_plan vanilla = plan_of(TR_VANILLA), top = plan_of(TR_TOP_W);
    tr_strategy_choose(&vanilla, past, 7, &c);
    assert_false(c.full);
    tr_strategy_choose(&vanilla, past, 8, &c);
    assert_true(c.full);
    tr_strategy_choose(&top, past, 14, &c);
    assert_int_equal(c.tokens, 15900);
    int64_t prefill = 0;
    for (int t = 1; t <= 14; t++) {
        tr_strategy_choose(&top, past, t, &c);
        prefill += c.tokens;
        assert_false(c.full);
    }
    assert_int_equal(prefill, 186600);
    vanilla.context = 0;
    tr_strategy_choose(&vanilla, past, 14, &c);
    assert_int_equal(c.tokens, 48300);
    assert_false(c.full);
}

static void test_reserve(void **state)
{
    (void)state;
    struct tr_past past[N];
    struct tr_choice c;
    double r[N];
    for (int i = 0; i < N; i++) {
        r[i] = 1;
    }
    store(past, r, N);
    struct tr_plan vanilla = plan_of(TR_VANILLA);
    vanilla.reserve = .2; /* 1.2 (1500 + 3600 k) + 8192 <= 32768: k = 5 */
    tr_strategy_choose(&vanilla, past, 6, &c);
    assert_false(c.full);
    tr_strategy_choose(&vanilla, past, 7, &c);
    assert_true(c.full);
}

static void test_w_shrinks(void **state)
{
    (void)state;
    static const double r[] = {4.5, 2, 4, 3, 1, 1};
    struct tr_past past[N];
    struct tr_choice c;
    store(past, r, 6);
    struct tr_plan top = plan_of(TR_TOP_W);
    top.context = 8192 + 1500 + 2 * 3600 + 100;
    tr_strategy_choose(&top, past, 7, &c);
    assert_true(c.shrunk && !c.full);
    assert_int_equal(c.tokens, 1500 + 2 * 3600);
    expect(&top, past, 7, (const int[]){1, 3}, 2); /* the two best, not the last of four */
    top.strategy = TR_WINDOW;
    expect(&top, past, 7, (const int[]){3, 4}, 2);
    top.strategy = TR_LAST_W;
    expect(&top, past, 7, (const int[]){5, 6}, 2);
    top.context = 8192 + 1499;
    tr_strategy_choose(&top, past, 7, &c);
    assert_true(c.full);
}

static void test_side_by_side(void **state)
{
    (void)state;
    struct tr_past past[N];
    struct tr_choice c;
    struct tr_plan plan = plan_of(TR_PARALLEL_SEQUENTIAL);
    plan.rounds = 14; /* five conversations, the last of two turns */
    int turns[6] = {0};
    for (int i = 1; i <= 14; i++) {
        tr_strategy_choose(&plan, past, i, &c);
        assert_int_equal(c.turn, ++turns[c.sample]);
        assert_int_equal(c.n, (int)c.turn - 1);
        for (int k = 0; k < c.n; k++) {
            assert_int_equal(past[c.shown[k] - 1].sample, c.sample);
            assert_true(c.shown[k] <= tr_strategy_needs(&plan, i));
        }
        past[i - 1] = (struct tr_past){
            .sample = c.sample, .turn = c.turn, .judged = true, .correct = true, .tokens = 10};
    }
    assert_true(turns[1] == 3 && turns[4] == 3 && turns[5] == 2);
    plan = plan_of(TR_PARALLEL);
    tr_strategy_choose(&plan, past, 9, &c);
    assert_true(c.n == 0 && c.sample == 9 && c.turn == 1 && tr_strategy_needs(&plan, 9) == 0);
}

static void test_restart(void **state)
{
    (void)state;
    struct tr_past past[N];
    struct tr_choice c;
    struct tr_plan plan = plan_of(TR_RESTART);
    for (int i = 1; i <= 20; i++) {
        tr_strategy_choose(&plan, past, i, &c);
        assert_false(c.full);
        assert_int_equal(c.sample, (i - 1) / 7 + 1);
        assert_int_equal(c.turn, (i - 1) % 7 + 1);
        assert_int_equal(c.n, (i - 1) % 7);
        past[i - 1] = (struct tr_past){
            .sample = c.sample, .turn = c.turn, .judged = true, .correct = true, .tokens = 3600};
    }
}

static void test_metrics(void **state)
{
    (void)state;
    static const double r[] = {3, 2, 1};
    struct tr_past past[N];
    store(past, r, 3);
    past[0].coverage = .2;
    past[1].coverage = .9;
    past[2].coverage = .9;
    past[0].speedup = NAN;
    struct tr_plan plan = plan_of(TR_TOP_W);
    plan.w = 1;
    expect(&plan, past, 4, (const int[]){1}, 1);
    plan.metric = TR_BY_SPEEDUP;
    expect(&plan, past, 4, (const int[]){2}, 1);
    plan.metric = TR_BY_COVERAGE;
    expect(&plan, past, 4, (const int[]){3}, 1); /* equal: the later */
    plan.metric = TR_BY_COVERAGE_REWARD;
    expect(&plan, past, 4, (const int[]){2}, 1); /* equal coverage: the reward */
    past[1].correct = false;                     /* a failure counts 0 */
    expect(&plan, past, 4, (const int[]){3}, 1);
    past[2].judged = false; /* no verdict: never shown */
    plan.w = 4;
    expect(&plan, past, 4, (const int[]){1, 2}, 2);
}

static void test_names(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    for (int i = 0; i < TR_STRATEGIES; i++) {
        enum tr_strategy s;
        assert_int_equal(tr_strategy_parse(tr_strategy_name((enum tr_strategy)i), &s, &err), KG_OK);
        assert_int_equal(s, i);
    }
    for (int i = 0; i < TR_BY_KINDS; i++) {
        enum tr_by m;
        assert_int_equal(tr_by_parse(tr_by_name((enum tr_by)i), &m, &err), KG_OK);
        assert_int_equal(m, i);
    }
    enum tr_strategy s;
    enum tr_by m;
    assert_int_equal(tr_strategy_parse("top", &s, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "top-w"));
    assert_int_equal(tr_by_parse("speed", &m, &err), KG_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_9_1_D_14_a_strategy_selects_as_described),
        cmocka_unit_test(test_EX_9_2_ties_of_strategies),
        cmocka_unit_test(test_published_lengths),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_w_shrinks),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
