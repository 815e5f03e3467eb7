/* The gym's verdicts on generated candidates: every operator in every style, 120 chains drawn at
 * random, 20 problems checked, and 80 first turns with a flaw. */
#include "chains_rig.h"

enum { CHAINS = 120, CHECKED = 20, FLAWS = 80 };

static struct rl_chain drawn[CHAINS];

/* The same chains in each run, so that a failure is a change's doing; KGYM_TEST_SEED=N draws
 * others. */
static int setup(void **state)
{
    const char *seed = getenv("KGYM_TEST_SEED");
    uint64_t value = seed ? strtoull(seed, NULL, 10) : 1;
    unsetenv("KGYM_TEST_SEED"); /* KGYM_... belongs to the program's options */
    if (chains_setup(state, value) != 0) {
        return -1;
    }
    struct rl_split s;
    rl_split_init(&s, value, 0);
    for (int side = 0; side < 4; side++) { /* pairs and triples of both sides */
        rl_split_list(&s, 2 + side % 2, side / 2, drawn + CHAINS / 4 * side, CHAINS / 4);
    }
    return 0;
}

static void test_every_operator_in_every_style(void **state)
{
    (void)state;
    struct rl_style style[RL_STYLES];
    for (int op = 0; op < rl_ops_count(); op++) {
        const struct rl_chain one = {.n = 1, .op = {(uint8_t)op}};
        int n = rl_styles_list(&one, style);
        for (int i = 0; i < n; i++) {
            chains_ask_style(&one, style[i], "ok");
        }
    }
    chains_collect();
}

static void test_random_chains(void **state)
{
    (void)state;
    for (int i = 0; i < CHAINS; i++) {
        chains_ask_style(&drawn[i], chains_any_style(&drawn[i]), "ok");
    }
    chains_collect();
}

static void test_random_problems_are_fit(void **state)
{
    (void)state;
    for (int i = 0; i < CHAINS; i += CHAINS / CHECKED) {
        chains_ask(&drawn[i], NULL, "fit", "check");
    }
    chains_collect();
}

static void test_random_flaws(void **state)
{
    (void)state;
    struct kg_buf text;
    char what[100], name[48];
    kg_buf_init(&text, RL_CHAIN_BYTES);
    for (int i = 0; i < FLAWS; i++) {
        struct rl_talk t;
        rl_talk_draw(&drawn[i], &rl_talk_mix_default, NULL, &chains_rng, &t);
        kg_buf_reset(&text);
        rl_talk_code(&t, 0, &text);
        rl_style_name(t.style[0], name);
        snprintf(what, sizeof what, "%s at %u in %s", rl_flaw_name(t.flaw), t.at, name);
        chains_ask(&drawn[i], text.data, rl_flaw_verdict(t.flaw), what);
    }
    kg_buf_deinit(&text);
    chains_collect();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operator_in_every_style),
        cmocka_unit_test(test_random_chains),
        cmocka_unit_test(test_random_problems_are_fit),
        cmocka_unit_test(test_random_flaws),
    };
    return cmocka_run_group_tests(tests, setup, chains_teardown);
}
