#include "rl/methods/streams.h"
#include "rl_rig.h"

static const struct {
    uint32_t g, i, t, index;
    int c;
    double pr, s, p_keep, u;
    int keep, hard, or_speed;
} rows_of_6_1[] = {
    {0, 1, 1, 0, 1, .00014, 1.01, 0, .489469, 0, 0, 0},
    {0, 2, 1, 3, 1, .30, 1.05, 0, .540740, 0, 1, 0},
    {0, 3, 2, 7, 1, .31, 1.10, .1, .865689, 0, 1, 0},
    {0, 4, 3, 11, 1, .35, 1.20, .5, .311072, 1, 1, 1},
    {1, 1, 1, 48, 1, .35, 1.20, .5, .684666, 0, 1, 0},
    {1, 2, 2, 52, 1, .37, 1.90, .7, .543815, 1, 1, 1},
    {1, 3, 3, 56, 1, .399, 1.30, .99, .302335, 1, 1, 1},
    {1, 4, 1, 57, 1, .40, 1.25, 1, .697902, 1, 1, 1},
    {2, 1, 2, 97, 1, .8615, 2.08, 1, .164681, 1, 1, 1},
    {2, 2, 3, 101, 0, 0, 0, 1, .907076, 1, 1, 1},
    {2, 3, 1, 102, 1, .20, 2.00, 0, .669273, 0, 0, 1},
};
#define N_6_1 (sizeof rows_of_6_1 / sizeof rows_of_6_1[0])

static void fill(struct rig *g)
{
    rig_clear(g);
    for (size_t k = 0; k < N_6_1; k++) {
        struct rl_row *r = rig_row(g, rows_of_6_1[k].g, rows_of_6_1[k].i, rows_of_6_1[k].t, 1, 1);
        r->birth = 7;
        r->index = rl_row_index(r->group, r->rollout, r->turn, 16, 3);
        r->correct = rows_of_6_1[k].c;
        r->coverage = rows_of_6_1[k].pr;
        r->speedup = rows_of_6_1[k].s;
    }
}

static struct rl_prs_options options(enum rl_prs_mode mode)
{
    struct rl_prs_options o;
    rl_prs_defaults(&o);
    o.on = true;
    o.mode = mode;
    return o;
}

static void test_EX_6_1_keep(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    fill(g);
    struct rl_prs_options soft = options(RL_PRS_ALL), hard = soft, speed = soft;
    hard.sigma = 0;
    speed.or_speed = true, speed.speed_least = 1.5;
    const struct rl_prs_options *o[] = {&soft, &hard, &speed};
    for (size_t k = 0; k < N_6_1; k++) {
        assert_int_equal(g->row[k].index, rows_of_6_1[k].index);
        assert_close(rl_prs_keep(&g->row[k], &soft), rows_of_6_1[k].p_keep, 1e-9);
        assert_close(rl_draw(42, RL_STREAM_PRS, 7, 0, g->row[k].index), rows_of_6_1[k].u, 5e-7);
    }
    for (int how = 0; how < 3; how++) {
        fill(g);
        rl_prs_apply(&g->rows, o[how], 42, &g->counts);
        for (size_t k = 0; k < N_6_1; k++) {
            int want = how == 0   ? rows_of_6_1[k].keep
                       : how == 1 ? rows_of_6_1[k].hard
                                  : rows_of_6_1[k].or_speed;
            assert_int_equal(rl_row_kept(&g->row[k]), want);
            assert_int_equal(g->row[k].why, want ? 0 : RL_WHY_PRS);
        }
        assert_int_equal(g->counts.of[RL_C_PRS].looked, N_6_1);
    }
    free(g);
}

static void test_D_31_decisions_are_not_drawn_again(void **state)
{
    (void)state;
    struct rig *g = rig_new(), *half = rig_new();
    struct rl_prs_options o = options(RL_PRS_ALL);
    fill(g);
    rl_prs_apply(&g->rows, &o, 42, &g->counts);
    /* the last rows alone, as if the others had been in another batch */
    fill(half);
    half->rows.row += 5;
    half->rows.n -= 5;
    rl_prs_apply(&half->rows, &o, 42, &half->counts);
    for (size_t k = 5; k < N_6_1; k++) {
        assert_int_equal(rl_row_kept(&g->row[k]), rl_row_kept(&half->row[k]));
    }
    free(g);
    free(half);
}

static void test_unknown_coverage_is_kept_and_counted(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    struct rl_prs_options o = options(RL_PRS_ALL);
    struct rl_row *r = rig_row(g, 0, 1, 1, 2, 1);
    r->correct = true;
    r->coverage = (double)NAN;
    rl_prs_apply(&g->rows, &o, 42, &g->counts);
    assert_true(rl_row_kept(r));
    assert_int_equal(g->counts.of[RL_C_PRS_BLIND].acted, 1);
    free(g);
}

/* Two lazy rows and a failure: returns 2, 2.2, 0. */
static void lazy(struct rig *g)
{
    static const double r[] = {2, 2.2, 0, 4};
    rig_clear(g);
    for (uint32_t i = 1; i <= 4; i++) {
        struct rl_row *row = rig_row(g, 0, i, 1, r[i - 1], 1);
        row->correct = i != 3;
        row->coverage = i == 4 ? 1 : .01;
    }
}

static struct rl_methods methods(enum rl_prs_mode mode)
{
    struct rl_methods m;
    rl_methods_defaults(&m, 1, 4, 1, 16);
    m.prs = options(mode);
    return m;
}

static void test_modes(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    lazy(g);
    struct rl_methods m = methods(RL_PRS_ALL);
    rl_select_masks(&g->rows, &g->t, &m, 42, &g->counts);
    assert_true(!rl_row_kept(&g->row[0]) && !rl_row_kept(&g->row[1]));
    assert_near(g->row[3].adv, 4);
    assert_near(g->row[2].adv, -4);
    /* the mean is 2.05: row 0 is below it and keeps its push downwards, row 1 is rejected */
    lazy(g);
    m = methods(RL_PRS_POSITIVE);
    rl_select_masks(&g->rows, &g->t, &m, 42, &g->counts);
    assert_true(rl_row_kept(&g->row[0]) && !rl_row_kept(&g->row[1]));
    assert_near(g->row[0].adv, 2 - 2);
    assert_near(g->row[3].adv, 4 - 1);
    m.adv.set = RL_SET_LIVE;
    rl_select_masks(&g->rows, &g->t, &m, 42, &g->counts);
    assert_near(g->row[0].adv, 2 - 6.2 / 3);
    assert_true(!rl_row_kept(&g->row[1]));
    free(g);
}

static void test_weight_has_the_expectation_of_the_coin(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    lazy(g);
    g->row[0].coverage = .35; /* p_keep .5 */
    g->row[1].coverage = .37; /* p_keep .7 */
    struct rl_methods m = methods(RL_PRS_WEIGHT);
    rl_select_masks(&g->rows, &g->t, &m, 42, &g->counts);
    assert_true(rl_row_kept(&g->row[0]) && g->row[0].weight < .51);
    assert_near(g->row[0].adv, .5 * (2 - (.7 * 2.2 + 0 + 4) / 2.7));
    assert_near(g->row[3].adv, 4 - (.5 * 2 + .7 * 2.2) / 2.2);
    m.adv.set = RL_SET_LIVE;
    rl_select_masks(&g->rows, &g->t, &m, 42, &g->counts);
    assert_near(g->row[0].adv, .5 * (2 - 6.2 / 3));
    free(g);
}

static void test_off_leaves_the_same_bits(void **state)
{
    (void)state;
    struct rig *a = rig_new(), *b = rig_new();
    struct rl_methods m = methods(RL_PRS_WEIGHT);
    rig_four(a);
    rig_four(b);
    m.prs.on = false;
    rl_select_masks(&a->rows, &a->t, &m, 42, &a->counts);
    rl_rows_keep_live(&b->rows, &b->t);
    rl_advantage(&b->rows, &b->t, &m.adv, &b->counts);
    assert_memory_equal(a->row, b->row, a->rows.n * sizeof a->row[0]);
    assert_int_equal(a->counts.of[RL_C_PRS].looked, 0);
    free(a);
    free(b);
}

static void test_D_38_what_is_on_must_look_at_a_row(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    struct rl_methods m = methods(RL_PRS_ALL);
    m.filter.zero_var = RL_ZERO_VAR_OFF;
    m.filter.min_group = 0;
    lazy(g);
    rl_select_masks(&g->rows, &g->t, &m, 42, &g->counts);
    assert_null(rl_methods_idle(&m, &g->counts));
    m.mismatch.veto = 1e-4; /* on, but no batch has seen it */
    assert_string_equal(rl_methods_idle(&m, &g->counts), "veto");
    rl_select_masks(&g->rows, &g->t, &m, 42, &g->counts);
    assert_null(rl_methods_idle(&m, &g->counts));
    m.loss.kl_loss = .1;
    assert_string_equal(rl_methods_idle(&m, &g->counts), "kl_loss");
    for (int c = 0; c < RL_C_N; c++) {
        assert_true(strlen(rl_count_name((enum rl_component)c)) > 0);
    }
    free(g);
}

static void test_refused_options(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct rl_methods m = methods(RL_PRS_WEIGHT);
    m.adv.estimator = rig_estimator("rloo");
    assert_int_equal(rl_methods_check(&m, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "prs_mode=weight"));
    m = methods(RL_PRS_ALL);
    m.prs.sigma = -1;
    assert_int_equal(rl_methods_check(&m, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "prs_sigma"));
    m = methods(RL_PRS_ALL);
    m.filter.min_group = 5;
    assert_int_equal(rl_methods_check(&m, &err), KG_E_USAGE);
    m = methods(RL_PRS_ALL);
    m.returns.kl_beta = .1;
    assert_int_equal(rl_methods_check(&m, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "kl_reward"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_6_1_keep),
        cmocka_unit_test(test_D_31_decisions_are_not_drawn_again),
        cmocka_unit_test(test_unknown_coverage_is_kept_and_counted),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_weight_has_the_expectation_of_the_coin),
        cmocka_unit_test(test_off_leaves_the_same_bits),
        cmocka_unit_test(test_D_38_what_is_on_must_look_at_a_row),
        cmocka_unit_test(test_refused_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
