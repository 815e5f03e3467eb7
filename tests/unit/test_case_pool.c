/* The pool: shares cases between candidates, rotates them, keeps kinds apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gym/native/case_pool.h"
#include "gym/native/native_replay.h"

static const char text[] =
    "/*---kgym\nname: copy\nlevel: 1\nentry: copy\ndims: {n: 1000}\nargs:\n"
    "  - {name: x, type: \"f32[n]\", role: in}\n  - {name: y, type: \"f32[n]\", role: out}\n"
    "  - {name: n, type: i64, role: dim}\n---*/\n";

static struct kg_problem *problem;
static struct kg_case_pool pool;
static struct kg_rng rng;

static int start(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    if (kg_problem_parse(text, sizeof text - 1, "x/copy.c", &problem, &err) != KG_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    kg_case_pool_reset(&pool);
    kg_rng_init(&rng, (struct kg_key){{7, 9}}, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    kg_problem_destroy(problem);
    kg_rng_deinit(&rng);
    return 0;
}

static void test_first_draw_is_fresh_and_later_ones_mostly_shared(void **state)
{
    (void)state;
    struct kg_case_pool_kind kind = {KG_VARIANT_DEFAULT, KG_LAW_OWN, false, true};
    struct kg_pooled_case *c;
    bool fresh;
    int made = 0;
    assert_false(kg_case_pool_has(&pool, &kind));
    assert_true(kg_case_pool_draw(&pool, problem, &kind, &rng, &c, &fresh));
    assert_true(fresh && kg_case_pool_has(&pool, &kind));
    for (int i = 0; i < 400; i++) {
        assert_true(kg_case_pool_draw(&pool, problem, &kind, &rng, &c, &fresh));
        assert_int_equal(c->variant, KG_VARIANT_DEFAULT);
        assert_int_equal(c->c.jitter, 0);
        made += fresh;
    }
    assert_in_range(made, 2, 40); /* two more, then one in 64 */
}

static void test_a_kind_never_has_more_than_its_share(void **state)
{
    (void)state;
    struct kg_case_pool_kind kind = {KG_VARIANT_ODD, KG_LAW_NORMAL, false, false};
    struct kg_pooled_case *c;
    bool fresh;
    for (int i = 0; i < 200; i++) {
        assert_true(kg_case_pool_draw(&pool, problem, &kind, &rng, &c, &fresh));
        assert_int_not_equal(c->c.jitter, 0);
    }
    int have = 0;
    for (int i = 0; i < KG_CASE_POOL_MAX; i++) {
        have += pool.cases[i].number && pool.cases[i].c.law == KG_LAW_NORMAL;
    }
    assert_int_equal(have, KG_CASE_POOL_PER_KIND);
}

/* Candidates share few cases: aligned strays have large ones always, the others mostly. */
static void test_aligned_strays_are_large(void **state)
{
    (void)state;
    struct kg_pooled_case *c;
    bool fresh;
    int large[2] = {0};
    for (int i = 0; i < 300; i++) {
        for (int aligned = 0; aligned < 2; aligned++) {
            struct kg_case_pool_kind kind = {KG_VARIANT_DEFAULT, KG_LAW_STRAYS, false, aligned};
            kg_case_pool_reset(&pool);
            assert_true(kg_case_pool_draw(&pool, problem, &kind, &rng, &c, &fresh));
            large[aligned] += kg_law_strays_large(c->c.key);
        }
    }
    assert_int_equal(large[1], 300);
    assert_in_range(large[0], 200, 280);
}

static void test_no_case_twice_in_a_round(void **state)
{
    (void)state;
    struct kg_case_pool_kind kind = {KG_VARIANT_DEFAULT, KG_LAW_OWN, false, true};
    struct kg_pooled_case *c;
    bool fresh;
    for (int round = 0; round < 200; round++) {
        uint64_t seen[KG_CASE_POOL_PER_KIND + 1];
        kg_case_pool_round(&pool);
        assert_int_equal(kg_case_pool_has(&pool, &kind), round > 0);
        for (int i = 0; i <= KG_CASE_POOL_PER_KIND; i++) { /* one more than there can be */
            assert_true(kg_case_pool_draw(&pool, problem, &kind, &rng, &c, &fresh));
            seen[i] = c->c.key.w[0]; /* a slot, and its number, may be taken again */
            for (int k = 0; k < i; k++) {
                assert_int_not_equal(seen[k], seen[i]);
            }
        }
    }
}

static void test_a_full_pool_gives_up_its_oldest(void **state)
{
    (void)state;
    struct kg_pooled_case *c;
    bool fresh;
    for (int v = 0; v < KG_VARIANT_COUNT; v++) {
        for (int law = 0; law < KG_LAW_COUNT; law++) {
            struct kg_case_pool_kind kind = {(enum kg_variant)v, (enum kg_law)law, false, false};
            for (int i = 0; i < 4; i++) {
                if (kg_case_pool_draw(&pool, problem, &kind, &rng, &c, &fresh)) {
                    assert_true(c->number > 0);
                    assert_int_equal(c->c.law, law);
                }
            }
        }
    }
}

static void test_a_case_survives_json(void **state)
{
    (void)state;
    struct kg_case_pool_kind kind = {KG_VARIANT_LARGER, KG_LAW_SPIKE, true, false};
    struct kg_pooled_case *c, back;
    struct kg_err err = KG_ERR_INIT;
    bool fresh;
    assert_true(kg_case_pool_draw(&pool, problem, &kind, &rng, &c, &fresh));
    json_t *j = kg_replay_case(problem, c);
    assert_int_equal(kg_replay_parse(problem, j, &pool, &back, &err), KG_OK);
    assert_memory_equal(&back.c, &c->c, sizeof back.c);
    assert_int_equal(back.variant, c->variant);
    json_object_set_new(j, "dims", json_pack("[i]", -3));
    assert_int_equal(kg_replay_parse(problem, j, &pool, &back, &err), KG_E_INPUT);
    json_object_set_new(j, "dims", json_pack("[i,i]", 3, 4));
    assert_int_equal(kg_replay_parse(problem, j, &pool, &back, &err), KG_E_INPUT);
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_draw_is_fresh_and_later_ones_mostly_shared,
                                        start, end),
        cmocka_unit_test_setup_teardown(test_a_kind_never_has_more_than_its_share, start, end),
        cmocka_unit_test_setup_teardown(test_a_full_pool_gives_up_its_oldest, start, end),
        cmocka_unit_test_setup_teardown(test_no_case_twice_in_a_round, start, end),
        cmocka_unit_test_setup_teardown(test_a_case_survives_json, start, end),
        cmocka_unit_test_setup_teardown(test_aligned_strays_are_large, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
