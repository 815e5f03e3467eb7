#include "rl_rig.h"

static struct rl_loss_options options(enum rl_offpolicy how)
{
    struct rl_loss_options o;
    rl_loss_defaults(&o, 1, 16);
    o.offpolicy = how;
    return o;
}

static struct rl_loss_stats run(struct rig *g, const struct rl_loss_options *o)
{
    struct rl_loss_stats s = {0};
    struct rl_norm norm = rl_loss_norm(&g->rows, &g->t, o);
    rl_loss(&g->rows, 0, g->rows.n, &g->t, &norm, o, &s, &g->counts);
    return s;
}

static void test_EX_4_1_clipping(void **state)
{
    (void)state;
    static const double rho[] = {.5, .8, .9, 1, 1.28, 1.3, 2, 3, 4};
    static const double up[][2] = {{-.5, -.5}, {-.8, -.8}, {-.9, -.9}, {-1, -1},  {-1.28, -1.28},
                                   {-1.28, 0}, {-1.28, 0}, {-1.28, 0}, {-1.28, 0}};
    static const double down[][2] = {{.8, 0},    {.8, .8}, {.9, .9}, {1, 1}, {1.28, 1.28},
                                     {1.3, 1.3}, {2, 2},   {3, 3},   {3, 0}};
    struct rl_loss_options o = options(RL_DECOUPLED);
    for (size_t i = 0; i < 9; i++) {
        double grad;
        assert_close(rl_loss_term(1, rho[i], &o, &grad), up[i][0], 1e-12);
        assert_close(grad, up[i][1], 1e-12);
        assert_close(rl_loss_term(-1, rho[i], &o, &grad), down[i][0], 1e-12);
        assert_close(grad, down[i][1], 1e-12);
    }
    double grad;
    o.dual = 0;
    assert_close(rl_loss_term(-1, 4, &o, &grad), 4, 1e-12);
    assert_close(grad, 4, 1e-12);
}

static double entropy(const double *p, int n)
{
    double h = 0;
    for (int i = 0; i < n; i++) {
        h -= p[i] * log(p[i]);
    }
    return h;
}

static void test_EX_4_2_entropy_bonus(void **state)
{
    (void)state;
    static const double pi[] = {.7, .2, .1}, want[] = {-.31160, .16152, .15008};
    double h = entropy(pi, 3);
    assert_close(h, .801819, 1e-6);
    struct rig *g = rig_new();
    struct rl_loss_options o = options(RL_ONPOLICY);
    o.entropy = .5;
    rig_row(g, 0, 1, 1, 0, 1);
    g->t.eta = g->eta;
    g->t.entropy = g->entropy;
    g->entropy[0] = (float)h;
    struct rl_loss_stats s = run(g, &o);
    assert_close(s.loss, -.5 * h, 1e-7);
    for (int j = 0; j < 3; j++) { /* the engine's part of dz_j */
        double dz = (double)g->eta[0] * pi[j] * (log(pi[j]) + h);
        assert_close(dz, -.5 * want[j], 6e-6);
    }
    free(g);
}

static void test_EX_4_3_kl_terms(void **state)
{
    (void)state;
    static const double want[][5] = {{-2, 2, -2, 4.389056, -6.389056},
                                     {-.5, .125, -.5, .148721, -.648721},
                                     {-.1, .005, -.1, .005171, -.105171},
                                     {.5, .125, .5, .106531, .393469},
                                     {2, 2, 2, 1.135335, .864665}};
    double grad;
    for (size_t i = 0; i < 5; i++) {
        const double *w = want[i];
        assert_close(rl_loss_kl(RL_KL_K2, w[0], &grad), w[1], 1e-9);
        assert_close(grad, w[2], 1e-9);
        assert_close(rl_loss_kl(RL_KL_K3, w[0], &grad), w[3], 1e-6);
        assert_close(grad, w[4], 1e-6);
        assert_close(rl_loss_kl(RL_KL_ABS, w[0], &grad), fabs(w[0]), 1e-9);
        assert_true(grad == (w[0] > 0 ? 1 : -1));
    }
    assert_true(rl_loss_kl(RL_KL_K3, -12, &grad) == 10 && grad == 0);
}

static void test_EX_4_4_kl_estimators(void **state)
{
    (void)state;
    static const double pi[] = {.7, .3};
    static const enum rl_kl kinds[] = {RL_KL_K1, RL_KL_K2, RL_KL_K3, RL_KL_ABS};
    static const double value[] = {.082283, .078766, .082283, .388778};
    static const double slope[] = {0, .177933, .2, .42};
    for (int k = 0; k < 4; k++) {
        double mean = 0, gradient = 0;
        for (int y = 0; y < 2; y++) {
            double grad, d = log(pi[y]) - log(.5);
            mean += pi[y] * rl_loss_kl(kinds[k], d, &grad);
            gradient += pi[y] * grad * ((y == 0) - pi[0]);
        }
        assert_close(mean, value[k], 1e-6);
        assert_close(gradient, slope[k], 1e-6);
    }
}

/* Three rows, the last one masked as a whole. */
static void three_rows(struct rig *g, float *l)
{
    static const float value[] = {.2f, .4f, -.1f, .3f, .5f, .1f, 1, 1, 1};
    rig_clear(g);
    rig_row(g, 0, 1, 1, 1, 2);
    rig_row(g, 0, 2, 1, 1, 4);
    rig_row(g, 0, 3, 1, 1, 3);
    memset(g->keep + 6, 0, 3);
    memcpy(l, value, sizeof value);
}

static double sum_rows(struct rig *g, const float *l, const struct rl_norm *norm, size_t first,
                       size_t end)
{
    double sum = 0;
    for (size_t i = first; i < end; i++) {
        size_t n = rl_aggregate_tokens(&g->row[i], &g->t);
        for (size_t k = g->row[i].first; k < g->row[i].first + g->row[i].length; k++) {
            sum += g->keep[k] ? (double)l[k] * rl_aggregate_weight(norm, n) : 0;
        }
    }
    return sum;
}

static void test_EX_4_5_aggregation(void **state)
{
    (void)state;
    static const double want[] = {[RL_AGG_TOKEN_SUM] = .466667,
                                  [RL_AGG_TOKEN_MEAN] = .233333,
                                  [RL_AGG_ROW_MEAN] = .166667,
                                  [RL_AGG_NORM] = .116667,
                                  [RL_AGG_SUM] = 1.4};
    struct rig *g = rig_new();
    float l[9];
    three_rows(g, l);
    for (int agg = 0; agg < 5; agg++) {
        struct rl_aggregate_options o = {
            .agg = (enum rl_aggregation)agg, .nominal = 3, .response_max = 4, .scale = 1};
        struct rl_norm norm = rl_aggregate_norm(&g->rows, &g->t, &o);
        assert_close(sum_rows(g, l, &norm, 0, 3), want[agg], 1e-6);
        o.scale = 1000;
        norm = rl_aggregate_norm(&g->rows, &g->t, &o);
        assert_close(sum_rows(g, l, &norm, 0, 3), want[agg] / 1000, 1e-9);
    }
    rl_row_reject(&g->row[2], RL_WHY_PRS);
    g->row[1].flags |= RL_VOID;
    struct rl_aggregate_options o = {.denom = RL_DENOM_LIVE, .scale = 1};
    assert_true(rl_aggregate_norm(&g->rows, &g->t, &o).rows == 2);
    o.denom = RL_DENOM_KEPT;
    assert_true(rl_aggregate_norm(&g->rows, &g->t, &o).rows == 1);
    free(g);
}

static void test_EX_4_6_micro_batches_do_not_matter(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    float l[9];
    three_rows(g, l);
    struct rl_aggregate_options o = {.nominal = 3, .scale = 1};
    struct rl_norm norm = rl_aggregate_norm(&g->rows, &g->t, &o);
    double one = sum_rows(g, l, &norm, 0, 1), two = sum_rows(g, l, &norm, 1, 2),
           three = sum_rows(g, l, &norm, 2, 3);
    assert_close(one + (two + three), .466667, 1e-6);
    assert_close((one + three) + two, .466667, 1e-6);
    /* and so it is with rl_loss: the same coefficients in one range or in three */
    struct rl_loss_options lo = options(RL_ONPOLICY);
    struct rl_loss_stats s = {0};
    g->row[0].adv = 1, g->row[1].adv = -2;
    float whole[9];
    run(g, &lo);
    memcpy(whole, g->coef, sizeof whole);
    memset(g->coef, 77, sizeof whole);
    norm = rl_loss_norm(&g->rows, &g->t, &lo);
    for (size_t i = 3; i-- > 0;) {
        rl_loss(&g->rows, i, i + 1, &g->t, &norm, &lo, &s, &g->counts);
    }
    assert_memory_equal(g->coef, whole, sizeof whole);
    free(g);
}

static void test_EX_4_7_D_03_rows_are_counted_once(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    struct rl_methods m;
    struct kg_err err = KG_ERR_INIT;
    rl_methods_defaults(&m, 16, 16, 3, 8192);
    assert_int_equal(m.loss.aggregate.nominal, 768);
    assert_int_equal(rl_methods_check(&m, &err), KG_OK);
    rig_row(g, 0, 1, 1, 1, 3)->adv = 2.32;
    g->keep[1] = 0;
    run(g, &m.loss);
    assert_close(-(double)g->coef[0], -.00302083, 1e-8);
    assert_true(g->coef[1] == 0 && g->coef[2] == g->coef[0]);
    g->row[0].adv = 1.16;
    m.loss.aggregate.scale = 1000;
    run(g, &m.loss);
    assert_close(-(double)g->coef[0], -1.510417e-6, 1e-12);
    m.loss.aggregate.nominal = 2304;
    assert_int_equal(rl_methods_check(&m, &err), KG_E_USAGE);
    free(g);
}

/* A batch with ratios on both sides of both bounds. */
static void mixed(struct rig *g)
{
    rig_clear(g);
    for (uint32_t i = 1; i <= 4; i++) {
        rig_row(g, 0, i, 1, 1, 4)->adv = i % 2 ? 1.5 : -.75;
    }
    for (size_t k = 0; k < 16; k++) {
        g->theta[k] = -1 - .125f * (float)(k % 5);
        g->old[k] = g->theta[k] - (float)((int)(k * 7 % 11) - 5) / 16;
        g->mu[k] = g->theta[k] - (float)((int)(k * 5 % 13) - 6) / 64;
        g->ref[k] = g->theta[k] + (float)((int)(k * 3 % 7) - 3) / 8;
    }
    g->t.ref = g->ref;
    g->keep[5] = 0;
}

/* Central differences of the loss against the coefficients. */
static void differences(struct rig *g, const struct rl_loss_options *o)
{
    const float step = 0x1p-10f;
    run(g, o);
    float coef[16];
    memcpy(coef, g->coef, sizeof coef);
    for (size_t k = 0; k < 16; k++) {
        float at = g->theta[k];
        g->theta[k] = at + step;
        double above = run(g, o).loss;
        g->theta[k] = at - step;
        double below = run(g, o).loss;
        g->theta[k] = at;
        assert_close((below - above) / (2 * (double)step), (double)coef[k], 2e-6);
    }
}

static void test_gradients_by_differences(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    uint64_t clipped = 0;
    for (int agg = 0; agg < 5; agg++) {
        for (int form = 0; form < 2; form++) {
            for (int how = RL_DECOUPLED; how <= RL_BYPASS; how++) {
                mixed(g);
                struct rl_loss_options o = options((enum rl_offpolicy)how);
                o.form = (enum rl_loss_form)form;
                o.aggregate.agg = (enum rl_aggregation)agg;
                o.kl_loss = .1;
                o.kl = agg % 2 ? RL_KL_K2 : RL_KL_K3;
                differences(g, &o);
                clipped += g->counts.of[RL_C_CLIP].acted;
            }
        }
    }
    assert_true(clipped > 0);
    free(g);
}

static void test_gspo_has_one_ratio_for_a_row(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_row(g, 0, 1, 1, 1, 2)->adv = 1;
    g->old[0] = -1.5f; /* log ratios .5 and -.3: token 0 alone is clipped; the mean is .1 */
    g->old[1] = -.7f;
    struct rl_loss_options o = options(RL_DECOUPLED);
    run(g, &o);
    assert_true(g->coef[0] == 0);
    o.form = RL_FORM_GSPO;
    run(g, &o);
    assert_close((double)g->coef[0], exp(.1), 1e-6);
    assert_true(g->coef[0] == g->coef[1]);
    free(g);
}

static void test_on_policy_and_bypass(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    mixed(g);
    struct rl_loss_options o = options(RL_ONPOLICY);
    run(g, &o);
    for (size_t k = 0; k < 16; k++) {
        float want = k == 5 ? 0 : k / 4 % 2 ? -.75f : 1.5f;
        assert_true(g->coef[k] == want);
    }
    float bypass[16];
    o.offpolicy = RL_BYPASS;
    run(g, &o);
    memcpy(bypass, g->coef, sizeof bypass);
    memcpy(g->old, g->mu, sizeof g->old);
    o.offpolicy = RL_DECOUPLED;
    run(g, &o);
    assert_memory_equal(bypass, g->coef, sizeof bypass);
    free(g);
}

static void test_D_29_importance_weights_carry_no_gradient(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    mixed(g);
    g->mu[0] = g->theta[0] - 2; /* beyond the cap */
    struct rl_loss_options o = options(RL_PURE);
    run(g, &o);
    float coef[16];
    memcpy(coef, g->coef, sizeof coef);
    for (size_t k = 0; k < 16; k++) {
        double w = fmin(exp((double)g->theta[k] - (double)g->mu[k]), 2);
        double a = k / 4 % 2 ? -.75 : 1.5;
        assert_close((double)coef[k], k == 5 ? 0 : w * a, 1e-6); /* not w a (1 + log theta) */
    }
    /* differences of the loss in which the weight is held: theta and mu move together */
    for (size_t k = 0; k < 16; k++) {
        float at = g->theta[k], mu = g->mu[k], step = 0x1p-10f;
        g->theta[k] = at + step, g->mu[k] = mu + step;
        double above = run(g, &o).loss;
        g->theta[k] = at - step, g->mu[k] = mu - step;
        double below = run(g, &o).loss;
        g->theta[k] = at, g->mu[k] = mu;
        assert_close((below - above) / (2 * (double)step), (double)coef[k], 2e-6);
    }
    /* tokens->tis scales coefficients and nothing else */
    o = options(RL_ONPOLICY);
    g->t.tis = g->tis;
    for (size_t k = 0; k < 16; k++) {
        g->tis[k] = .5f;
    }
    run(g, &o);
    assert_true(g->coef[0] == .75f);
    free(g);
}

static void test_D_30_exponents_are_held_and_small_losses_stay(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_row(g, 0, 1, 1, 1, 3)->adv = -1;
    g->old[0] = -200;
    g->theta[1] = -200;
    struct rl_loss_options o = options(RL_DECOUPLED);
    o.dual = 0;
    struct rl_loss_stats s = run(g, &o);
    assert_true(isfinite(s.loss) && isfinite((double)g->coef[0]));
    assert_close((double)g->coef[0] / -exp(20), 1, 1e-6);
    assert_int_equal(g->counts.of[RL_C_RATIO].acted, 2);
    g->row[0].adv = 1e-30;
    o = options(RL_ONPOLICY);
    run(g, &o);
    assert_true(g->coef[0] > 0);
    free(g);
}

static void test_D_19_what_is_not_used_is_not_asked_for(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    struct rl_loss_options o = options(RL_ONPOLICY);
    assert_false(rl_loss_needs_old(&o) || rl_loss_needs_ref(&o) || rl_loss_needs_entropy(&o));
    rig_row(g, 0, 1, 1, 1, 2)->adv = 1;
    g->t.mu = g->t.old = NULL; /* and is not read */
    run(g, &o);
    assert_true(g->coef[0] == 1);
    o.kl_loss = .1;
    o.ent_quantile = .8;
    o.offpolicy = RL_DECOUPLED;
    assert_true(rl_loss_needs_old(&o) && rl_loss_needs_ref(&o) && rl_loss_needs_entropy(&o));
    o = options(RL_ONPOLICY);
    assert_true(rl_loss_trains(&g->row[0], &g->t, &o));
    g->row[0].adv = 0;
    assert_false(rl_loss_trains(&g->row[0], &g->t, &o));
    o.entropy = .01;
    assert_true(rl_loss_trains(&g->row[0], &g->t, &o));
    g->keep[0] = g->keep[1] = 0;
    assert_false(rl_loss_trains(&g->row[0], &g->t, &o));
    free(g);
}

static void test_masks_after_clipping(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    static const float h[] = {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f, .9f, 1.f};
    rig_row(g, 0, 1, 1, 1, 10)->adv = -1;
    memcpy(g->entropy, h, sizeof h);
    g->t.entropy = g->entropy;
    struct rl_loss_options o = options(RL_ONPOLICY);
    o.ent_quantile = .8; /* two of ten lie above it */
    run(g, &o);
    for (size_t k = 0; k < 10; k++) {
        assert_true(g->coef[k] == (k < 8 ? 0 : -1));
    }
    o.ent_quantile = 0;
    o.risk_prob = .2;
    g->theta[3] = -2; /* exp(-2) = .135 */
    run(g, &o);
    assert_true(g->coef[3] == 0 && g->coef[4] == -1);
    g->row[0].adv = 1; /* no risk in a push upwards */
    run(g, &o);
    assert_true(g->coef[3] == 1);
    assert_int_equal(g->counts.of[RL_C_ENT_MASK].acted, 8);
    assert_int_equal(g->counts.of[RL_C_RISK_MASK].acted, 1);
    free(g);
}

static void refuse(struct rl_loss_options o, const char *words)
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(rl_loss_check(&o, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, words));
}

static void test_refused_options(void **state)
{
    (void)state;
    struct rl_loss_options o = options(RL_ONPOLICY);
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(rl_loss_check(&o, &err), KG_OK);
    o.kl_loss = .1, o.kl = RL_KL_K1;
    refuse(o, "kl_loss=k1");
    o = options(RL_PURE), o.form = RL_FORM_GSPO;
    refuse(o, "gspo");
    o = options(RL_ONPOLICY), o.clip_lo = 1;
    refuse(o, "clip_lo");
    o = options(RL_ONPOLICY), o.dual = .5;
    refuse(o, "dual");
    o = options(RL_ONPOLICY), o.aggregate.scale = 0;
    refuse(o, "scale");
    o = options(RL_ONPOLICY), o.aggregate.agg = RL_AGG_NORM, o.aggregate.response_max = 0;
    refuse(o, "resp_max");
    o = options(RL_ONPOLICY), o.ent_quantile = 1;
    refuse(o, "ent_mask");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_4_1_clipping),
        cmocka_unit_test(test_EX_4_2_entropy_bonus),
        cmocka_unit_test(test_EX_4_3_kl_terms),
        cmocka_unit_test(test_EX_4_4_kl_estimators),
        cmocka_unit_test(test_EX_4_5_aggregation),
        cmocka_unit_test(test_EX_4_6_micro_batches_do_not_matter),
        cmocka_unit_test(test_EX_4_7_D_03_rows_are_counted_once),
        cmocka_unit_test(test_gradients_by_differences),
        cmocka_unit_test(test_gspo_has_one_ratio_for_a_row),
        cmocka_unit_test(test_on_policy_and_bypass),
        cmocka_unit_test(test_D_29_importance_weights_carry_no_gradient),
        cmocka_unit_test(test_D_30_exponents_are_held_and_small_losses_stay),
        cmocka_unit_test(test_D_19_what_is_not_used_is_not_asked_for),
        cmocka_unit_test(test_masks_after_clipping),
        cmocka_unit_test(test_refused_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
