#include "rl_rig.h"

struct want {
    uint32_t rollout, turn;
    double adv;
};

static void expect(struct rig *g, const struct want *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double got = rig_find(g, 0, w[i].rollout, w[i].turn)->adv;
        if (fabs(got - w[i].adv) > 1e-4) {
            fail_msg("(%u, %u): %.6f is not %.6f", w[i].rollout, w[i].turn, got, w[i].adv);
        }
    }
}
#define EXPECT(g, ...)                                                                             \
    expect(g, (const struct want[]){__VA_ARGS__},                                                  \
           sizeof((const struct want[]){__VA_ARGS__}) / sizeof(struct want))

static void test_EX_3_1_trloo(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_four(g);
    assert_true(rig_find(g, 0, 3, 2)->flags & RL_VOID);
    rig_advantage(g, "trloo", RL_SET_LIVE);
    EXPECT(g, {1, 1, 2.32}, {2, 1, -4.7733}, {3, 1, 1.4933}, {4, 1, .96});
    EXPECT(g, {1, 2, 4.12}, {2, 2, -3.86}, {3, 2, 0}, {4, 2, -.26});
    EXPECT(g, {1, 3, 2}, {2, 3, -2.95}, {3, 3, .95});
    assert_int_equal(g->counts.of[RL_C_ADVANTAGE].looked, 10);
    free(g);
}

static void test_EX_3_1_grpo(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_four(g);
    rig_advantage(g, "grpo-mean", RL_SET_LIVE);
    EXPECT(g, {1, 1, 1.74}, {2, 1, -3.58}, {3, 1, 1.12}, {4, 1, .72});
    EXPECT(g, {1, 2, 2.7467}, {2, 2, -2.5733}, {4, 2, -.1733});
    EXPECT(g, {1, 3, 1.3333}, {2, 3, -1.9667}, {3, 3, .6333});
    rig_advantage(g, "grpo", RL_SET_LIVE);
    EXPECT(g, {1, 1, .7180}, {2, 1, -1.4773}, {3, 1, .4622}, {4, 1, .2971});
    EXPECT(g, {1, 2, 1.0309}, {2, 2, -.9659}, {3, 2, 0}, {4, 2, -.0651});
    EXPECT(g, {1, 3, .7668}, {2, 3, -1.1311}, {3, 3, .3642});
    rig_advantage(g, "grpo-traj", RL_SET_LIVE);
    EXPECT(g, {1, 1, .7180}, {1, 3, .7180}, {2, 2, -1.4773}, {3, 3, .4622}, {3, 2, 0},
           {4, 2, .2971});
    free(g);
}

static void test_EX_3_1_rloo(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_four(g);
    rig_advantage(g, "rloo", RL_SET_LIVE);
    for (uint32_t t = 1; t <= 3; t++) {
        EXPECT(g, {1, t, 2.32}, {2, t, -4.7733}, {3, t, t == 2 ? 0 : 1.4933});
    }
    EXPECT(g, {4, 1, .96}, {4, 2, .96});
    free(g);
}

static void test_EX_3_1_pooled(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_four(g);
    rig_advantage(g, "erloo", RL_SET_LIVE);
    EXPECT(g, {1, 1, 2.8067}, {1, 2, 2.8067}, {1, 3, .5622}, {2, 1, -3.1044}, {2, 3, -3.1044},
           {3, 1, 2.1178}, {3, 3, -.2156}, {4, 1, 1.6733}, {4, 2, -.4378});
    rig_advantage(g, "erloo-norm", RL_SET_LIVE);
    EXPECT(g, {1, 1, 1.3335}, {2, 1, -1.5091}, {2, 2, -1.5091}, {3, 3, -.0935}, {4, 2, -.1903});
    rig_advantage(g, "turn-bandit", RL_SET_LIVE);
    EXPECT(g, {1, 1, -1.432}, {1, 3, 1.868}, {3, 1, .668}, {3, 2, 0}, {4, 2, .968});
    /* rows of other trajectories only: those of 1 see 2, 3 and 4 */
    rig_advantage(g, "erloo-x", RL_SET_LIVE);
    EXPECT(g, {1, 1, 5.32 - (4.70 + 2.60 + 4.30 + 2.40) / 7},
           {4, 2, 2.40 - (5.32 + 5.32 + 3.30 + 4.70 + 2.60) / 8});
    free(g);
}

static void test_EX_3_1_batch(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_four(g);
    rig_advantage(g, "reinforce", RL_SET_LIVE);
    EXPECT(g, {1, 1, 1.1620}, {1, 3, .2328}, {2, 1, -1.2853}, {3, 2, 0}, {4, 2, -.1812});
    rig_advantage(g, "none", RL_SET_LIVE);
    EXPECT(g, {1, 1, 5.32}, {3, 2, 0}, {4, 2, 2.40});
    rig_find(g, 0, 1, 3)->win = .5;
    rig_advantage(g, "topk", RL_SET_LIVE);
    EXPECT(g, {1, 1, 0}, {1, 3, .5}, {2, 1, 0});
    free(g);
}

static void test_EX_3_1_reinforce_pp_whitens_tokens(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    g->t.adv = g->adv;
    rig_row(g, 0, 1, 1, 2, 2);
    rig_row(g, 0, 2, 1, 0, 4);
    rig_advantage(g, "reinforce++", RL_SET_KEPT);
    for (int k = 0; k < 6; k++) {
        assert_near((double)g->adv[k], k < 2 ? 1.2910 : -.6455);
    }
    assert_near(g->row[0].adv, 1.2910);
    /* with KL in the reward a token answers for what comes from it on */
    g->t.ref = g->ref;
    for (int k = 0; k < 6; k++) {
        g->ref[k] = k == 0 ? -2 : -1; /* d = 1 at token 0 only */
    }
    struct rl_return_options o;
    rl_return_defaults(&o, 1);
    o.kl_beta = .5;
    rl_kl_reward(&g->rows, &g->t, &o, &g->counts);
    rl_returns(&g->rows, &o, &g->counts);
    struct rl_adv_options a;
    rl_adv_defaults(&a);
    a.estimator = rig_estimator("reinforce++");
    a.kl_beta = .5;
    rl_advantage(&g->rows, &g->t, &a, &g->counts);
    /* token returns 1.5, 2, 0, 0, 0, 0: mean .583333, std .917424 */
    assert_near((double)g->adv[0], .999188);
    assert_near((double)g->adv[1], 1.544199);
    assert_near((double)g->adv[5], -.635840);
    free(g);
}

static void test_reinforce_ppb_centres_groups_then_whitens(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_row(g, 0, 1, 1, 1, 1);
    rig_row(g, 0, 2, 1, 3, 1);
    rig_row(g, 1, 1, 1, 10, 1);
    rig_row(g, 1, 2, 1, 10, 1);
    rig_advantage(g, "reinforce++b", RL_SET_KEPT);
    /* -1, 1, 0, 0: std sqrt(2 / 3) */
    assert_near(g->row[0].adv, -1.224745);
    assert_near(g->row[1].adv, 1.224745);
    assert_true(g->row[2].adv == 0 && g->row[3].adv == 0);
    free(g);
}

static void test_EX_3_2_D_10_a_copy_would_be_its_own_baseline(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    struct kg_err err = KG_ERR_INIT;
    rig_row(g, 0, 1, 1, 3, 1);
    rig_row(g, 0, 2, 1, 0, 1);
    rig_advantage(g, "trloo", RL_SET_KEPT);
    assert_near(g->row[0].adv, 3);
    assert_near(g->row[1].adv, -3);
    rig_clear(g);
    g->t.n = 0;
    rig_row(g, 0, 1, 1, 3, 1);
    rig_row(g, 0, 2, 1, 3, 1); /* the copy, as another rollout */
    rig_row(g, 0, 3, 1, 0, 1);
    rig_advantage(g, "trloo", RL_SET_KEPT);
    assert_near(g->row[0].adv, 1.5);
    assert_near(g->row[2].adv, -3);
    g->row[1].rollout = 1; /* as the copy that it is */
    assert_int_equal(rl_rows_check(&g->rows, g->t.n, &err), KG_E_INPUT);
    free(g);
}

/* Group of n returns, the first of them 1. */
static void one_success(struct rig *g, uint32_t n)
{
    rig_clear(g);
    for (uint32_t i = 1; i <= n; i++) {
        rig_row(g, 0, i, 1, i == 1, 0);
    }
}

static void test_EX_3_5_one_success_among_n(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double hit, miss;
    } scaled[] = {{2, .7071, -.7071}, {4, 1.5, -.5}, {8, 2.4749, -.3536}, {16, 3.75, -.25}};
    struct rig *g = rig_new();
    for (size_t i = 0; i < 4; i++) {
        double n = scaled[i].n;
        one_success(g, scaled[i].n);
        rig_advantage(g, "trloo", RL_SET_KEPT);
        assert_near(g->row[0].adv, 1);
        assert_near(g->row[1].adv, -1 / (n - 1));
        rig_advantage(g, "grpo-mean", RL_SET_KEPT);
        assert_near(g->row[0].adv, 1 - 1 / n);
        assert_near(g->row[1].adv, -1 / n);
        rig_advantage(g, "grpo", RL_SET_KEPT);
        assert_near(g->row[0].adv, scaled[i].hit);
        assert_near(g->row[1].adv, scaled[i].miss);
    }
    free(g);
}

static void test_D_12_names_mean_what_they_say(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_four(g);
    double mean[11], loo[11];
    rig_advantage(g, "grpo-mean", RL_SET_LIVE);
    for (size_t i = 0; i < g->rows.n; i++) {
        mean[i] = g->row[i].adv;
    }
    rig_advantage(g, "trloo", RL_SET_LIVE);
    for (size_t i = 0; i < g->rows.n; i++) {
        loo[i] = g->row[i].adv;
    }
    rig_advantage(g, "grpo", RL_SET_LIVE);
    for (size_t i = 0; i < g->rows.n; i++) {
        double n = g->row[i].turn == 1 ? 4 : 3;
        assert_close(loo[i], n / (n - 1) * mean[i], 1e-12);
        static const double std[] = {2.4233, 2.6642, 1.7388};
        assert_near(g->row[i].adv * std[g->row[i].turn - 1], mean[i]);
    }
    free(g);
}

static void test_D_09_a_lone_row_is_pushed_only_if_asked(void **state)
{
    (void)state;
    static const char *const names[] = {"trloo", "grpo",       "grpo-traj", "rloo",
                                        "erloo", "erloo-norm", "erloo-x"};
    struct rig *g = rig_new();
    rig_row(g, 0, 1, 1, 5, 1);
    rig_row(g, 1, 1, 1, 1, 1);
    rig_row(g, 2, 1, 1, 2, 1);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct rl_adv_options o;
        rl_adv_defaults(&o);
        assert_int_equal(o.n1, RL_N1_ZERO);
        o.estimator = rig_estimator(names[i]);
        rl_advantage(&g->rows, &g->t, &o, &g->counts);
        assert_true(g->row[0].adv == 0 && g->row[1].adv == 0);
        o.n1 = RL_N1_RAW;
        rl_advantage(&g->rows, &g->t, &o, &g->counts);
        assert_true(g->row[0].adv == 5);
        o.n1 = RL_N1_CROSS;
        rl_advantage(&g->rows, &g->t, &o, &g->counts);
        assert_near(g->row[0].adv, 3.5);
        assert_near(g->row[1].adv, -2.5);
    }
    rig_advantage(g, "grpo-mean", RL_SET_KEPT);
    assert_true(g->row[0].adv == 0);
    rig_advantage(g, "turn-bandit", RL_SET_KEPT);
    assert_true(g->row[0].adv == 0);
    assert_true(g->counts.of[RL_C_N1].acted > 0);
    free(g);
}

static void test_baseline_set_live_or_kept(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    for (uint32_t i = 1; i <= 3; i++) {
        rig_row(g, 0, i, 1, i, 1);
    }
    rl_row_reject(&g->row[2], RL_WHY_PRS);
    rig_advantage(g, "trloo", RL_SET_LIVE);
    assert_near(g->row[0].adv, 1 - 2.5);
    assert_near(g->row[2].adv, 3 - 1.5);
    rig_advantage(g, "trloo", RL_SET_KEPT);
    assert_near(g->row[0].adv, -1);
    assert_near(g->row[1].adv, 1);
    assert_true(g->row[2].adv == 0);
    free(g);
}

static void test_invariants(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    static const char *const names[] = {"trloo", "grpo", "grpo-mean", "erloo", "rloo"};
    for (size_t e = 0; e < sizeof names / sizeof names[0]; e++) {
        double before[11], sum = 0;
        rig_four(g);
        rig_advantage(g, names[e], RL_SET_LIVE);
        for (size_t i = 0; i < g->rows.n; i++) {
            before[i] = g->row[i].adv;
            sum += g->row[i].turn == 1 || strcmp(names[e], "erloo") == 0 ? before[i] : 0;
            g->row[i].ret += 7;
        }
        assert_close(sum, 0, 1e-9);
        rig_advantage(g, names[e], RL_SET_LIVE);
        for (size_t i = 0; i < g->rows.n; i++) {
            assert_close(g->row[i].adv, before[i], 1e-9);
        }
        /* exchange the returns of rollouts 1 and 2: advantages follow */
        for (size_t t = 0; t < 3; t++) {
            double ret = g->row[t].ret;
            g->row[t].ret = g->row[3 + t].ret;
            g->row[3 + t].ret = ret;
        }
        rig_advantage(g, names[e], RL_SET_LIVE);
        for (size_t t = 0; t < 3; t++) {
            assert_close(g->row[t].adv, before[3 + t], 1e-9);
        }
    }
    free(g);
}

static void test_cv_shifts_by_the_best_reward_so_far(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    static const double first[] = {0, 2, 1}, second[] = {1, 3, 2.5};
    for (uint32_t i = 1; i <= 3; i++) {
        rig_row(g, 0, i, 1, first[i - 1], 1);
        rig_row(g, 0, i, 2, second[i - 1], 1);
    }
    struct rl_adv_options o;
    rl_adv_defaults(&o);
    o.cv = RL_CV_FIXED;
    o.cv_beta = .5;
    rl_advantage(&g->rows, &g->t, &o, &g->counts);
    assert_near(rig_find(g, 0, 1, 1)->adv, 0 - 1.5); /* no history at turn 1 */
    assert_near(rig_find(g, 0, 1, 2)->adv, (1 - 2.75) - .5 * (0 - 1.5));
    assert_near(rig_find(g, 0, 2, 2)->adv, (3 - 1.75) - .5 * (2 - .5));
    o.cv = RL_CV_FIT; /* of row (1,2): through (2, 3) and (1, 2.5), slope .5 */
    rl_advantage(&g->rows, &g->t, &o, &g->counts);
    assert_near(rig_find(g, 0, 1, 2)->adv, (1 - 2.75) - .5 * (0 - 1.5));
    assert_near(rig_find(g, 0, 2, 2)->adv, (3 - 1.75) - 1.5 * (2 - .5));
    rig_find(g, 0, 1, 2)->ret = 100; /* the row's own return does not move its beta */
    rl_advantage(&g->rows, &g->t, &o, &g->counts);
    assert_near(rig_find(g, 0, 1, 2)->adv, (100 - 2.75) - .5 * (0 - 1.5));
    free(g);
}

static void test_batch_std_and_clip(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_four(g);
    struct rl_adv_options o;
    rl_adv_defaults(&o);
    o.clip = 3;
    rl_advantage(&g->rows, &g->t, &o, &g->counts);
    assert_near(rig_find(g, 0, 2, 1)->adv, -3);
    assert_near(rig_find(g, 0, 1, 1)->adv, 2.32);
    o.clip = 0;
    o.batch_std = true;
    rl_advantage(&g->rows, &g->t, &o, &g->counts);
    double squares = 0;
    for (size_t i = 0; i < g->rows.n; i++) {
        squares += g->row[i].adv * g->row[i].adv;
    }
    assert_close(squares, 9, 1e-9); /* 10 rows, mean 0: variance 1 */
    free(g);
}

static void refuse(struct rl_adv_options o, uint32_t rollouts, bool weighted, const char *words)
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(rl_adv_check(&o, rollouts, weighted, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, words));
}

static void test_refused_options(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct rl_adv_options o;
    rl_adv_defaults(&o);
    assert_int_equal(rl_adv_check(&o, 16, true, &err), KG_OK);
    refuse(o, 1, false, "n1=cross");
    o.n1 = RL_N1_CROSS;
    assert_int_equal(rl_adv_check(&o, 1, false, &err), KG_OK);
    o.estimator = rig_estimator("grpo");
    refuse(o, 16, true, "prs_mode=weight");
    o.cv = RL_CV_FIT;
    refuse(o, 16, false, "cv:");
    const struct rl_estimator *e;
    static const char *const never[] = {"remax",    "ob",  "ob-turn",
                                        "ob-token", "gae", "tritonrl-hrd"};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        assert_int_equal(rl_estimator_find(never[i], &e, &err), KG_E_USAGE);
        assert_non_null(strstr(err.message, "needs"));
    }
    assert_int_equal(rl_estimator_find("grop", &e, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "reinforce++b, topk, none"));
    for (size_t i = 0; rl_estimator_name(i) != NULL; i++) {
        assert_string_equal(rig_estimator(rl_estimator_name(i))->name, rl_estimator_name(i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_3_1_trloo),
        cmocka_unit_test(test_EX_3_1_grpo),
        cmocka_unit_test(test_EX_3_1_rloo),
        cmocka_unit_test(test_EX_3_1_pooled),
        cmocka_unit_test(test_EX_3_1_batch),
        cmocka_unit_test(test_EX_3_1_reinforce_pp_whitens_tokens),
        cmocka_unit_test(test_reinforce_ppb_centres_groups_then_whitens),
        cmocka_unit_test(test_EX_3_2_D_10_a_copy_would_be_its_own_baseline),
        cmocka_unit_test(test_EX_3_5_one_success_among_n),
        cmocka_unit_test(test_D_12_names_mean_what_they_say),
        cmocka_unit_test(test_D_09_a_lone_row_is_pushed_only_if_asked),
        cmocka_unit_test(test_baseline_set_live_or_kept),
        cmocka_unit_test(test_invariants),
        cmocka_unit_test(test_cv_shifts_by_the_best_reward_so_far),
        cmocka_unit_test(test_batch_std_and_clip),
        cmocka_unit_test(test_refused_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
