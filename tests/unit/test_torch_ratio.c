/* Ratio and interval of a measurement's pairs: how often the interval holds the truth, and what
 * disturbed calls do to both. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gym/torch/timing/torch_pairs_private.h"

#define MOST   48
#define BLOCK  4
#define TRUE   1.25
#define ROUNDS 4000

static struct kg_torch torch; /* K is 0 */
static struct kg_worker worker;
static struct kg_tpairs session = {.w = &worker};
static struct kg_tpairs_result result;
static struct kg_pair pair[MOST];
static struct kg_rng rng;

static double normal(void)
{
    double u = ((double)kg_rng_below(&rng, 1u << 30) + 0.5) / (1u << 30);
    double v = (double)kg_rng_below(&rng, 1u << 30) / (1u << 30);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static uint64_t bits(void *ctx)
{
    return kg_rng_u64(ctx);
}

/* n pairs with errors of this size; who is called second takes 1 % longer. */
static void draw(size_t n, double error)
{
    bool first[MOST];
    for (size_t from = 0; from < n; from += BLOCK) {
        kg_balanced_order(bits, &rng, first + from, n - from < BLOCK ? n - from : BLOCK);
    }
    for (size_t i = 0; i < n; i++) {
        double ref = TRUE * (first[i] ? 1.01 : 1) * (1 + error * normal());
        double cand = (first[i] ? 1 : 1.01) * (1 + error * normal());
        pair[i] = (struct kg_pair){(int64_t)(1e6 * ref), (int64_t)(1e6 * cand), first[i]};
    }
    result = (struct kg_tpairs_result){.pair = pair, .n = n, .block = BLOCK};
}

static struct kg_ratio ratio(void)
{
    struct kg_ratio r;
    session.opt = KG_TPAIRS_DEFAULTS;
    session.out = &result;
    assert_true(kg_tpairs_ratio(&session, &r));
    assert_true(fabs(r.lo * exp(r.half_width) / r.ratio - 1) < 1e-9);
    assert_true(fabs(r.hi * exp(-r.half_width) / r.ratio - 1) < 1e-9);
    assert_int_equal(r.pairs, result.n);
    return r;
}

static void test_the_interval_holds_the_truth(void **state)
{
    (void)state;
    static const size_t pairs[] = {8, 12, 16, 24, 48, 18, 5}; /* the last two: time ran out */
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        int holds = 0;
        double width = 0;
        for (int i = 0; i < ROUNDS; i++) {
            draw(pairs[k], 0.02);
            struct kg_ratio r = ratio();
            holds += r.lo <= TRUE && TRUE <= r.hi;
            width += r.half_width / ROUNDS;
        }
        assert_true(holds > 0.92 * ROUNDS && holds < 0.99 * ROUNDS);
        if (pairs[k] == 24) { /* by three eights it would be 0.022 */
            assert_true(width > 0.010 && width < 0.016);
        }
    }
}

/* Asked after every block from the second on, and ended by its own width: still no lie. */
static void test_an_early_end_holds_the_truth(void **state)
{
    (void)state;
    static const double errors[] = {0.01, 0.03, 0.05};
    static const double most[] = {10, 29, 48}, least[] = {8, 25, 44};
    const size_t planned = (size_t)(KG_TPAIRS_DEFAULTS.min_blocks * BLOCK);
    for (size_t k = 0; k < sizeof errors / sizeof *errors; k++) {
        int holds = 0;
        double pairs = 0;
        for (int i = 0; i < ROUNDS; i++) {
            struct kg_ratio r = {0};
            draw(MOST, errors[k]);
            for (result.n = planned; result.n <= MOST; result.n += BLOCK) {
                r = ratio();
                if (r.half_width <= session.opt.half_width) {
                    break;
                }
            }
            holds += r.lo <= TRUE && TRUE <= r.hi;
            pairs += (double)r.pairs / ROUNDS;
        }
        printf("told: errors of %g: %d of %d held, %.1f pairs\n", errors[k], holds, ROUNDS, pairs);
        assert_true(holds > 0.90 * ROUNDS && pairs >= least[k] && pairs < most[k]);
    }
}

/* That who is called second takes longer is on both sides alike, in the interval, too. */
static void test_orders_are_no_spread(void **state)
{
    (void)state;
    for (size_t n = BLOCK; n <= MOST; n += BLOCK) {
        draw(n, 0);
        struct kg_ratio r = ratio();
        assert_true(fabs(r.ratio / TRUE - 1) < 1e-5 && r.half_width < 1e-5);
    }
}

struct change {
    double moved, wider;
};

/* On average, of n pairs of which a few of the candidate's calls took so much longer. */
static struct change disturbed(size_t n, size_t few, double longer)
{
    struct change c = {0, 0};
    for (int i = 0; i < ROUNDS; i++) {
        draw(n, 0.005);
        struct kg_ratio quiet = ratio();
        size_t at = kg_rng_below(&rng, n);
        for (size_t k = 0; k < few; k++) {
            pair[(at + k) % n].cand_ns += (int64_t)(1e6 * longer);
        }
        struct kg_ratio loud = ratio();
        c.moved += fabs(log(loud.ratio / quiet.ratio)) / ROUNDS;
        c.wider += loud.half_width / quiet.half_width / ROUNDS;
    }
    return c;
}

/* A scheduler's slice in one call in ten says nothing of the others; where every third call is
 * disturbed nobody is told that the ratio is known. */
static void test_disturbed_calls(void **state)
{
    (void)state;
    static const size_t pairs[] = {12, 24, 48};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        size_t n = pairs[k];
        struct change few = disturbed(n, n / 10, 4), many = disturbed(n, n / 3, 4);
        assert_true(few.moved < 0.002);
        assert_true(few.wider > 1 && few.wider < 2);
        assert_true(many.wider > 10);
    }
}

static void test_nothing_is_known_of_no_pair(void **state)
{
    (void)state;
    struct kg_ratio r;
    draw(0, 0);
    session.out = &result;
    assert_false(kg_tpairs_ratio(&session, &r));
}

int main(void)
{
    kg_worker_set_part(&worker, &kg_executor_torch, &torch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_interval_holds_the_truth),
        cmocka_unit_test(test_an_early_end_holds_the_truth),
        cmocka_unit_test(test_orders_are_no_spread),
        cmocka_unit_test(test_disturbed_calls),
        cmocka_unit_test(test_nothing_is_known_of_no_pair),
    };
    kg_rng_init(&rng, (struct kg_key){{7, 11}}, 0);
    session.null_ns[0] = 0;
    session.nnull = 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
