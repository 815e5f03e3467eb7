/* The gym's verdicts on generated candidates: a sample of what test_rl_chains_long asks in full. */
#include "chains_rig.h"

#define SEED 7

static int setup(void **state)
{
    return chains_setup(state, SEED);
}

/* Each operator alone in its last style, and some chains in any style. */
static void test_a_sample_is_right(void **state)
{
    (void)state;
    static struct rl_chain c[8];
    struct rl_style style[RL_STYLES];
    struct rl_split s;
    for (int op = 0; op < rl_ops_count(); op++) {
        const struct rl_chain one = {.n = 1, .op = {(uint8_t)op}};
        int n = rl_styles_list(&one, style);
        chains_ask_style(&one, style[n - 1], "ok");
    }
    rl_split_init(&s, SEED, 0);
    for (int n = 2; n <= 3; n++) {
        rl_split_list(&s, n, true, c, 8);
        for (int i = 0; i < 8; i++) {
            chains_ask_style(&c[i], chains_any_style(&c[i]), "ok");
        }
    }
    chains_collect();
}

/* An exponential with an error of 1e-3 is refused wherever it is used. */
static void test_rough_exponentials_are_wrong(void **state)
{
    (void)state;
    static const char *const names[] = {
        "softmax",     "silu_rsum", "bias_sigmoid",      "logsm",
        "qgelu_lnorm", "glu_rms",   "softmax_gain_rmax", "relu_softmax"};
    struct kg_err err;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct rl_chain c;
        assert_int_equal(rl_chain_parse(names[i], &c, &err), KG_OK);
        const struct rl_style s = {
            .form = RL_OWN_FUSED, .exp = RL_EXP_ROUGH, .lanes = true, .order = i % 2};
        chains_ask_style(&c, rl_style_plain(&c, s), "wrong");
    }
    chains_collect();
}

static void test_flaws_have_their_verdict(void **state)
{
    (void)state;
    struct rl_talk_mix mix = rl_talk_mix_default;
    struct rl_chain c[2];
    struct rl_split s;
    struct kg_buf text;
    char what[100], name[48];
    kg_buf_init(&text, RL_CHAIN_BYTES);
    rl_split_init(&s, SEED, 0);
    for (int flaw = RL_FLAW_SYNTAX; flaw < RL_FLAWS; flaw++) {
        memset(mix.flaw, 0, sizeof mix.flaw);
        mix.flaw[flaw] = 1;
        for (int n = 2; n <= 3; n++) {
            rl_split_list(&s, n, false, c, 2);
            for (int i = 0; i < 2; i++) {
                struct rl_talk t;
                rl_talk_draw(&c[i], &mix, &s, &chains_rng, &t);
                kg_buf_reset(&text);
                rl_talk_code(&t, 0, &text);
                rl_style_name(t.style[0], name);
                snprintf(what, sizeof what, "%s at %u in %s", rl_flaw_name(t.flaw), t.at, name);
                chains_ask(&c[i], text.data, rl_flaw_verdict(t.flaw), what);
            }
        }
    }
    kg_buf_deinit(&text);
    chains_collect();
}

static void test_two_problems_are_fit(void **state)
{
    (void)state;
    static const char *const names[] = {"rsub_silu_softmax", "glu_meanabs"};
    struct kg_err err;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct rl_chain c;
        assert_int_equal(rl_chain_parse(names[i], &c, &err), KG_OK);
        chains_ask(&c, NULL, "fit", "check");
    }
    chains_collect();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sample_is_right),
        cmocka_unit_test(test_rough_exponentials_are_wrong),
        cmocka_unit_test(test_flaws_have_their_verdict),
        cmocka_unit_test(test_two_problems_are_fit),
    };
    return cmocka_run_group_tests(tests, setup, chains_teardown);
}
