/* Advantages, importance weights and clipped losses against TRL's, within 1e-6.
 * tests/goldens/make_trl_goldens.py made the values. */
#include "rl_rig.h"

#include "base/json.h"
#include "lm_files.h"

#define WITHIN  1e-6
#define TRL_EPS 1e-4 /* what TRL adds to the standard deviation; the engine adds 1e-6 */
#define OWN_EPS 1e-6

static json_t *trl(void)
{
    struct kg_buf text = whole(golden("rl/trl.json"));
    struct kg_err err = KG_ERR_INIT;
    json_t *out = NULL;
    if (kg_json_parse(text.data, text.len, "trl.json", &out, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    kg_buf_deinit(&text);
    return out;
}

static double at(const json_t *list, size_t i)
{
    assert_true(i < json_array_size(list));
    return json_number_value(json_array_get(list, i));
}

static const json_t *in(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (v == NULL) {
        fail_msg("trl.json: no %s", key);
    }
    return v;
}

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
    return json_string_value(in(o, key));
}

static void fill(float *to, const json_t *list, size_t n)
{
    assert_int_equal(json_array_size(list), n);
    for (size_t i = 0; i < n; i++) {
        to[i] = (float)at(list, i);
    }
}

/* --- advantages --- */

static void compare_advantages(struct rig *g, const json_t *c, const char *estimator,
                               const char *key)
{
    const json_t *want = in(c, key);
    bool scaled = strcmp(key, "grpo") == 0;
    rig_advantage(g, estimator, RL_SET_LIVE);
    for (size_t i = 0; i < g->rows.n; i++) {
        const struct rl_row *r = &g->row[i];
        double std = at(in(c, "std"), r->group);
        double fix = scaled ? (std + OWN_EPS) / (std + TRL_EPS) : 1;
        assert_close(r->adv * fix, at(json_array_get(want, r->group), r->rollout - 1), WITHIN);
    }
}

static void advantages_are_those_of_trl(void **state)
{
    (void)state;
    json_t *golden = trl();
    const json_t *c;
    size_t i;
    struct rig *g = rig_new();
    json_array_foreach(in(golden, "advantages"), i, c)
    {
        const json_t *rewards = in(c, "rewards");
        rig_clear(g);
        for (size_t q = 0; q < json_array_size(rewards); q++) {
            const json_t *group = json_array_get(rewards, q);
            for (size_t n = 0; n < json_array_size(group); n++) {
                rig_row(g, (uint32_t)q, (uint32_t)n + 1, 1, at(group, n), 1);
            }
        }
        compare_advantages(g, c, "grpo", "grpo");
        compare_advantages(g, c, "grpo-traj", "grpo");
        compare_advantages(g, c, "grpo-mean", "grpo_unscaled");
        compare_advantages(g, c, "rloo", "rloo");
        compare_advantages(g, c, "trloo", "rloo");
    }
    assert_int_equal(i, 3);
    free(g);
    json_decref(golden);
}

/* --- importance sampling --- */

static struct rig *sequences(const json_t *lengths, const json_t *advantages)
{
    struct rig *g = rig_new();
    for (size_t i = 0; i < json_array_size(lengths); i++) {
        struct rl_row *r = rig_row(g, 0, (uint32_t)i + 1, 1, 1, (size_t)at(lengths, i));
        r->adv = advantages != NULL ? at(advantages, i) : 0;
    }
    g->t.tis = g->tis;
    return g;
}

static void compare_importance(struct rig *g, const json_t *c)
{
    struct rl_mismatch_options o;
    const json_t *ratio = in(c, "ratio");
    bool mask = strstr(text(c, "mode"), "mask") != NULL;
    bool token = strncmp(text(c, "mode"), "token", 5) == 0;
    rl_mismatch_defaults(&o);
    if (mask) {
        o.mrs = token ? RL_MRS_TOKEN : RL_MRS_SEQUENCE;
        o.lo = number(c, "low");
        o.hi = number(c, "high");
    } else {
        o.tis = token ? RL_TIS_TOKEN : RL_TIS_ROW;
        o.tis_cap = number(c, "high");
    }
    rl_rows_keep_live(&g->rows, &g->t);
    rl_mismatch_mask(&g->rows, &g->t, &o, &g->counts);
    rl_mismatch_weigh(&g->rows, &g->t, &o, &g->counts);
    for (size_t i = 0; i < g->rows.n; i++) {
        const struct rl_row *r = &g->row[i];
        for (size_t k = r->first; k < r->first + r->length; k++) {
            if (mask) {
                bool kept = rl_row_kept(r) && rl_token_kept(&g->t, k);
                assert_int_equal(kept, at(ratio, k) > 0);
            } else {
                assert_close((double)g->tis[k], at(ratio, k), WITHIN);
            }
        }
    }
    g->t.tis = g->tis;
}

static void importance_is_that_of_trl(void **state)
{
    (void)state;
    json_t *golden = trl();
    const json_t *set = in(golden, "importance"), *c;
    size_t i;
    struct rig *g = sequences(in(in(golden, "losses"), "lengths"), NULL);
    fill(g->old, in(set, "old"), g->t.n);
    fill(g->mu, in(set, "mu"), g->t.n);
    json_array_foreach(in(set, "modes"), i, c)
    {
        compare_importance(g, c);
    }
    assert_int_equal(i, 4);
    free(g);
    json_decref(golden);
}

/* --- losses --- */

static enum rl_aggregation aggregation(const char *kind)
{
    static const struct {
        const char *kind;
        enum rl_aggregation agg;
    } table[] = {{"grpo", RL_AGG_ROW_MEAN},
                 {"bnpo", RL_AGG_TOKEN_MEAN},
                 {"dapo", RL_AGG_TOKEN_MEAN},
                 {"dr_grpo", RL_AGG_NORM},
                 {"luspo", RL_AGG_TOKEN_SUM}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].kind, kind) == 0) {
            return table[i].agg;
        }
    }
    fail_msg("trl.json: no aggregation for %s", kind);
    return RL_AGG_SUM;
}

static struct rl_loss_options loss_options(const json_t *set, const json_t *c)
{
    struct rl_loss_options o;
    const char *level = json_string_value(json_object_get(c, "importance_sampling_level"));
    rl_loss_defaults(&o, (uint32_t)json_array_size(in(set, "lengths")),
                     (uint32_t)number(set, "most"));
    o.offpolicy = RL_DECOUPLED;
    o.form = level != NULL && strcmp(level, "sequence") == 0 ? RL_FORM_GSPO : RL_FORM_CLIP;
    o.dual = number(c, "delta");
    o.kl_loss = number(c, "beta");
    o.kl = RL_KL_K3;
    o.aggregate.agg = aggregation(text(c, "kind"));
    return o;
}

/* The largest difference of value or gradient. */
static double loss_differs(struct rig *g, const json_t *set, const json_t *c,
                           const struct rl_loss_options *o)
{
    struct rl_loss_stats s = {0};
    fill(g->theta, in(set, "theta"), g->t.n);
    fill(g->old, in(set, "old"), g->t.n);
    fill(g->ref, in(set, "ref"), g->t.n);
    fill(g->tis, in(set, "weights"), g->t.n);
    g->t.ref = g->ref;
    g->t.tis = json_is_true(json_object_get(c, "importance")) ? g->tis : NULL;
    struct rl_norm norm = rl_loss_norm(&g->rows, &g->t, o);
    rl_loss(&g->rows, 0, g->rows.n, &g->t, &norm, o, &s, &g->counts);
    double most = fabs(s.loss - number(c, "loss"));
    assert_int_equal(json_array_size(in(c, "gradient")), g->t.n);
    for (size_t k = 0; k < g->t.n; k++) {
        most = fmax(most, fabs(-(double)g->coef[k] - at(in(c, "gradient"), k)));
    }
    return most;
}

static void losses_are_those_of_trl(void **state)
{
    (void)state;
    json_t *golden = trl();
    const json_t *set = in(golden, "losses"), *c;
    size_t i;
    struct rig *g = sequences(in(set, "lengths"), in(set, "advantages"));
    json_array_foreach(in(set, "cases"), i, c)
    {
        struct rl_loss_options o = loss_options(set, c);
        double off = loss_differs(g, set, c, &o);
        if (!(off <= WITHIN)) {
            fail_msg("case %zu, %s: differs by %g", i, text(c, "kind"), off);
        }
    }
    assert_int_equal(i, 10);
    free(g);
    json_decref(golden);
}

/* Options that differ a little are no match: the values tell them apart. */
static void other_losses_are_noticed(void **state)
{
    (void)state;
    json_t *golden = trl();
    const json_t *set = in(golden, "losses"), *c = json_array_get(in(set, "cases"), 9);
    struct rig *g = sequences(in(set, "lengths"), in(set, "advantages"));
    struct rl_loss_options usual = loss_options(set, c), o;
    assert_true(loss_differs(g, set, c, &usual) <= WITHIN);
    o = usual;
    o.clip_hi = .2;
    assert_true(loss_differs(g, set, c, &o) > WITHIN);
    o = usual;
    o.clip_lo = .3;
    assert_true(loss_differs(g, set, c, &o) > WITHIN);
    o = usual;
    o.dual = 0;
    assert_true(loss_differs(g, set, c, &o) > WITHIN);
    o = usual;
    o.kl = RL_KL_K2;
    assert_true(loss_differs(g, set, c, &o) > WITHIN);
    o = usual;
    o.aggregate.agg = RL_AGG_TOKEN_SUM;
    assert_true(loss_differs(g, set, c, &o) > WITHIN);
    free(g);
    json_decref(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advantages_are_those_of_trl),
        cmocka_unit_test(importance_is_that_of_trl),
        cmocka_unit_test(losses_are_those_of_trl),
        cmocka_unit_test(other_losses_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
