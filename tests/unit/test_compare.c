#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/verify/compare.h"

#define U   0x1p-24
#define MAX 40000

static float y[MAX], r[MAX];
static double o[MAX];

/* n elements of +-1 with exact references: rms 1, e_ref 0. */
static struct kg_bound ones(uint64_t n, int64_t k)
{
    struct kg_bound b;
    for (uint64_t i = 0; i < n; i++) {
        o[i] = i & 1 ? -1 : 1;
        r[i] = y[i] = (float)o[i];
    }
    kg_bound_of(KG_F32, r, o, n, k, &b);
    return b;
}

static struct kg_compare run_f32(enum kg_compare_mode mode, uint64_t n, const struct kg_bound *b)
{
    struct kg_compare c;
    kg_compare_run(KG_F32, mode, y, r, o, n, b, &c);
    return c;
}

/* --- the facts of a reference --- */

static void bound_of_an_exact_reference(void **state)
{
    (void)state;
    struct kg_bound b = ones(100, 0);
    assert_true(b.rms == 1 && b.e_ref == 0 && b.max_ref == 0 && b.rms_ref == 0);
    assert_int_equal(b.k, 1);
    assert_int_equal(b.disagree, 0);
}

static void bound_measures_rms_and_errors(void **state)
{
    (void)state;
    const float rr[] = {3, 4, 0, 0};
    const double oo[] = {3.5, 4, 0, 0};
    struct kg_bound b;
    kg_bound_of(KG_F32, rr, oo, 4, 9, &b);
    assert_true(fabs(b.rms - sqrt(28.25 / 4)) < 1e-15);
    assert_true(b.max_ref == 0.5 && fabs(b.rms_ref - 0.25) < 1e-15);
    assert_true(fabs(b.e_ref - 0.5 / b.rms) < 1e-15);
    assert_int_equal(b.k, 9);
}

/* 40000 elements: the four largest errors lie beyond the 99.99th percentile. */
static void percentile_leaves_out_one_in_ten_thousand(void **state)
{
    (void)state;
    struct kg_bound b;
    for (int i = 0; i < MAX; i++) {
        o[i] = 1;
        r[i] = 1;
    }
    for (int i = 0; i < 6; i++) {
        r[i * 1000 + 17] = 1 + (float)(i + 1) * 0x1p-10f;
    }
    kg_bound_of(KG_F32, r, o, MAX, 1, &b);
    assert_true(b.e_ref == 2 * 0x1p-10);
    assert_true(b.max_ref == 6 * 0x1p-10);
    kg_bound_of(KG_F32, r, o, 9999, 1, &b); /* too few for any to be left out */
    assert_true(b.e_ref == b.max_ref);
}

static void bound_counts_class_disagreement(void **state)
{
    (void)state;
    const float rr[] = {INFINITY, INFINITY, -INFINITY, NAN, NAN, 1};
    const double oo[] = {1e39, INFINITY, INFINITY, NAN, 1, 1};
    struct kg_bound b;
    kg_bound_of(KG_F32, rr, oo, 6, 1, &b);
    assert_int_equal(b.disagree, 3); /* 0, 2 and 4 */
    assert_true(b.rms == 1 && b.max_ref == 0);
}

static void rms_survives_overflow_and_underflow_of_squares(void **state)
{
    (void)state;
    const double big[] = {3e200, 4e200}, small[] = {3e-200, 4e-200}, zero[] = {0, 0};
    struct kg_bound b;
    kg_bound_of(KG_F64, big, big, 2, 1, &b);
    assert_true(fabs(b.rms / 1e200 - sqrt(12.5)) < 1e-12);
    kg_bound_of(KG_F64, small, small, 2, 1, &b);
    assert_true(fabs(b.rms / 1e-200 - sqrt(12.5)) < 1e-12);
    kg_bound_of(KG_F64, zero, zero, 2, 1, &b);
    assert_true(b.rms == 0 && b.e_ref == 0);
}

static void rms_of_an_answer_leaves_out_what_is_not_finite(void **state)
{
    (void)state;
    const float f[] = {3, INFINITY, 4, NAN}, none[] = {NAN, INFINITY};
    const double big[] = {3e200, 4e200, NAN};
    const int32_t i[] = {1, 2};
    assert_true(fabs(kg_compare_rms(KG_F32, f, 4) - sqrt(12.5)) < 1e-14);
    assert_true(kg_compare_rms(KG_F32, none, 2) == 0);
    assert_true(fabs(kg_compare_rms(KG_F64, big, 3) / 1e200 - sqrt(12.5)) < 1e-12);
    assert_true(kg_compare_rms(KG_I32, i, 2) == 0);
}

/* --- each clamp, just inside and just outside --- */

/* One element at 1 + error; the others exact. */
static bool passes_with(const struct kg_bound *b, enum kg_compare_mode mode, double error)
{
    o[0] = 1 - error; /* the oracle moves: y and r are exact in f32 */
    struct kg_compare c = run_f32(mode, 1000, b);
    return c.pass;
}

static void lower_clamp(void **state)
{
    (void)state;
    struct kg_bound b = ones(1000, 1);
    double limit = 1e-5 * (1 + 1); /* base: (2 + 8) u = 6e-7 */
    assert_true(passes_with(&b, KG_COMPARE_ORACLE, limit * (1 - 1e-4)));
    assert_false(passes_with(&b, KG_COMPARE_ORACLE, limit * (1 + 1e-4)));
}

static void base_from_the_reduction_length(void **state)
{
    (void)state;
    int64_t k = 1 << 14;
    struct kg_bound b = ones(1000, k);
    double limit = 2 * U + 8 * U * 128; /* 6.1e-5: between the clamps */
    assert_true(passes_with(&b, KG_COMPARE_ORACLE, limit * (1 - 1e-3)));
    assert_false(passes_with(&b, KG_COMPARE_ORACLE, limit * (1 + 1e-3)));
}

static void base_from_the_references_error(void **state)
{
    (void)state;
    struct kg_bound b = ones(1000, 1);
    b.e_ref = 1e-4;
    double limit = 2 * U + 4e-4;
    assert_true(passes_with(&b, KG_COMPARE_ORACLE, limit * (1 - 1e-3)));
    assert_false(passes_with(&b, KG_COMPARE_ORACLE, limit * (1 + 1e-3)));
}

static void upper_clamp_relative(void **state)
{
    (void)state;
    struct kg_bound b = ones(1000, 1);
    b.e_ref = 1;
    b.max_ref = 1e-4;
    b.rms_ref = 1; /* keep the rms of all out of this */
    double limit = 1e-3 * (1 + 1);
    assert_true(passes_with(&b, KG_COMPARE_ORACLE, limit * (1 - 2e-3)));
    assert_false(passes_with(&b, KG_COMPARE_ORACLE, limit * (1 + 2e-3)));
}

static void upper_clamp_by_the_worst_reference_error(void **state)
{
    (void)state;
    struct kg_bound b = ones(1000, 1);
    b.e_ref = 1;
    b.max_ref = 1e-2;
    b.rms_ref = 1;
    assert_true(passes_with(&b, KG_COMPARE_ORACLE, 0.04 * (1 - 1e-3)));
    assert_false(passes_with(&b, KG_COMPARE_ORACLE, 0.04 * (1 + 1e-3)));
}

static void lower_clamp_scales_with_the_element(void **state)
{
    (void)state;
    struct kg_bound b = ones(1000, 1);
    b.rms_ref = 1;
    r[1] = y[1] = 1000;
    double limit = 1e-5 * (1000 + 1);
    o[1] = 1000 - limit * 0.999;
    assert_true(run_f32(KG_COMPARE_ORACLE, 1000, &b).pass);
    o[1] = 1000 - limit * 1.001;
    struct kg_compare c = run_f32(KG_COMPARE_ORACLE, 1000, &b);
    assert_false(c.pass);
    assert_int_equal(c.first_bad, 1);
    assert_int_equal(c.n_bad, 1);
    assert_true(c.got == 1000 && c.want == o[1]);
    assert_true(c.worst > 1 && c.worst < 1.01);
}

/* Mode FLOAT takes the reference as centre and doubles its errors. */
static void float_mode_doubles_e_ref(void **state)
{
    (void)state;
    struct kg_bound b = ones(1000, 1);
    b.e_ref = 1e-5;
    double limit = 2 * U + 8e-5;
    y[0] = (float)(1 + limit * 0.99);
    assert_true(run_f32(KG_COMPARE_FLOAT, 1000, &b).pass);
    y[0] = (float)(1 + limit * 1.01);
    assert_false(run_f32(KG_COMPARE_FLOAT, 1000, &b).pass);
}

static void float_mode_needs_no_oracle(void **state)
{
    (void)state;
    struct kg_bound b = ones(2000, 1);
    struct kg_compare c;
    kg_compare_run(KG_F32, KG_COMPARE_FLOAT, y, r, NULL, 2000, &b, &c);
    assert_true(c.pass && c.bit_equal);
    assert_int_equal(c.n, 2000);
    y[1999] = 0;
    kg_compare_run(KG_F32, KG_COMPARE_FLOAT, y, r, NULL, 2000, &b, &c);
    assert_false(c.pass);
    assert_int_equal(c.first_bad, 1999);
}

/* --- the rms of the whole output --- */

/* All elements off by the same: allowed up to 2e-5 s while each bound allows far more. */
static bool all_off_by(const struct kg_bound *b, double error, struct kg_compare *c)
{
    for (int i = 0; i < 3000; i++) {
        o[i] = (i & 1 ? -1 : 1) - error;
    }
    *c = run_f32(KG_COMPARE_ORACLE, 3000, b);
    return c->pass;
}

static void rms_refuses_a_common_lean(void **state)
{
    (void)state;
    struct kg_compare c;
    struct kg_bound b = ones(3000, 1);
    b.e_ref = 1e-3; /* few elements of the reference are bad, its rms is not */
    b.max_ref = 1e-2;
    assert_true(all_off_by(&b, 2e-5 * 0.999, &c));
    assert_false(all_off_by(&b, 2e-5 * 1.001, &c));
    assert_true(c.rms_failed && c.worst < 1 && c.n_bad == 3000 && c.first_bad == 0);
    assert_false(c.nonfinite);
}

static void rms_allows_three_times_the_reference(void **state)
{
    (void)state;
    struct kg_compare c;
    struct kg_bound b = ones(3000, 1);
    b.e_ref = 1e-3;
    b.max_ref = 1e-2;
    b.rms_ref = 1e-4;
    assert_true(all_off_by(&b, 3e-4 * 0.999, &c));
    assert_true(fabs(c.rms_ratio - 3) < 0.01);
    assert_false(all_off_by(&b, 3e-4 * 1.001, &c));
}

static void rms_allows_what_the_reduction_length_does(void **state)
{
    (void)state;
    struct kg_compare c;
    struct kg_bound b = ones(3000, 1 << 18);
    b.e_ref = 1e-3;
    double limit = 3 * U * 512 / 2;
    assert_true(all_off_by(&b, limit * 0.999, &c));
    assert_false(all_off_by(&b, limit * 1.001, &c));
}

/* --- classes --- */

/* The bound of an infinite centre is infinite too. */
static void a_number_for_an_infinity_fails_in_whole_blocks(void **state)
{
    (void)state;
    const uint64_t n = 4096;
    struct kg_bound b = ones(n, 4);
    o[3000] = INFINITY;
    r[3000] = y[3000] = INFINITY;
    kg_bound_of(KG_F32, r, o, n, 4, &b);
    y[7] += 4 * (float)U; /* so that `worst` is not 0 when the block is reached */
    assert_true(run_f32(KG_COMPARE_ORACLE, n, &b).pass);
    y[3000] = 1;
    struct kg_compare c = run_f32(KG_COMPARE_ORACLE, n, &b);
    assert_false(c.pass);
    assert_true(c.nonfinite);
    assert_int_equal(c.n_bad, 1);
    assert_int_equal(c.first_bad, 3000);
}

/* What the simple test of a block lets through is what the bound lets through. */
static void errors_around_the_bound_in_every_block(void **state)
{
    (void)state;
    const uint64_t n = 3072;
    static const int64_t K[] = {1, 4, 400, 40000, 100000000};
    for (size_t k = 0; k < sizeof K / sizeof *K; k++) {
        struct kg_bound b = ones(n, K[k]);
        double base = 2 * U + 8 * U * sqrt((double)K[k]), bound = fmin(fmax(base, 2e-5), 2e-3);
        for (int step = 0; step < 40; step++) {
            double share = 0.05 * step + 0.026;
            ones(n, K[k]);
            y[step * 70] = (float)(o[step * 70] + share * bound);
            struct kg_compare c = run_f32(KG_COMPARE_ORACLE, n, &b);
            assert_int_equal(c.n_bad, share > 1);
            assert_true(fabs(c.worst - share) < 0.01);
        }
    }
}

static void nan_never_passes_a_number(void **state)
{
    (void)state;
    struct kg_bound b = ones(3000, 1);
    for (int i = 0; i < 3000; i++) {
        y[i] = NAN;
    }
    struct kg_compare c = run_f32(KG_COMPARE_ORACLE, 3000, &b);
    assert_false(c.pass);
    assert_true(c.nonfinite && isinf(c.worst));
    assert_int_equal(c.n_bad, 3000);
    assert_false(run_f32(KG_COMPARE_FLOAT, 3000, &b).pass);
    assert_false(run_f32(KG_COMPARE_PRECISION, 3000, &b).pass);
    assert_false(run_f32(KG_COMPARE_EXACT, 3000, &b).pass);
}

static void class_table(void **state)
{
    (void)state;
    static const struct {
        double o;
        float r, y;
        bool pass;
    } cases[] = {
        {INFINITY, INFINITY, INFINITY, true},
        {INFINITY, INFINITY, -INFINITY, false},
        {INFINITY, INFINITY, NAN, false},
        {INFINITY, INFINITY, 3e38f, false},
        {-INFINITY, -INFINITY, -INFINITY, true},
        {-INFINITY, -INFINITY, 0, false},
        {NAN, NAN, NAN, true},
        {NAN, NAN, 0, false},
        {NAN, NAN, INFINITY, false},
        {1, 1, NAN, false},
        {1, 1, INFINITY, false},
        {1e39, INFINITY, INFINITY, true},
        {1e39, INFINITY, 0, true}, /* the references disagree: not asked */
        {1, NAN, 7, true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (size_t at = 5; at < 3000; at += 2990) { /* in a whole block and in the rest */
            struct kg_bound b = ones(3000, 1);
            o[at] = cases[k].o;
            r[at] = cases[k].r;
            y[at] = cases[k].y;
            struct kg_compare c = run_f32(KG_COMPARE_ORACLE, 3000, &b);
            assert_int_equal(c.pass, cases[k].pass);
            assert_int_equal(c.nonfinite, !cases[k].pass);
            assert_int_equal(c.n_bad, !cases[k].pass);
        }
    }
}

static void masked_rows_of_infinities_pass(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        o[i] = i % 3 ? 1 : -INFINITY;
        r[i] = y[i] = (float)o[i];
    }
    struct kg_bound b;
    kg_bound_of(KG_F32, r, o, 5000, 1, &b);
    assert_true(b.rms == 1 && b.disagree == 0);
    assert_true(run_f32(KG_COMPARE_ORACLE, 5000, &b).pass);
    y[4] = 2;
    struct kg_compare c = run_f32(KG_COMPARE_ORACLE, 5000, &b);
    assert_true(!c.pass && c.n_bad == 1 && c.first_bad == 4 && !c.nonfinite);
}

/* --- all-zero oracle --- */

static void zeros_ask_for_what_the_reference_reached(void **state)
{
    (void)state;
    struct kg_bound b;
    memset(o, 0, sizeof o);
    memset(r, 0, sizeof r);
    memset(y, 0, sizeof y);
    r[3] = 1e-8f;
    kg_bound_of(KG_F32, r, o, 10, 1, &b);
    y[5] = 3.9e-8f;
    assert_true(run_f32(KG_COMPARE_ORACLE, 10, &b).pass);
    y[5] = 4.1e-8f;
    assert_false(run_f32(KG_COMPARE_ORACLE, 10, &b).pass);
    r[3] = 0;
    kg_bound_of(KG_F32, r, o, 10, 1, &b);
    y[5] = 0x1p-149f;
    assert_false(run_f32(KG_COMPARE_ORACLE, 10, &b).pass);
    y[5] = -0.0f;
    assert_true(run_f32(KG_COMPARE_ORACLE, 10, &b).pass);
}

/* --- precision probe --- */

static void precision_is_relative_2_to_minus_15(void **state)
{
    (void)state;
    struct kg_bound b = ones(1000, 1);
    y[4] = 1 + 0x1p-15f;
    assert_true(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
    y[4] = 1 + 0x1p-15f + 0x1p-22f;
    assert_false(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
}

/* What one accumulator loses in a long sum, and what rounding does to this operator, are no reduced
 * precision; 2 u sqrt(K) at the most terms that are believed is half of what 11-bit operands make.
 */
static void precision_grows_with_the_sum_and_the_references_errors(void **state)
{
    (void)state;
    struct kg_bound b = ones(1000, 1 << 20); /* 2^-15 + 2 u 2^10 = 2^-15 + 2^-13 */
    y[4] = 1 + 0x1.3fp-13f;
    assert_true(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
    y[4] = 1 + 0x1.41p-13f;
    assert_false(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
    b = ones(1000, 1);
    b.e_ref = 0x1p-15; /* 4 e_ref = 2^-13 */
    y[4] = 1 + 0x1.3fp-13f;
    assert_true(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
    y[4] = 1 + 0x1.41p-13f;
    assert_false(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
    b.e_ref = 1; /* the ceiling stays */
    y[4] = 1 + 3e-3f;
    assert_false(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
}

static void precision_has_a_floor_at_small_elements(void **state)
{
    (void)state;
    struct kg_bound b = ones(1000, 1);
    r[0] = y[0] = 0;
    o[0] = 0.99e-5;
    b.max_ref = 1e-5;
    assert_true(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
    y[0] = 3e-5f; /* 4 |r - o| = 3.96e-5 is further than 2e-5 off */
    assert_true(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
    y[0] = 5e-5f;
    assert_false(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
    o[0] = 0;
    y[0] = 1.01e-5f;
    assert_false(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
}

static void precision_is_never_tighter_than_the_references_own_error(void **state)
{
    (void)state;
    struct kg_bound b = ones(1000, 1);
    r[7] = -1 + 1e-4f; /* o[7] = -1 */
    b.max_ref = 1e-4;
    y[7] = (float)(-1 + 3.9e-4);
    assert_true(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
    y[7] = (float)(-1 + 4.1e-4);
    assert_false(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
    y[7] = -1;
    y[9] = (float)(-1 + 1e-4); /* another element gains nothing by it */
    assert_false(run_f32(KG_COMPARE_PRECISION, 1000, &b).pass);
}

/* --- exact --- */

static void exact_takes_no_difference_but_the_sign_of_zero(void **state)
{
    (void)state;
    struct kg_bound b = ones(2000, 1 << 20);
    b.e_ref = 1;
    r[0] = 0;
    y[0] = -0.0f;
    struct kg_compare c = run_f32(KG_COMPARE_EXACT, 2000, &b);
    assert_true(c.pass && !c.bit_equal);
    r[1] = y[1] = INFINITY;
    r[2] = y[2] = NAN;
    assert_true(run_f32(KG_COMPARE_EXACT, 2000, &b).pass);
    y[1500] = nextafterf(y[1500], 2);
    c = run_f32(KG_COMPARE_EXACT, 2000, &b);
    assert_true(!c.pass && c.first_bad == 1500 && c.n_bad == 1);
}

/* --- f64 --- */

static void f64_is_judged_by_its_own_unit(void **state)
{
    (void)state;
    double yy[] = {1, -1, 1, -1}, oo[] = {1, -1, 1, -1};
    struct kg_bound b;
    struct kg_compare c;
    kg_bound_of(KG_F64, oo, oo, 4, 1, &b);
    double limit = 2e-5 * 0x1p-29;
    yy[2] = 1 + limit * 0.99;
    kg_compare_run(KG_F64, KG_COMPARE_ORACLE, yy, oo, oo, 4, &b, &c);
    assert_true(c.pass && !c.bit_equal);
    yy[2] = 1 + limit * 1.05;
    kg_compare_run(KG_F64, KG_COMPARE_ORACLE, yy, oo, oo, 4, &b, &c);
    assert_false(c.pass);
    yy[2] = 1 + 1e-9; /* what a float kernel would give */
    kg_compare_run(KG_F64, KG_COMPARE_PRECISION, yy, oo, oo, 4, &b, &c);
    assert_false(c.pass);
}

static void f64_extremes_do_not_loosen_the_bound(void **state)
{
    (void)state;
    double yy[] = {1e308, 0.5e308}, oo[] = {1e308, 1e308};
    struct kg_bound b;
    struct kg_compare c;
    kg_bound_of(KG_F64, oo, oo, 2, 1, &b);
    kg_compare_run(KG_F64, KG_COMPARE_ORACLE, yy, oo, oo, 2, &b, &c);
    assert_true(!c.pass && c.n_bad == 1 && c.first_bad == 1);
    yy[1] = -1e308; /* the difference overflows */
    kg_compare_run(KG_F64, KG_COMPARE_ORACLE, yy, oo, oo, 2, &b, &c);
    assert_false(c.pass);
}

/* --- integers --- */

static void integers_are_exact_where_references_agree(void **state)
{
    (void)state;
    const int32_t rr[] = {1, 2, 3, 4}, oo[] = {1, 2, 9, 4};
    int32_t yy[] = {1, 2, 7, 4};
    struct kg_bound b;
    struct kg_compare c;
    kg_bound_of(KG_I32, rr, oo, 4, 1, &b);
    assert_int_equal(b.disagree, 1);
    kg_compare_run(KG_I32, KG_COMPARE_ORACLE, yy, rr, oo, 4, &b, &c);
    assert_true(c.pass && !c.bit_equal);
    yy[1] = 3;
    kg_compare_run(KG_I32, KG_COMPARE_ORACLE, yy, rr, oo, 4, &b, &c);
    assert_true(!c.pass && c.n_bad == 1 && c.first_bad == 1 && c.got == 3 && c.want == 2);
    kg_compare_run(KG_I32, KG_COMPARE_EXACT, yy, rr, oo, 4, &b, &c);
    assert_true(!c.pass && c.n_bad == 2);
}

static void integers_beyond_doubles_are_exact(void **state)
{
    (void)state;
    const int64_t rr[] = {(int64_t)1 << 60, -((int64_t)1 << 60)};
    int64_t yy[] = {((int64_t)1 << 60) + 1, -((int64_t)1 << 60)};
    struct kg_bound b;
    struct kg_compare c;
    kg_bound_of(KG_I64, rr, rr, 2, 1, &b);
    kg_compare_run(KG_I64, KG_COMPARE_ORACLE, yy, rr, rr, 2, &b, &c);
    assert_true(!c.pass && c.first_bad == 0);
}

static void timed_integers_may_differ_as_often_as_the_references_did(void **state)
{
    (void)state;
    int32_t rr[100] = {0}, yy[100] = {0};
    struct kg_bound b = {.k = 1};
    struct kg_compare c;
    yy[5] = 1;
    kg_compare_run(KG_I32, KG_COMPARE_FLOAT, yy, rr, NULL, 100, &b, &c);
    assert_false(c.pass);
    b.disagree = 1;
    for (int i = 0; i < 4; i++) {
        yy[i + 5] = 1;
    }
    kg_compare_run(KG_I32, KG_COMPARE_FLOAT, yy, rr, NULL, 100, &b, &c);
    assert_true(c.pass);
    yy[20] = 1;
    kg_compare_run(KG_I32, KG_COMPARE_FLOAT, yy, rr, NULL, 100, &b, &c);
    assert_false(c.pass);
    kg_compare_run(KG_I32, KG_COMPARE_EXACT, yy, rr, NULL, 100, &b, &c);
    assert_int_equal(c.n_bad, 5);
}

/* --- whole answers that must fail --- */

static void trivial_answers_fail(void **state)
{
    (void)state;
    static const float answers[] = {0, 1, 1e-3f};
    struct kg_bound b;
    for (int i = 0; i < 4096; i++) {
        o[i] = sin(i);
        r[i] = (float)o[i];
    }
    kg_bound_of(KG_F32, r, o, 4096, 4096, &b);
    for (size_t k = 0; k < sizeof answers / sizeof *answers; k++) {
        for (int i = 0; i < 4096; i++) {
            y[i] = answers[k];
        }
        struct kg_compare c = run_f32(KG_COMPARE_ORACLE, 4096, &b);
        assert_false(c.pass);
        assert_true(c.n_bad > 4000);
    }
}

/* A one-element slip anywhere is found, whatever path its block takes. */
static void one_bad_element_is_found_anywhere(void **state)
{
    (void)state;
    struct kg_bound b = ones(5000, 1);
    for (uint64_t at = 0; at < 5000; at += 37) {
        float good = y[at];
        y[at] = good + 1e-3f;
        struct kg_compare c = run_f32(KG_COMPARE_ORACLE, 5000, &b);
        assert_true(!c.pass && c.n_bad == 1 && c.first_bad == at && c.n == 5000);
        y[at] = good;
    }
    assert_true(run_f32(KG_COMPARE_ORACLE, 5000, &b).pass);
}

static void worst_is_the_largest_ratio(void **state)
{
    (void)state;
    struct kg_bound b = ones(5000, 1);
    uint64_t seed = 99;
    printf("seed %d\n", 99);
    double want = 0;
    for (int i = 0; i < 5000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double e = (double)(seed >> 40) * 0x1p-24 * 1e-5;
        o[i] = r[i] - e;
        want = fmax(want, e / (1e-5 * (fabs(o[i]) + 1)));
    }
    struct kg_compare c = run_f32(KG_COMPARE_ORACLE, 5000, &b);
    assert_true(c.pass && fabs(c.worst - want) < 1e-9);
}

static void nothing_to_compare_passes(void **state)
{
    (void)state;
    struct kg_bound b = ones(1, 1);
    struct kg_compare c = run_f32(KG_COMPARE_ORACLE, 0, &b);
    assert_true(c.pass && c.n == 0);
}

static void buckets(void **state)
{
    (void)state;
    static const struct {
        uint64_t n, bad;
        const char *want;
    } cases[] = {
        {1000, 0, "<1%"},    {1000, 9, "<1%"},     {1000, 10, "<10%"},
        {1000, 99, "<10%"},  {1000, 100, "<50%"},  {1000, 499, "<50%"},
        {1000, 500, "more"}, {1000, 1000, "more"}, {0, 0, "<1%"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct kg_compare c = {.n = cases[k].n, .n_bad = cases[k].bad};
        assert_string_equal(kg_compare_bucket(&c), cases[k].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_of_an_exact_reference),
        cmocka_unit_test(bound_measures_rms_and_errors),
        cmocka_unit_test(percentile_leaves_out_one_in_ten_thousand),
        cmocka_unit_test(bound_counts_class_disagreement),
        cmocka_unit_test(rms_survives_overflow_and_underflow_of_squares),
        cmocka_unit_test(rms_of_an_answer_leaves_out_what_is_not_finite),
        cmocka_unit_test(lower_clamp),
        cmocka_unit_test(base_from_the_reduction_length),
        cmocka_unit_test(base_from_the_references_error),
        cmocka_unit_test(upper_clamp_relative),
        cmocka_unit_test(upper_clamp_by_the_worst_reference_error),
        cmocka_unit_test(lower_clamp_scales_with_the_element),
        cmocka_unit_test(float_mode_doubles_e_ref),
        cmocka_unit_test(float_mode_needs_no_oracle),
        cmocka_unit_test(rms_refuses_a_common_lean),
        cmocka_unit_test(rms_allows_three_times_the_reference),
        cmocka_unit_test(rms_allows_what_the_reduction_length_does),
        cmocka_unit_test(nan_never_passes_a_number),
        cmocka_unit_test(a_number_for_an_infinity_fails_in_whole_blocks),
        cmocka_unit_test(errors_around_the_bound_in_every_block),
        cmocka_unit_test(class_table),
        cmocka_unit_test(masked_rows_of_infinities_pass),
        cmocka_unit_test(zeros_ask_for_what_the_reference_reached),
        cmocka_unit_test(precision_is_relative_2_to_minus_15),
        cmocka_unit_test(precision_grows_with_the_sum_and_the_references_errors),
        cmocka_unit_test(precision_has_a_floor_at_small_elements),
        cmocka_unit_test(precision_is_never_tighter_than_the_references_own_error),
        cmocka_unit_test(exact_takes_no_difference_but_the_sign_of_zero),
        cmocka_unit_test(f64_is_judged_by_its_own_unit),
        cmocka_unit_test(f64_extremes_do_not_loosen_the_bound),
        cmocka_unit_test(integers_are_exact_where_references_agree),
        cmocka_unit_test(integers_beyond_doubles_are_exact),
        cmocka_unit_test(timed_integers_may_differ_as_often_as_the_references_did),
        cmocka_unit_test(trivial_answers_fail),
        cmocka_unit_test(one_bad_element_is_found_anywhere),
        cmocka_unit_test(worst_is_the_largest_ratio),
        cmocka_unit_test(nothing_to_compare_passes),
        cmocka_unit_test(buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
