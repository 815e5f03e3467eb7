#include "base/philox.h"
#include "rl/methods/streams.h"
#include "rl_rig.h"

static void block(const uint32_t counter[4], const uint32_t key[2], const uint32_t want[4])
{
    uint32_t out[4];
    kg_philox4x32(counter, key, out);
    assert_memory_equal(out, want, sizeof out);
}

static void test_EX_0_1_philox_known_answers(void **state)
{
    (void)state;
    block((uint32_t[4]){0}, (uint32_t[2]){0},
          (uint32_t[4]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    block((uint32_t[4]){~0u, ~0u, ~0u, ~0u}, (uint32_t[2]){~0u, ~0u},
          (uint32_t[4]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    block((uint32_t[4]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
          (uint32_t[2]){0xa4093822, 0x299f31d0},
          (uint32_t[4]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
    block((uint32_t[4]){0, 0, 7, 2}, (uint32_t[2]){42, 0},
          (uint32_t[4]){0x655f62c3, 0x7d4ddf0f, 0xcc242a4b, 0xca58a7ea});
}

static void test_EX_0_1_draws(void **state)
{
    (void)state;
    assert_close(rl_draw(42, RL_STREAM_PRS, 7, 0, 0), .489469, 5e-7);
    assert_true(rl_engine_seed(42) == 0x9807e02220439b04u);
    assert_true(rl_request_id(3, 5) == (3ull << 32 | 5));
    /* the high half of the seed is part of the key */
    assert_true(rl_draw_bits(42, 2, 7, 0, 0) != rl_draw_bits(42 | 1ull << 32, 2, 7, 0, 0));
    for (uint32_t i = 0; i < 10000; i++) {
        double u = rl_draw(1, RL_STREAM_PRS, 0, 0, i);
        assert_true(u >= 0 && u < 1);
    }
}

static void test_row_index_is_unique_in_a_step(void **state)
{
    (void)state;
    uint8_t seen[2 * 20 * 3] = {0};
    for (uint32_t g = 0; g < 2; g++) {
        for (uint32_t i = 1; i <= 20; i++) {
            for (uint32_t t = 1; t <= 3; t++) {
                uint32_t at = rl_row_index(g, i, t, 20, 3);
                assert_true(at < sizeof seen && seen[at] == 0);
                seen[at] = 1;
            }
        }
    }
    assert_int_equal(rl_row_index(1, 2, 2, 16, 3), 52);
}

static void test_shuffle_is_a_permutation(void **state)
{
    (void)state;
    uint32_t a[100], b[100], first[3] = {0};
    rl_shuffle(5, RL_STREAM_ORDER, 0, 1, 100, a);
    rl_shuffle(5, RL_STREAM_ORDER, 1, 1, 100, b);
    assert_memory_not_equal(a, b, sizeof a);
    uint64_t seen[2] = {0};
    for (int i = 0; i < 100; i++) {
        seen[a[i] / 64] |= 1ull << a[i] % 64;
    }
    assert_true(seen[0] == ~0ull && seen[1] == (1ull << 36) - 1);
    for (uint32_t s = 0; s < 3000; s++) {
        uint32_t c[3];
        rl_shuffle(5, RL_STREAM_ORDER, s, 1, 3, c);
        first[c[0]]++;
    }
    for (int i = 0; i < 3; i++) {
        assert_in_range(first[i], 900, 1100);
    }
}

static void refuse(struct rig *g, const char *words)
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(rl_rows_check(&g->rows, g->t.n, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, words));
}

static void test_D_10_no_row_appears_twice(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    struct kg_err err = KG_ERR_INIT;
    rig_four(g);
    assert_int_equal(rl_rows_check(&g->rows, g->t.n, &err), KG_OK);
    rig_row(g, 0, 4, 2, 1, 1);
    refuse(g, "appears twice");
    g->row[g->rows.n - 1].turn = 4;
    refuse(g, "follows a turn that is missing");
    g->row[g->rows.n - 1].rollout = 3;
    refuse(g, "stands after a later one");
    g->rows.n--;
    g->row[2].reward = (double)NAN;
    refuse(g, "not finite");
    g->row[2].reward = 0;
    g->row[2].length = 100000;
    refuse(g, "beyond the token arrays");
    free(g);
}

static void test_infra_spreads_over_its_trajectory(void **state)
{
    (void)state;
    struct rig *g = rig_new();
    rig_four(g);
    rig_find(g, 0, 1, 2)->flags |= RL_INFRA;
    rl_rows_spread_infra(&g->rows);
    rl_rows_keep_live(&g->rows, &g->t);
    for (size_t i = 0; i < g->rows.n; i++) {
        const struct rl_row *r = &g->row[i];
        assert_int_equal(rl_row_live(r), r->rollout != 1 && !(r->rollout == 3 && r->turn == 2));
        assert_int_equal(rl_row_kept(r), rl_row_live(r));
    }
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_0_1_philox_known_answers),
        cmocka_unit_test(test_EX_0_1_draws),
        cmocka_unit_test(test_row_index_is_unique_in_a_step),
        cmocka_unit_test(test_shuffle_is_a_permutation),
        cmocka_unit_test(test_D_10_no_row_appears_twice),
        cmocka_unit_test(test_infra_spreads_over_its_trajectory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
