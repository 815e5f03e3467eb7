#include "rl_rig.h"

static bool cut_off; /* by a full context */

/* Returns of one trajectory. */
static void returns(const double *r, size_t n, const struct rl_return_options *o, double *g,
                    uint32_t *is_void)
{
    struct rig *rig = rig_new();
    for (size_t i = 0; i < n; i++) {
        rig_row(rig, 0, 1, (uint32_t)i + 1, r[i], 1);
    }
    rig->row[n - 1].flags |= cut_off ? 0 : RL_STOPPED;
    rl_void_mark(&rig->rows, o, &rig->counts);
    rl_returns(&rig->rows, o, &rig->counts);
    for (size_t i = 0; i < n; i++) {
        g[i] = rig->row[i].ret;
        is_void[i] = (rig->row[i].flags & RL_VOID) != 0;
    }
    free(rig);
}

static void expect(const double *r, size_t n, const struct rl_return_options *o, const double *want)
{
    double g[4];
    uint32_t v[4];
    returns(r, n, o, g, v);
    for (size_t i = 0; i < n; i++) {
        assert_close(g[i], want[i], 1e-12);
    }
}

static struct rl_return_options options(double gamma)
{
    struct rl_return_options o;
    rl_return_defaults(&o, 3);
    o.gamma = gamma;
    return o;
}

static void test_EX_2_2_reward_to_go(void **state)
{
    (void)state;
    const double r[] = {0, 2.04, 3.51};
    struct rl_return_options one = options(1), some = options(.4), none = options(0);
    expect(r, 3, &one, (const double[]){5.55, 5.55, 3.51});
    expect(r, 3, &some, (const double[]){1.3776, 3.444, 3.51});
    expect(r, 3, &none, r);
}

static void test_EX_2_3_hold_fills_what_stopping_left_out(void **state)
{
    (void)state;
    const double r[] = {0, 2.5};
    struct rl_return_options o = options(1);
    expect(r, 2, &o, (const double[]){2.5, 2.5});
    o.hold = true;
    expect(r, 2, &o, (const double[]){5, 5});
    o.gamma = .5;
    expect(r, 2, &o, (const double[]){1.875, 3.75});
    cut_off = true; /* nobody is paid for turns that had no room */
    expect(r, 2, &o, (const double[]){1.25, 2.5});
    cut_off = false;
}

static void test_EX_2_4_void_turns(void **state)
{
    (void)state;
    struct rl_return_options o = options(1);
    o.void_turns = true;
    double g[4];
    uint32_t v[4];
    returns((const double[]){0, 2, 0, 2.6}, 4, &o, g, v);
    assert_memory_equal(v, ((const uint32_t[]){0, 0, 1, 0}), sizeof v);
    expect((const double[]){0, 2, 0, 2.6}, 4, &o, (const double[]){4.6, 4.6, 2.6, 2.6});
    returns((const double[]){-1, 2, -1, 3}, 4, &o, g, v);
    assert_memory_equal(v, ((const uint32_t[]){0, 0, 1, 0}), sizeof v);
    expect((const double[]){-1, 2, -1, 3}, 4, &o, (const double[]){4, 5, 3, 3});
}

static void test_D_11_void_is_an_option(void **state)
{
    (void)state;
    struct rl_return_options o = options(1);
    struct rig *g = rig_new();
    double value[4];
    uint32_t v[4];
    returns((const double[]){-1, 2, -1, 3}, 4, &o, value, v);
    assert_memory_equal(v, ((const uint32_t[4]){0}), sizeof v);
    assert_close(value[0], 3, 1e-12);
    rig_four(g);
    assert_int_equal(g->counts.of[RL_C_VOID].looked, 11);
    assert_int_equal(g->counts.of[RL_C_VOID].acted, 1);
    free(g);
}

static void test_other_returns(void **state)
{
    (void)state;
    const double r[] = {1, 3, 2};
    struct rl_return_options o = options(.5);
    o.kind = RL_RETURN_FINAL;
    expect(r, 3, &o, (const double[]){2, 2, 2});
    o.kind = RL_RETURN_MAX;
    expect(r, 3, &o, (const double[]){1.5, 3, 2});
    o.kind = RL_RETURN_DELTA;
    expect(r, 3, &o, (const double[]){1.75, 1.5, -1});
}

static void refuse(struct rl_return_options o, const char *words)
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(rl_return_check(&o, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, words));
}

static void test_refused_options(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct rl_return_options o = options(1);
    assert_int_equal(rl_return_check(&o, &err), KG_OK);
    o.early_stop = true;
    refuse(o, "early_stop");
    o.hold = true;
    assert_int_equal(rl_return_check(&o, &err), KG_OK);
    o = options(0);
    o.early_stop = true;
    assert_int_equal(rl_return_check(&o, &err), KG_OK);
    o = options(1);
    o.kind = RL_RETURN_DELTA;
    refuse(o, "force_delta");
    o.force_delta = true;
    assert_int_equal(rl_return_check(&o, &err), KG_OK);
    refuse(options(1.5), "gamma");
}

static void test_kl_in_reward_comes_before_returns(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    g->t.ref = g->ref;
    rig_row(g, 0, 1, 1, 1, 2);
    rig_row(g, 0, 1, 2, 2, 1);
    g->old[0] = -1, g->ref[0] = -1.5f;
    g->old[1] = -2, g->ref[1] = -1.75f;
    g->old[2] = -1, g->ref[2] = -3;
    struct rl_return_options o = options(1);
    o.kl_beta = .1;
    rl_kl_reward(&g->rows, &g->t, &o, &g->counts);
    rl_returns(&g->rows, &o, &g->counts);
    assert_close(g->row[1].ret, 2 - .2, 1e-7);
    assert_close(g->row[0].ret, 1 - .025 + 1.8, 1e-7);
    o.kl_beta = 0;
    g->t.old = g->t.ref = NULL; /* off reads no token */
    rl_kl_reward(&g->rows, &g->t, &o, &g->counts);
    rl_returns(&g->rows, &o, &g->counts);
    assert_true(g->row[0].ret == 3 && g->row[1].ret == 2);
    assert_int_equal(g->counts.of[RL_C_KL_REWARD].looked, 2);
    free(g);
}

static void test_infra_rows_have_no_return(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_row(g, 0, 1, 1, 3, 1);
    rig_row(g, 0, 1, 2, 3, 1)->flags |= RL_INFRA;
    struct rl_methods m;
    rl_methods_defaults(&m, 1, 1, 2, 16);
    rl_select_returns(&g->rows, &g->t, &m, &g->counts);
    assert_true(g->row[0].ret == 0 && g->row[1].ret == 0 && !rl_row_live(&g->row[0]));
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_2_2_reward_to_go),
        cmocka_unit_test(test_EX_2_3_hold_fills_what_stopping_left_out),
        cmocka_unit_test(test_EX_2_4_void_turns),
        cmocka_unit_test(test_D_11_void_is_an_option),
        cmocka_unit_test(test_other_returns),
        cmocka_unit_test(test_refused_options),
        cmocka_unit_test(test_kl_in_reward_comes_before_returns),
        cmocka_unit_test(test_infra_rows_have_no_return),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
