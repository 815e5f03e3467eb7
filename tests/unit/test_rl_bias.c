/* Expectation and variance of the estimators, by enumeration through the real advantage code. */
#include "rl_rig.h"

struct moments {
    double mean, var;
};

/* A group of n draws of one Bernoulli action with reward = action: the estimator is
 * g = 1/n sum A_i (a_i - p). It depends on the number of successes only. */
static struct moments bandit(struct rig *g, const char *name, uint32_t n, double p)
{
    double first = 0, second = 0;
    for (uint32_t c = 0; c <= n; c++) {
        rig_clear(g);
        for (uint32_t i = 1; i <= n; i++) {
            rig_row(g, 0, i, 1, i <= c, 0);
        }
        rig_advantage(g, name, RL_SET_LIVE);
        double x = 0;
        for (uint32_t i = 0; i < n; i++) {
            x += g->row[i].adv * (g->row[i].reward - p) / n;
        }
        double ways = exp(lgamma(n + 1.0) - lgamma(c + 1.0) - lgamma(n - c + 1.0));
        double chance = ways * pow(p, c) * pow(1 - p, n - c);
        first += chance * x;
        second += chance * x * x;
    }
    return (struct moments){first, second - first * first};
}

static void test_EX_3_3_self_inclusion_bias(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double mean, mean_var, loo_var, scaled, scaled_var, none_var;
    } want[] = {
        {2, .105, .01523, .06090, .148492, .03045, .05145},
        {4, .1575, .00886, .01575, .297275, .02975, .02572},
        {8, .18375, .00442, .00578, .385550, .01213, .01286},
        {16, .196875, .00217, .00247, .425469, .00355, .00643},
    };
    struct rig *g = rig_new();
    for (size_t i = 0; i < 4; i++) {
        struct moments m = bandit(g, "grpo-mean", want[i].n, .3);
        assert_close(m.mean, want[i].mean, 1e-9);
        assert_close(m.mean / .21, 1 - 1.0 / want[i].n, 1e-9);
        assert_close(m.var, want[i].mean_var, 6e-6);
        m = bandit(g, "trloo", want[i].n, .3);
        assert_close(m.mean, .21, 1e-9);
        assert_close(m.var, want[i].loo_var, 6e-6);
        m = bandit(g, "grpo", want[i].n, .3);
        assert_close(m.mean, want[i].scaled, 2e-6);
        assert_close(m.var, want[i].scaled_var, 6e-6);
        m = bandit(g, "none", want[i].n, .3);
        assert_close(m.mean, .21, 1e-9);
        assert_close(m.var, want[i].none_var, 6e-6);
    }
    free(g);
}

static void test_EX_3_4_scaling_weighs_prompts_anew(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double p, ratio;
    } want[] = {{16, .02, 3.4887}, {16, .05, 3.1633}, {16, .1, 2.7574},  {16, .25, 2.1281},
                {16, .5, 1.8727},  {16, .75, 2.1281}, {16, .95, 3.1633}, {8, .02, 2.4070},
                {8, .05, 2.3133},  {8, .5, 1.7358}};
    struct rig *g = rig_new();
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        double p = want[i].p;
        assert_near(bandit(g, "grpo", want[i].n, p).mean / (p * (1 - p)), want[i].ratio);
        assert_near(bandit(g, "trloo", want[i].n, p).mean / (p * (1 - p)), 1);
    }
    free(g);
}

/* n trajectories of `turns` independent Bernoulli turns, reward = action, gamma 1. ratio [turns]:
 * expectation of the estimator of each turn over the true gradient. */
static void turns_of(struct rig *g, const char *name, uint32_t n, uint32_t turns, double *ratio)
{
    const double p = .3;
    struct rl_return_options o;
    rl_return_defaults(&o, turns);
    memset(ratio, 0, turns * sizeof *ratio);
    for (uint32_t bits = 0; bits < 1u << (n * turns); bits++) {
        double chance = 1;
        rig_clear(g);
        for (uint32_t i = 0; i < n * turns; i++) {
            uint32_t a = bits >> i & 1;
            rig_row(g, 0, i / turns + 1, i % turns + 1, a, 0);
            chance *= a ? p : 1 - p;
        }
        rl_returns(&g->rows, &o, &g->counts);
        rig_advantage(g, name, RL_SET_LIVE);
        for (size_t i = 0; i < g->rows.n; i++) {
            const struct rl_row *r = &g->row[i];
            ratio[r->turn - 1] += chance * r->adv * (r->reward - p) / n / (p * (1 - p));
        }
    }
}

static void test_EX_3_6_pooling_own_turns_is_biased(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, turns;
        double ratio[3];
    } want[] = {{2, 2, {1, .6667, 0}}, {2, 3, {1, .8, .6}}, {3, 3, {1, .875, .75}}};
    struct rig *g = rig_new();
    double got[3];
    for (size_t i = 0; i < 3; i++) {
        uint32_t n = want[i].n, turns = want[i].turns;
        turns_of(g, "erloo", n, turns, got);
        for (uint32_t t = 0; t < turns; t++) {
            assert_near(got[t], want[i].ratio[t]);
            assert_close(got[t], 1 - (double)t / (n * turns - 1), 1e-9);
        }
        static const char *const fair[] = {"erloo-x", "trloo"};
        for (int e = 0; e < 2; e++) {
            turns_of(g, fair[e], n, turns, got);
            for (uint32_t t = 0; t < turns; t++) {
                assert_close(got[t], 1, 1e-9);
            }
        }
    }
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_3_3_self_inclusion_bias),
        cmocka_unit_test(test_EX_3_4_scaling_weighs_prompts_anew),
        cmocka_unit_test(test_EX_3_6_pooling_own_turns_is_biased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
