/* Evaluations that are judged again: which ones are chosen, and what counts as held. */
#include <math.h>

#include "kgym_rig.h"

#include "rl/judge/recheck.h"

#define N 400

static const char *const quick[] = {"timing.pairs=4", "timing.processes=1", "timing.widest=0",
                                    "stage.profile=no"};
static struct kg_err rerr = KG_ERR_INIT;

static int setup(void **state)
{
    if (rig_setup(state) != 0) {
        return -1;
    }
    setenv("KGYM_PROGRAM", getenv("K"), 1);
    return 0;
}

static void must_be(enum kg_code code)
{
    if (code != KG_OK) {
        fail_msg("%s", rerr.message);
    }
}

static struct rl_recheck_options options(int one_in)
{
    return (struct rl_recheck_options){.seed = 7,
                                       .one_in = one_in,
                                       .preset = "train",
                                       .settings = quick,
                                       .nsettings = 4,
                                       .workers = 1};
}

static struct rl_chain chain_of(const char *name)
{
    struct rl_chain c;
    must_be(rl_chain_parse(name, &c, &rerr));
    return c;
}

static const struct rl_verdict right = {
    .state = RL_JUDGED, .name = "ok", .correct = true, .speedup = 1};

/* The rows that a run of N offers chooses, as bits. The offers come in one order or in the other.
 */
static size_t chosen(int one_in, uint64_t seed, bool backwards, bool bits[N])
{
    struct rl_recheck_options o = options(one_in);
    struct rl_recheck *r;
    size_t n;
    const struct rl_chain c = chain_of("bias_relu");
    o.seed = seed;
    must_be(rl_recheck_create(&o, &r, &rerr));
    memset(bits, 0, N * sizeof *bits);
    for (uint32_t k = 0; k < N; k++) {
        uint32_t i = backwards ? N - 1 - k : k;
        must_be(rl_recheck_offer(r, i / 64, i % 64, &c, "x", 1, &right, &rerr));
    }
    const struct rl_recheck_item *item = rl_recheck_items(r, &n);
    for (size_t i = 0; i < n; i++) {
        bits[item[i].step * 64 + item[i].index] = true;
        assert_int_equal(item[i].state, RL_RECHECK_WAITS);
    }
    struct rl_recheck_counts k = rl_recheck_counts(r);
    assert_int_equal(k.chosen, n);
    assert_int_equal(k.offered, one_in > 0 ? N : 0);
    rl_recheck_destroy(r);
    return n;
}

static void the_draw_is_keyed_by_the_row(void **state)
{
    (void)state;
    static bool a[N], b[N];
    size_t n = chosen(32, 1, false, a);
    assert_in_range(n, 3, 30);                   /* 12.5 are expected */
    assert_int_equal(chosen(32, 1, true, b), n); /* the order of offers does not matter */
    assert_memory_equal(a, b, sizeof a);
    (void)chosen(32, 2, false, b);
    assert_true(memcmp(a, b, sizeof a) != 0);
    assert_int_equal(chosen(1, 1, false, a), N);
    assert_int_equal(chosen(0, 1, false, a), 0);
}

static void only_correct_ones_are_offered(void **state)
{
    (void)state;
    const struct rl_recheck_options o = options(1);
    const struct rl_chain c = chain_of("bias_relu");
    struct rl_verdict v = right;
    struct rl_recheck *r;
    must_be(rl_recheck_create(&o, &r, &rerr));
    v.correct = false;
    must_be(rl_recheck_offer(r, 0, 0, &c, "x", 1, &v, &rerr));
    v = right;
    v.state = RL_NO_VERDICT;
    must_be(rl_recheck_offer(r, 0, 1, &c, "x", 1, &v, &rerr));
    assert_int_equal(rl_recheck_counts(r).offered, 0);
    must_be(rl_recheck_finish(r, 0, &rerr)); /* nothing waits: no pool starts */
    rl_recheck_destroy(r);
}

/* The calls of bias_relu, many times over: whatever the host does, it is slower. */
static char slow[] = "#include \"kgops.h\"\n#include <stdlib.h>\n"
                     "void k(const float*x,const float*b,float*restrict y,int64_t n,int64_t m){\n"
                     "  float*t=kgops_temp(n*m);\n"
                     "  for(int i=0;i<8;i++){kgops_add_cols(x,b,t,n,m);kgops_relu(t,y,n*m);}\n"
                     "  free(t);\n}\n";

/* One that holds, one that is said to be faster than it is, a wrong one. */
static void what_holds_and_what_does_not(void **state)
{
    (void)state;
    const struct rl_recheck_options o = options(0);
    const struct rl_chain c = chain_of("bias_relu"), other = chain_of("bias_abs");
    const struct rl_style library = rl_style_plain(&c, (struct rl_style){.form = RL_LIBRARY});
    struct kg_buf good, wrong;
    struct rl_recheck_counts k;
    double first, again;
    kg_buf_init(&good, RL_CHAIN_BYTES);
    kg_buf_init(&wrong, RL_CHAIN_BYTES);
    rl_chain_code(&c, library, &good);
    rl_chain_code(&other, library, &wrong);
    struct rl_recheck_item item[] = {
        {.chain = c, .text = good.data, .len = good.len, .first_speedup = 1},
        {.chain = c, .text = slow, .len = sizeof slow - 1, .first_speedup = 5},
        {.chain = c, .text = wrong.data, .len = wrong.len, .first_speedup = 1},
    };
    must_be(rl_recheck_list(&o, item, 3, &k, &rerr));
    assert_int_equal(item[0].state, RL_RECHECK_HELD);
    assert_string_equal(item[0].name, "ok");
    assert_true(item[0].speedup > 0);
    assert_int_equal(item[1].state, RL_RECHECK_SLOWER);
    assert_int_equal(item[2].state, RL_RECHECK_WRONG);
    assert_string_equal(item[2].name, "wrong");
    assert_ptr_equal(item[0].text, good.data);
    rl_recheck_speeds(&k, &first, &again);
    assert_int_equal(k.timed, 2); /* those that are right and were timed before */
    assert_true(fabs(first - sqrt(item[0].first_speedup * item[1].first_speedup)) < 1e-9);
    assert_true(fabs(again - sqrt(item[0].speedup * item[1].speedup)) < 1e-9);
    k.timed = 0;
    k.first_log = k.again_log = 0;
    rl_recheck_speeds(&k, &first, &again);
    assert_true(isnan(first) && isnan(again));
    assert_true(k.checked == 3 && k.held == 1 && k.disagreed == 2 && k.failed == 0);
    kg_buf_deinit(&good);
    kg_buf_deinit(&wrong);
}

/* Without a time, or without one that is trusted, a fast one counts neither way. */
static void who_is_not_timed_is_not_slower(void **state)
{
    static const char *const settings[2][4] = {
        {"stage.timing=no", "stage.profile=no"},
        {"timing.pairs=3", "timing.processes=1", "stage.profile=no", "timing.widest=1e-9"}};
    const size_t n[2] = {2, 4};
    const struct rl_chain c = chain_of("bias_relu");
    struct rl_recheck_options o = options(0);
    struct kg_buf good;
    (void)state;
    kg_buf_init(&good, RL_CHAIN_BYTES);
    rl_chain_code(&c, rl_style_plain(&c, (struct rl_style){.form = RL_LIBRARY}), &good);
    for (int i = 0; i < 2; i++) {
        struct rl_recheck_item item[] = {
            {.chain = c, .text = good.data, .len = good.len, .first_speedup = 5},
            {.chain = c, .text = good.data, .len = good.len, .first_speedup = 1},
        };
        struct rl_recheck_counts k;
        o.settings = settings[i];
        o.nsettings = n[i];
        must_be(rl_recheck_list(&o, item, 2, &k, &rerr));
        assert_int_equal(item[0].state, RL_RECHECK_UNTIMED);
        assert_string_equal(item[0].name, "ok");
        assert_int_equal(item[1].state, RL_RECHECK_HELD);
        assert_true(item[0].speedup == 0 && k.timed == 0);
        assert_true(k.checked == 1 && k.held == 1 && k.disagreed == 0 && k.failed == 1);
    }
    kg_buf_deinit(&good);
}

/* Polls send one after the other and never wait. */
static void polls_do_not_wait(void **state)
{
    (void)state;
    const struct rl_recheck_options o = options(1);
    const struct rl_chain c = chain_of("bias_relu");
    struct rl_recheck *r;
    struct kg_buf good;
    size_t n;
    kg_buf_init(&good, RL_CHAIN_BYTES);
    rl_chain_code(&c, rl_style_plain(&c, (struct rl_style){.form = RL_OWN_FUSED}), &good);
    must_be(rl_recheck_create(&o, &r, &rerr));
    for (uint32_t i = 0; i < 2; i++) {
        must_be(rl_recheck_offer(r, 0, i, &c, good.data, good.len, &right, &rerr));
    }
    for (int i = 0; i < 3; i++) {
        must_be(rl_recheck_poll(r, &rerr));
        assert_true(rl_recheck_counts(r).checked < 2);
    }
    must_be(rl_recheck_finish(r, 60, &rerr));
    assert_int_equal(rl_recheck_counts(r).checked, 2);
    assert_int_equal(rl_recheck_counts(r).held, 2);
    assert_int_equal(rl_recheck_items(r, &n)[1].state, RL_RECHECK_HELD);
    rl_recheck_destroy(r);
    kg_buf_deinit(&good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_draw_is_keyed_by_the_row),
        cmocka_unit_test(only_correct_ones_are_offered),
        cmocka_unit_test(what_holds_and_what_does_not),
        cmocka_unit_test(who_is_not_timed_is_not_slower),
        cmocka_unit_test(polls_do_not_wait),
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
