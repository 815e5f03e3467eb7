/* Rounds of a step: groups that are dropped are sampled again, a bounded number of times; what
 * trains is chosen; oversampled rollouts are thinned; the choice of problems goes on after a
 * restore. */
#include "methods_rig.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* All replies of a group get the same verdict, so it has nothing to teach. */
static void flatten(struct bench *b, uint32_t group)
{
    uint32_t n = rl_config_shape(&b->config).rollouts;
    for (uint32_t i = group * n; i < (group + 1) * n; i++) {
        b->verdict[i] = (struct rl_verdict){.name = "wrong", .coverage = (double)NAN};
    }
}

/* One right reply in a group. */
static void vary(struct bench *b, uint32_t group)
{
    uint32_t n = rl_config_shape(&b->config).rollouts;
    flatten(b, group);
    b->verdict[group * n] = (struct rl_verdict){
        .name = "ok", .correct = true, .speedup = 2, .reward = 3, .coverage = 1};
}

static void dropped_groups_are_sampled_again(void **state)
{
    (void)state;
    static struct bench b;
    struct rl_step_stats s;
    uint32_t want;
    bench_open(&b, LIST("rl.groups=3", "refill_rounds=2"));
    rl_step_begin(b.run.step, 0);
    bench_sample(&b, 0, 0, 3);
    flatten(&b, 0);
    vary(&b, 1);
    flatten(&b, 2);
    loop_ok(rl_step_add(b.run.step, b.run.rollouts, &want, &loop_err));
    assert_int_equal(want, 2);
    bench_sample(&b, 0, 3, 2);
    vary(&b, 3);
    flatten(&b, 4);
    loop_ok(rl_step_add(b.run.step, b.run.rollouts, &want, &loop_err));
    assert_int_equal(want, 1);
    bench_sample(&b, 0, 5, 1);
    flatten(&b, 5);
    loop_ok(rl_step_add(b.run.step, b.run.rollouts, &want, &loop_err));
    assert_int_equal(want, 0); /* D-31: two refills, then it goes on with what there is */
    loop_ok(rl_step_update(b.run.step, b.run.rollouts, &s, &loop_err));
    assert_int_equal(s.groups, 6);
    assert_int_equal(s.dropped, 4);
    assert_int_equal(s.rounds, 3);
    assert_true(s.updated && s.max_diff == 0);
    const struct rl_rows *rows = rl_step_rows(b.run.step);
    assert_int_equal(rows->n, 8);
    assert_true(rows->row[0].group == 1 && rows->row[7].group == 3);
    assert_int_equal(rl_step_drop(b.run.step, 3), RL_DROP_NO);
    assert_int_equal(rl_step_drop(b.run.step, 5), RL_DROP_ZERO);
    const struct rl_count *c = &rl_step_counts(b.run.step)->of[RL_C_REFILL];
    assert_true(c->looked == 3 && c->acted == 2);
    bench_close(&b);
}

static void surplus_groups_do_not_train(void **state)
{
    (void)state;
    static struct bench b;
    struct rl_step_stats s;
    uint32_t want;
    bench_open(&b, LIST("rl.groups=2", "prompt_over=2"));
    rl_step_begin(b.run.step, 7);
    bench_sample(&b, 7, 0, 4);
    for (uint32_t g = 0; g < 4; g++) {
        vary(&b, g);
    }
    loop_ok(rl_step_add(b.run.step, b.run.rollouts, &want, &loop_err));
    loop_ok(rl_step_update(b.run.step, b.run.rollouts, &s, &loop_err));
    assert_int_equal(want, 0);
    assert_int_equal(s.of_drop[RL_DROP_SURPLUS], 2);
    assert_int_equal(rl_step_rows(b.run.step)->n, 8);
    uint32_t order[4];
    assert_int_equal(rl_refill_choose(1, 7, 4, 2, order), 2);
    assert_int_equal(rl_step_rows(b.run.step)->row[0].group, order[0]);
    assert_int_equal(rl_step_rows(b.run.step)->row[7].group, order[1]);
    bench_close(&b);
}

static void oversampled_rollouts_are_thinned(void **state)
{
    (void)state;
    static struct bench b;
    struct rl_step_stats s;
    bench_open(&b, LIST("sample_over=2", "over=balanced", "zero_var=off"));
    assert_int_equal(rl_config_shape(&b.config).rollouts, 8);
    bench_sample(&b, 0, 0, 2);
    flatten(&b, 0);
    flatten(&b, 1);
    for (int i = 0; i < 4; i++) { /* half of group 0 is right, so half of the chosen are */
        b.verdict[i] = (struct rl_verdict){
            .name = "ok", .correct = true, .reward = 1, .coverage = (double)NAN};
    }
    b.verdict[8].state = RL_NO_VERDICT; /* five of group 1: one that fills up trains nothing */
    for (int i = 9; i < 13; i++) {
        b.verdict[i].state = RL_NO_VERDICT;
    }
    loop_ok(rl_step_learn(b.run.step, b.run.rollouts, 0, &s, &loop_err));
    const struct rl_rows *rows = rl_step_rows(b.run.step);
    int right = 0;
    for (size_t i = 0; i < rows->n; i++) {
        right += rows->row[i].group == 0 && rows->row[i].correct;
    }
    assert_int_equal(right, 2);
    assert_int_equal(s.spare, 8);
    assert_int_equal(rows->n, 8);
    assert_int_equal(rows->row[4].group, 1);
    bench_close(&b);
}

/* The same problems come after a restore as without. */
static void the_choice_goes_on(void **state)
{
    (void)state;
    struct rl_chain pool[2][7], a[5], b[5];
    struct rl_picker p, q;
    struct rl_counts counts = {0};
    struct rl_curriculum_options o;
    const size_t n[2] = {7, 7};
    const struct rl_chain *const pools[2] = {pool[0], pool[1]};
    rl_curriculum_defaults(&o);
    o.mode = RL_CUR_RATCHET;
    for (int i = 0; i < 7; i++) {
        pool[0][i] = (struct rl_chain){.n = 2, .op = {(uint8_t)i, 1}};
        pool[1][i] = (struct rl_chain){.n = 3, .op = {(uint8_t)i, 1, 2}};
    }
    loop_ok(rl_picker_init(&p, 3, &o, pools, n, &loop_err));
    loop_ok(rl_picker_init(&q, 3, &o, pools, n, &loop_err));
    for (uint32_t step = 0; step < 9; step++) {
        rl_picker_next(&p, step, 5, a);
        rl_picker_learn(&p, 3, 4, &counts);
    }
    assert_true(rl_picker_share(&p) > .1);
    rl_picker_restore(&q, &p.state);
    for (uint32_t step = 9; step < 20; step++) {
        rl_picker_next(&p, step, 5, a);
        rl_picker_next(&q, step, 5, b);
        assert_memory_equal(a, b, sizeof a);
        rl_picker_learn(&p, 3, 4, &counts);
        rl_picker_learn(&q, 3, 4, &counts);
    }
    assert_int_equal(counts.of[RL_C_CURRICULUM].looked, 31);
    rl_picker_deinit(&p);
    rl_picker_deinit(&q);
}

/* D-39: over many steps the share is met, and each step has exactly its problems. */
static void D_39_levels_are_unbiased(void **state)
{
    (void)state;
    struct rl_chain pool[2][7], got[8];
    struct rl_picker p;
    struct rl_curriculum_options o;
    const size_t n[2] = {7, 7};
    const struct rl_chain *const pools[2] = {pool[0], pool[1]};
    int triples = 0;
    rl_curriculum_defaults(&o);
    for (int i = 0; i < 7; i++) {
        pool[0][i] = (struct rl_chain){.n = 2, .op = {(uint8_t)i, 1}};
        pool[1][i] = (struct rl_chain){.n = 3, .op = {(uint8_t)i, 1, 2}};
    }
    loop_ok(rl_picker_init(&p, 3, &o, pools, n, &loop_err));
    for (uint32_t step = 0; step < 4000; step++) {
        rl_picker_next(&p, step, 8, got);
        for (int i = 0; i < 8; i++) {
            assert_in_range(got[i].n, 2, 3);
            triples += got[i].n == 3;
        }
    }
    assert_in_range(triples, 3100, 3300); /* 10 % of 32 000, give or take 3 deviations */
    rl_picker_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropped_groups_are_sampled_again),
        cmocka_unit_test(surplus_groups_do_not_train),
        cmocka_unit_test(oversampled_rollouts_are_thinned),
        cmocka_unit_test(the_choice_goes_on),
        cmocka_unit_test(D_39_levels_are_unbiased),
    };
    return cmocka_run_group_tests(tests, bench_setup, bench_teardown);
}
