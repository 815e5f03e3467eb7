#include "rl/methods/streams.h"
#include "rl_rig.h"

/* One trajectory of turns with these differences. */
static void turns(struct rig *g, const double *d, const size_t *lengths, size_t n)
{
    rig_clear(g);
    g->t.n = 0;
    for (size_t i = 0, k = 0; i < n; i++) {
        rig_row(g, 0, 1, (uint32_t)i + 1, 1, lengths[i]);
        for (size_t j = 0; j < lengths[i]; j++, k++) {
            g->mu[k] = 0;
            g->old[k] = (float)d[k];
        }
    }
}

static const double three[] = {.0008, -.0012, .0003, .0001, -.004, .001,
                               -.003, .002,   -.001, 0,     -9.5,  9.502};
static const size_t lengths[] = {4, 5, 3};

static uint32_t kept(struct rig *g, enum rl_mrs mrs, double lo, double hi, double veto)
{
    struct rl_mismatch_options o;
    rl_mismatch_defaults(&o);
    o.mrs = mrs, o.lo = lo, o.hi = hi, o.veto = veto;
    rl_rows_keep_live(&g->rows, &g->t);
    rl_mismatch_mask(&g->rows, &g->t, &o, &g->counts);
    uint32_t bits = 0;
    for (size_t i = 0; i < g->rows.n; i++) {
        bits |= (uint32_t)rl_row_kept(&g->row[i]) << i;
    }
    return bits;
}

static void test_EX_5_1_D_07_each_level_has_its_unit(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    turns(g, three, lengths, 3);
    static const double turn[] = {1, .9950125, 1.0020020}, geo[] = {1, .9990005, 1.0006669},
                        abs[] = {.0006, .0022, 6.334};
    for (size_t i = 0; i < 3; i++) {
        assert_close(exp(rl_mismatch_statistic(&g->rows, &g->t, i, RL_MRS_TURN)), turn[i], 1e-6);
        assert_close(exp(rl_mismatch_statistic(&g->rows, &g->t, i, RL_MRS_TURN_GEO)), geo[i], 1e-7);
        assert_near(rl_mismatch_statistic(&g->rows, &g->t, i, RL_MRS_TURN_ABS), abs[i]);
        assert_close(exp(rl_mismatch_statistic(&g->rows, &g->t, i, RL_MRS_SEQUENCE)), .9970045,
                     1e-6);
        assert_close(exp(rl_mismatch_statistic(&g->rows, &g->t, i, RL_MRS_GEOMETRIC)), .99975,
                     1e-6);
    }
    assert_int_equal(kept(g, RL_MRS_TURN, .5, 2, 0), 7);
    assert_int_equal(kept(g, RL_MRS_TURN, .999, 1.001, 0), 1);
    assert_int_equal(kept(g, RL_MRS_TURN_GEO, .999, 1.001, 0), 7);
    assert_int_equal(kept(g, RL_MRS_SEQUENCE, .5, 2, 0), 7);
    assert_int_equal(kept(g, RL_MRS_SEQUENCE, .999, 1.001, 0), 0);
    assert_int_equal(kept(g, RL_MRS_GEOMETRIC, .999, 1.001, 0), 7);
    assert_int_equal(kept(g, RL_MRS_TURN_ABS, 0, 1.001, 0), 3);
    assert_int_equal(kept(g, RL_MRS_TURN_ABS, 0, .001, 0), 1);
    assert_int_equal(kept(g, RL_MRS_OFF, 0, 0, 1e-4), 3);
    assert_int_equal(g->row[2].why, RL_WHY_VETO);
    assert_int_equal(kept(g, RL_MRS_TOKEN, .5, 2, 0), 7);
    for (size_t k = 0; k < 12; k++) {
        assert_int_equal(g->keep[k], k < 10);
    }
    /* the veto reads what MRS has masked */
    assert_int_equal(kept(g, RL_MRS_TOKEN, .5, 2, 1e-4), 3);
    free(g);
}

static void test_void_turns_are_not_part_of_the_trajectory(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    turns(g, three, lengths, 3);
    g->row[1].flags |= RL_VOID;
    double want = exp(.002 / 7);
    assert_close(exp(rl_mismatch_statistic(&g->rows, &g->t, 0, RL_MRS_GEOMETRIC)), want, 1e-6);
    assert_int_equal(kept(g, RL_MRS_GEOMETRIC, .999, 1.001, 0), 5);
    free(g);
}

static void test_EX_5_2_the_window_is_not_symmetric(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    turns(g, (const double[]){-.001, .001}, (const size_t[]){1, 1}, 2);
    assert_int_equal(kept(g, RL_MRS_TURN_GEO, .999, 1.001, 0), 1);
    /* lo 0 stands for 1 / hi, which is tighter than .999 */
    turns(g, (const double[]){-.0010001}, (const size_t[]){1}, 1);
    assert_int_equal(kept(g, RL_MRS_GEOMETRIC, .999, 1.001, 0), 1);
    assert_int_equal(kept(g, RL_MRS_GEOMETRIC, 0, 1.001, 0), 0);
    free(g);
}

static void test_EX_5_3_token_window(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    turns(g, (const double[]){-.8, -.5, .2, .6931, .7}, (const size_t[]){5}, 1);
    kept(g, RL_MRS_TOKEN, .5, 2, 0);
    assert_memory_equal(g->keep, ((const uint8_t[]){0, 1, 1, 1, 0}), 5);
    assert_int_equal(g->counts.of[RL_C_MRS_TOKEN].acted, 2);
    free(g);
}

static void test_EX_5_4_truncated_weights(void **state)
{
    (void)state;
    static const double d[] = {-3, -.5, 0, .5, .69314718055994531, 1, 25};
    static const double want[] = {.049787, .606531, 1, 1.648721, 2, 2, 2};
    struct rig *g = rig_new();
    struct rl_mismatch_options o;
    rl_mismatch_defaults(&o);
    turns(g, d, (const size_t[]){7}, 1);
    o.tis = RL_TIS_TOKEN;
    g->t.tis = g->tis;
    rl_mismatch_weigh(&g->rows, &g->t, &o, &g->counts);
    for (size_t k = 0; k < 7; k++) {
        assert_close((double)g->tis[k], want[k], 1e-6);
    }
    turns(g, (const double[]){.1, .2, -.4, -.1}, (const size_t[]){2, 2}, 2);
    g->t.tis = g->tis;
    o.tis = RL_TIS_ROW;
    rl_mismatch_weigh(&g->rows, &g->t, &o, &g->counts);
    assert_close((double)g->tis[0], exp(.3), 1e-6);
    assert_close((double)g->tis[3], exp(-.5), 1e-6);
    o.tis = RL_TIS_TRAJECTORY;
    rl_mismatch_weigh(&g->rows, &g->t, &o, &g->counts);
    assert_close((double)g->tis[0], exp(-.2), 1e-6);
    o.tis = RL_TIS_OFF;
    rl_mismatch_weigh(&g->rows, &g->t, &o, &g->counts);
    assert_null(g->t.tis);
    free(g);
}

static void test_no_difference_changes_nothing(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_four(g);
    g->t.tis = g->tis;
    struct rl_mismatch_options o;
    rl_mismatch_defaults(&o);
    o.tis = RL_TIS_TOKEN;
    o.veto = 1e-4;
    for (int level = RL_MRS_TOKEN; level <= RL_MRS_TURN_ABS; level++) {
        o.mrs = (enum rl_mrs)level;
        rl_rows_keep_live(&g->rows, &g->t);
        rl_mismatch_mask(&g->rows, &g->t, &o, &g->counts);
        rl_mismatch_weigh(&g->rows, &g->t, &o, &g->counts);
        for (size_t i = 0; i < g->rows.n; i++) {
            assert_int_equal(rl_row_kept(&g->row[i]), rl_row_live(&g->row[i]));
            assert_true(g->keep[i] == 1 && g->tis[i] == 1);
        }
    }
    struct rl_mismatch_stats s = rl_mismatch_stats(&g->rows, &g->t);
    assert_true(s.tokens == 10 && s.kl == 0 && s.k3 == 0 && s.max_abs == 0 && s.effective == 1);
    free(g);
}

static void test_D_26_a_missing_log_prob_rejects_its_row(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    turns(g, three, lengths, 3);
    g->mu[6] = NAN;
    assert_int_equal(kept(g, RL_MRS_OFF, 0, 0, 0), 5);
    assert_int_equal(g->row[1].why, RL_WHY_NO_LOGP);
    assert_int_equal(g->counts.of[RL_C_NO_LOGP].acted, 1);
    assert_int_equal(kept(g, RL_MRS_GEOMETRIC, .999, 1.001, 0), 5);
    assert_true(isfinite(rl_mismatch_stats(&g->rows, &g->t).kl));
    free(g);
}

static void test_statistics(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    turns(g, (const double[]){.5, -.25}, (const size_t[]){2}, 1);
    struct rl_mismatch_stats s = rl_mismatch_stats(&g->rows, &g->t);
    assert_close(s.kl, -.125, 1e-9);
    assert_close(s.k3, (exp(.5) + exp(-.25)) / 2 - .125 - 1, 1e-9);
    assert_close(s.max_abs, .5, 1e-9);
    assert_close(s.ppl_mu, 1, 1e-9);
    assert_close(s.ppl_old, exp(-.125), 1e-9);
    assert_close(s.effective, pow(exp(.5) + exp(-.25), 2) / 2 / (exp(1) + exp(-.5)), 1e-9);
    free(g);
}

static double normal(uint32_t draw)
{
    double u = 1 - rl_draw(11, RL_STREAM_ENGINE, 1, 0, draw),
           v = rl_draw(11, RL_STREAM_ENGINE, 1, 1, draw);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Share of trajectories of n tokens that geometric rejects, d ~ Normal(-sigma^2 / 2, sigma^2). */
static double rejected(struct rig *g, double sigma, size_t n, size_t trajectories)
{
    size_t out = 0;
    static uint32_t draw;
    struct rl_mismatch_options o;
    rl_mismatch_defaults(&o);
    o.mrs = RL_MRS_GEOMETRIC;
    for (size_t i = 0; i < trajectories; i++) {
        rig_clear(g);
        g->t.n = 0;
        rig_row(g, 0, 1, 1, 1, n);
        for (size_t k = 0; k < n; k++) {
            g->mu[k] = 0;
            g->old[k] = (float)(sigma * normal(draw++) - sigma * sigma / 2);
        }
        rl_mismatch_mask(&g->rows, &g->t, &o, &g->counts);
        out += !rl_row_kept(&g->row[0]);
    }
    return 100 * (double)out / (double)trajectories;
}

static void test_table_of_5_1_with_a_mock_sampler(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    static const struct {
        double sigma, share[4];
    } want[] = {{.02, {43.5, 13.2, 1.5, .01}},
                {.03, {60.8, 34.4, 16.1, 4.1}},
                {.0447213595, {74.0, 57.9, 50.7, 50.0}},
                {.06, {81.4, 73.3, 77.3, 89.7}}};
    static const size_t tokens[] = {250, 1000, 3000, 9000}, trajectories[] = {1000, 500, 200, 100};
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 4; k++) { /* within three standard errors */
            double p = want[i].share[k], n = (double)trajectories[k];
            assert_close(rejected(g, want[i].sigma, tokens[k], trajectories[k]), p,
                         3 * sqrt(p * (100 - p) / n) + .01);
        }
    }
    free(g);
}

static void refuse(enum rl_mrs mrs, double lo, double hi, uint32_t turns_of, const char *words)
{
    struct kg_err err = KG_ERR_INIT;
    struct rl_mismatch_options o;
    rl_mismatch_defaults(&o);
    o.mrs = mrs, o.lo = lo, o.hi = hi;
    assert_int_equal(rl_mismatch_check(&o, turns_of, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, words));
}

static void test_refused_options(void **state)
{
    (void)state;
    refuse(RL_MRS_TURN, .5, 2, 1, "with one turn");
    refuse(RL_MRS_TURN_GEO, .5, 2, 1, "with one turn");
    refuse(RL_MRS_GEOMETRIC, 1.5, 2, 3, "must hold 1");
    refuse(RL_MRS_GEOMETRIC, .5, .9, 3, "must hold 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_5_1_D_07_each_level_has_its_unit),
        cmocka_unit_test(test_void_turns_are_not_part_of_the_trajectory),
        cmocka_unit_test(test_EX_5_2_the_window_is_not_symmetric),
        cmocka_unit_test(test_EX_5_3_token_window),
        cmocka_unit_test(test_EX_5_4_truncated_weights),
        cmocka_unit_test(test_no_difference_changes_nothing),
        cmocka_unit_test(test_D_26_a_missing_log_prob_rejects_its_row),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_table_of_5_1_with_a_mock_sampler),
        cmocka_unit_test(test_refused_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
