/* Bandits with exact gradients, and sampled through the real mask and advantage code: three
 * outcomes, fail, lazy and good, with G = 0, 2 and 3.3, of which PRS rejects the lazy one. */
#include "rl/methods/streams.h"
#include "rl_rig.h"

enum arm { NO_PRS, ALL_LIVE, ALL_KEPT, POSITIVE_LIVE, POSITIVE_KEPT };

static const double outcome[] = {0, 2, 3.3};

static struct rl_methods methods(enum arm arm, uint32_t groups, uint32_t n)
{
    struct rl_methods m;
    rl_methods_defaults(&m, groups, n, 1, 1);
    m.prs.on = arm != NO_PRS;
    m.prs.mode = arm >= POSITIVE_LIVE ? RL_PRS_POSITIVE : RL_PRS_ALL;
    m.adv.set = arm == ALL_LIVE || arm == POSITIVE_LIVE ? RL_SET_LIVE : RL_SET_KEPT;
    return m;
}

static void add(struct rig *g, uint32_t group, uint32_t i, int y)
{
    struct rl_row *r = rig_row(g, group, i, 1, outcome[y], 0);
    r->correct = y > 0;
    r->coverage = y == 1 ? 0 : 1;
    r->win = y; /* not read by trloo: remembers the action */
}

/* Mean over rows of A (1[y = k] - p_k), kept rows only. */
static void gradient_of(const struct rig *g, const double *p, double *grad)
{
    memset(grad, 0, 3 * sizeof *grad);
    for (size_t i = 0; i < g->rows.n; i++) {
        const struct rl_row *r = &g->row[i];
        for (int k = 0; k < 3 && rl_row_kept(r); k++) {
            grad[k] += r->adv * ((r->win == k) - p[k]) / (double)g->rows.n;
        }
    }
}

/* Expectation of the gradient for one group of n, by enumeration of the counts. */
static void expected(struct rig *g, enum arm arm, const double *p, uint32_t n, double *grad)
{
    struct rl_methods m = methods(arm, 1, n);
    double part[3];
    memset(grad, 0, 3 * sizeof *grad);
    for (uint32_t a = 0; a <= n; a++) {
        for (uint32_t b = 0; a + b <= n; b++) {
            uint32_t c = n - a - b;
            double chance =
                exp(lgamma(n + 1.0) - lgamma(a + 1.0) - lgamma(b + 1.0) - lgamma(c + 1.0)) *
                pow(p[0], a) * pow(p[1], b) * pow(p[2], c);
            rig_clear(g);
            for (uint32_t i = 0; i < n; i++) {
                add(g, 0, i + 1, i < a ? 0 : i < a + b ? 1 : 2);
            }
            rl_select_masks(&g->rows, NULL, &m, 42, &g->counts);
            gradient_of(g, p, part);
            for (int k = 0; k < 3; k++) {
                grad[k] += chance * part[k];
            }
        }
    }
}

/* The limit for many rollouts: p_k (v_k - mean v), a rejected outcome being worth the baseline. */
static void limit(enum arm arm, const double *p, double *grad)
{
    double all = 0, kept = 0, weight = 0, v[3], mean = 0;
    for (int k = 0; k < 3; k++) {
        all += p[k] * outcome[k];
    }
    bool reject = arm == ALL_LIVE || arm == ALL_KEPT || (arm >= POSITIVE_LIVE && outcome[1] > all);
    for (int k = 0; k < 3; k++) {
        weight += reject && k == 1 ? 0 : p[k];
        kept += reject && k == 1 ? 0 : p[k] * outcome[k];
    }
    double b = arm == ALL_KEPT || arm == POSITIVE_KEPT ? kept / weight : all;
    for (int k = 0; k < 3; k++) {
        v[k] = reject && k == 1 ? 0 : outcome[k] - b;
        mean += p[k] * v[k];
    }
    for (int k = 0; k < 3; k++) {
        grad[k] = p[k] * (v[k] - mean);
    }
}

static const double early[] = {.5, .375, .125}, late[] = {.1, .3, .6};

static void test_EX_6_2_expected_gradients(void **state)
{
    (void)state;
    static const struct {
        const double *p;
        enum arm arm;
        double want[3];
    } rows[] = {
        {early, NO_PRS, {-.5813, .3141, .2672}},     {early, ALL_LIVE, {-.4242, .1178, .3064}},
        {early, ALL_KEPT, {-.33, 0, .33}},           {early, POSITIVE_LIVE, {-.4242, .1178, .3064}},
        {early, POSITIVE_KEPT, {-.33, 0, .33}},      {late, NO_PRS, {-.258, -.174, .432}},
        {late, ALL_LIVE, {-.2754, -.0522, .3276}},   {late, ALL_KEPT, {-.2829, 0, .2829}},
        {late, POSITIVE_LIVE, {-.258, -.174, .432}}, {late, POSITIVE_KEPT, {-.258, -.174, .432}},
    };
    struct rig *g = rig_new();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double exact[3], got[3];
        limit(rows[i].arm, rows[i].p, exact);
        expected(g, rows[i].arm, rows[i].p, 8, got);
        for (int k = 0; k < 3; k++) {
            assert_near(exact[k], rows[i].want[k]);
            if (rows[i].arm <= ALL_LIVE) { /* unbiased for every n */
                assert_near(got[k], rows[i].want[k]);
            } else if (rows[i].arm == ALL_KEPT) { /* but for groups where no other row is kept */
                double some = 1 - pow(rows[i].p[1], 7);
                assert_near(got[k], rows[i].want[k] * some);
            }
        }
    }
    free(g);
}

static void test_EX_6_2_remainder_for_few_rollouts(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double lazy;
    } want[] = {{2, -.061}, {4, -.017}, {8, -.003}};
    struct rig *g = rig_new();
    for (size_t i = 0; i < 3; i++) {
        double got[3];
        expected(g, POSITIVE_KEPT, early, want[i].n, got);
        assert_close(got[1], want[i].lazy, 6e-4);
    }
    free(g);
}

static void softmax(const double *logit, double *p)
{
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        sum += p[k] = exp(logit[k]);
    }
    for (int k = 0; k < 3; k++) {
        p[k] /= sum;
    }
}

static int draw(const double *p, uint64_t seed, uint32_t step, uint32_t index)
{
    double u = rl_draw(seed, RL_STREAM_ENGINE, step, 0, index);
    return u < p[0] ? 0 : u < p[0] + p[1] ? 1 : 2;
}

/* 500 steps of rate .1 from (.69, .30, .01); seed 0: the exact gradient, else 16 groups of 16. */
static void ascend(struct rig *g, enum arm arm, uint64_t seed, double *p)
{
    double logit[] = {log(.69), log(.30), log(.01)}, grad[3];
    struct rl_methods m = methods(arm, 16, 16);
    for (uint32_t step = 0; step < 500; step++) {
        softmax(logit, p);
        if (seed == 0) {
            limit(arm, p, grad);
        } else {
            rig_clear(g);
            for (uint32_t i = 0; i < 256; i++) {
                add(g, i / 16, i % 16 + 1, draw(p, seed, step, i));
            }
            rl_select_masks(&g->rows, NULL, &m, seed, &g->counts);
            gradient_of(g, p, grad);
        }
        for (int k = 0; k < 3; k++) {
            logit[k] += .1 * grad[k];
        }
    }
    softmax(logit, p);
}

static void test_EX_6_3_lazy_collapse_and_its_cure(void **state)
{
    (void)state;
    static const struct {
        enum arm arm;
        double want[3];
    } arms[] = {{NO_PRS, {.0059, .9915, .0026}},
                {ALL_LIVE, {.0064, .9902, .0034}},
                {ALL_KEPT, {.0068, .2550, .7383}},
                {POSITIVE_KEPT, {.0036, .0126, .9837}}};
    struct rig *g = rig_new();
    for (size_t i = 0; i < 4; i++) {
        double p[3];
        ascend(g, arms[i].arm, 0, p);
        for (int k = 0; k < 3; k++) {
            assert_near(p[k], arms[i].want[k]);
        }
    }
    free(g);
}

static void test_EX_6_3_sampled(void **state)
{
    (void)state;
    static const enum arm arms[] = {NO_PRS, ALL_LIVE, ALL_KEPT, POSITIVE_KEPT};
    struct rig *g = rig_new();
    for (size_t i = 0; i < 4; i++) {
        double exact[3], p[3];
        ascend(g, arms[i], 0, exact);
        for (uint64_t seed = 1; seed <= 5; seed++) {
            ascend(g, arms[i], seed, p);
            for (int k = 0; k < 3; k++) {
                assert_close(p[k], exact[k], .02);
            }
        }
    }
    free(g);
}

/* Turn 1 earns nothing; turn 2 earns 1 where both turns chose action 1. Returns p of turn 1. */
static double set_up(struct rig *g, double gamma, uint64_t seed)
{
    double x[2] = {0, 0}, p[2];
    struct rl_methods m;
    rl_methods_defaults(&m, 8, 8, 2, 1);
    m.returns.gamma = gamma;
    for (uint32_t step = 0; step < 200; step++) {
        rig_clear(g);
        for (int t = 0; t < 2; t++) {
            p[t] = 1 / (1 + exp(-x[t]));
        }
        for (uint32_t i = 0; i < 64; i++) {
            int a = rl_draw(seed, RL_STREAM_ENGINE, step, 0, i) < p[0];
            int b = rl_draw(seed, RL_STREAM_ENGINE, step, 1, i) < p[1];
            rig_row(g, i / 8, i % 8 + 1, 1, 0, 0)->win = a;
            rig_row(g, i / 8, i % 8 + 1, 2, a && b, 0)->win = b;
        }
        rl_select_returns(&g->rows, NULL, &m, &g->counts);
        rl_select_masks(&g->rows, NULL, &m, seed, &g->counts);
        for (size_t i = 0; i < g->rows.n; i++) {
            const struct rl_row *r = &g->row[i];
            x[r->turn - 1] += .5 * r->adv * (r->win - p[r->turn - 1]) / 64;
        }
    }
    return p[0];
}

static void test_a_turn_that_only_sets_up_needs_gamma(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    for (uint64_t seed = 1; seed <= 2; seed++) {
        assert_true(set_up(g, 1, seed) > .9);
        assert_true(set_up(g, 0, seed) == .5);
    }
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_6_2_expected_gradients),
        cmocka_unit_test(test_EX_6_2_remainder_for_few_rollouts),
        cmocka_unit_test(test_EX_6_3_lazy_collapse_and_its_cure),
        cmocka_unit_test(test_EX_6_3_sampled),
        cmocka_unit_test(test_a_turn_that_only_sets_up_needs_gamma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
