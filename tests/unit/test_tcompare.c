#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/device/allclose.h"
#include "gym/device/device_law.h"

#define N 5000

/* One rule for all dtypes: what is right passes, what is not fails, by the dtype's own bound. */

static const struct {
    enum kg_tdtype dtype;
    double u, lo, hi;
} kinds[] = {
    {KG_TD_F32, 0x1p-24, 1e-5, 1e-3},
    {KG_TD_F64, 0x1p-53, 1e-5 * 0x1p-29, 1e-3 * 0x1p-29},
    {KG_TD_F16, 0x1p-11, 1e-3, 1e-2},
    {KG_TD_BF16, 0x1p-8, 8e-3, 4e-2},
};

struct data {
    double o[N]; /* the oracle */
    unsigned char r[N * 8], y[N * 8];
};

static struct data *d;
static struct kg_tcompare c;
static struct kg_tbound bound;

/* o normal; r and y are o rounded to the dtype. */
static void make(enum kg_tdtype t, uint64_t key)
{
    struct kg_dj_law law = {.kind = KG_DJ_NORMAL, .key = {{9, key}}, .b = 1};
    kg_dj_law_fill(KG_TD_F64, d->o, N, &law);
    for (uint64_t i = 0; i < N; i++) {
        kg_dj_store(t, d->r, i, d->o[i]);
        kg_dj_store(t, d->y, i, d->o[i]);
    }
    kg_tbound_of(t, d->r, d->o, N, 1, &bound);
}

static bool passes(enum kg_tdtype t, bool oracle, bool probe)
{
    kg_tcompare_run(t, d->y, d->r, oracle ? d->o : NULL, N, &bound, probe, &c);
    return c.pass;
}

static void set(enum kg_tdtype t, uint64_t i, double v)
{
    kg_dj_store(t, d->y, i, v);
}

static void equal_answers_pass_and_the_bound_is_that_of_the_dtype(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        enum kg_tdtype t = kinds[k].dtype;
        make(t, k);
        assert_true(fabs(bound.rms - 1) < 0.1);
        assert_true(bound.e_ref <= 4 * kinds[k].u && bound.max_ref <= 5 * kinds[k].u);
        assert_int_equal(bound.disagree, 0);
        for (int oracle = 0; oracle < 2; oracle++) {
            make(t, k);
            assert_true(passes(t, oracle, false));
            assert_true(c.bit_equal);
            assert_int_equal(c.n, N);
            uint64_t at = 1234; /* in a whole block; the last element: in none */
            for (int last = 0; last < 2; last++, at = N - 1) {
                make(t, k);
                double a = fabs(d->o[at]), least = kinds[k].lo * (a + bound.rms),
                       most = 3 * kinds[k].hi * (a + bound.rms);
                set(t, at, d->o[at] + least / 2);
                assert_true(passes(t, oracle, false));
                assert_false(c.bit_equal && k != 3);
                set(t, at, d->o[at] + most);
                assert_false(passes(t, oracle, false));
                assert_int_equal(c.n_bad, 1);
                assert_int_equal(c.first_bad, at);
                assert_true(c.worst > 1 && isfinite(c.worst));
                assert_true(fabs(c.want - d->o[at]) <= 4 * kinds[k].u * (1 + a));
            }
        }
    }
}

static void the_middle_of_the_bound(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) { /* errors of the reference widen it, but not beyond hi */
        enum kg_tdtype t = kinds[k].dtype;
        make(t, k);
        double off = 0.5 * (kinds[k].lo + kinds[k].hi) * (fabs(d->o[77]) + bound.rms);
        set(t, 77, d->o[77] + off);
        assert_false(passes(t, true, false));
        bound.e_ref = 100 * kinds[k].hi;
        bound.rms_ref = kinds[k].hi;
        assert_true(passes(t, true, false));
        set(t, 77, d->o[77] + 4 * kinds[k].hi * (fabs(d->o[77]) + 1));
        assert_false(passes(t, true, false));
        bound.max_ref = 8 * kinds[k].hi * (fabs(d->o[77]) + 1);
        assert_true(passes(t, true, false));
    }
}

static void classes_must_agree(void **state)
{
    (void)state;
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < 4; k++) {
        enum kg_tdtype t = kinds[k].dtype;
        for (int a = 0; a < 3; a++) {
            make(t, k);
            set(t, 10, odd[a]);
            assert_false(passes(t, true, false));
            assert_true(c.nonfinite && isinf(c.worst));
            d->o[10] = odd[a]; /* the references disagree: nothing is asked */
            assert_true(passes(t, true, false));
            kg_dj_store(t, d->r, 10, odd[a]);
            assert_true(passes(t, true, false));
            assert_true(passes(t, false, false));
            for (int b = 0; b < 3; b++) {
                set(t, 10, odd[b]);
                assert_int_equal(passes(t, true, false), a == b);
                assert_int_equal(passes(t, false, false), a == b);
            }
            set(t, 10, 1);
            assert_false(passes(t, true, false));
        }
        make(t, k);
        d->o[3] = NAN;
        kg_tbound_of(t, d->r, d->o, N, 1, &bound);
        assert_int_equal(bound.disagree, 1);
    }
}

static void all_of_them_together(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) { /* each within its own, wide, bound; the rms is not */
        enum kg_tdtype t = kinds[k].dtype;
        make(t, k);
        bound.e_ref = kinds[k].hi;
        for (uint64_t i = 0; i < N; i++) {
            set(t, i, d->o[i] + 0.9 * kinds[k].hi);
        }
        if (k == 3) {
            bound.e_ref = 1;
        }
        bool pass = passes(t, true, false);
        bool within = 0.9 * kinds[k].hi <= 2.2 * kinds[k].lo; /* bf16: lo and hi are near */
        assert_true(pass == within || c.rms_failed);
        if (k != 3) {
            assert_false(pass);
            assert_true(c.rms_failed && c.n_bad > 0);
        }
        bound.rms_ref = kinds[k].hi;
        assert_true(passes(t, true, false));
        assert_true(c.rms_ratio > 0.5 && c.rms_ratio < 2);
    }
}

static void the_precision_probe(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        enum kg_tdtype t = kinds[k].dtype;
        make(t, k);
        assert_true(passes(t, true, true));
        double a = fabs(d->o[50]), seen = bound.e_ref;
        set(t, 50, d->o[50] + 1.5 * kinds[k].lo * (a + bound.rms));
        assert_false(passes(t, true, true));
        bound.k = 1 << 20; /* of sixteen bits the floor holds what a long sum loses */
        assert_int_equal(passes(t, true, true), k < 2);
        bound.k = 1;
        bound.e_ref = kinds[k].lo * (a + bound.rms) / bound.rms;
        assert_int_equal(passes(t, true, true), k < 2);
        bound.e_ref = seen;
        kg_dj_store(t, d->r, 50, d->o[50] + 1.5 * kinds[k].lo * (a + bound.rms));
        assert_true(passes(t, true, true)); /* the reference is as far off */
    }
}

static void zeros_have_no_scale(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        enum kg_tdtype t = kinds[k].dtype;
        make(t, k);
        memset(d->o, 0, sizeof d->o);
        memset(d->r, 0, sizeof d->r);
        memset(d->y, 0, sizeof d->y);
        kg_tbound_of(t, d->r, d->o, N, 1, &bound);
        assert_true(passes(t, true, false));
        set(t, 5, 1e-6);
        assert_false(passes(t, true, false));
    }
}

static void integers_are_exact_where_the_references_agree(void **state)
{
    (void)state;
    static const enum kg_tdtype t[] = {KG_TD_I64, KG_TD_I32, KG_TD_I16,
                                       KG_TD_I8,  KG_TD_U8,  KG_TD_BOOL};
    static unsigned char also[N * 8];
    for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
        size_t size = kg_tdtype_bytes(t[k]);
        struct kg_dj_law law = {.kind = KG_DJ_INTEGER, .key = {{k, 1}}, .a = 0, .b = 100};
        kg_dj_law_fill(t[k], d->r, N, &law);
        memcpy(d->y, d->r, N * size);
        memcpy(also, d->r, N * size);
        kg_tbound_of(t[k], d->r, also, N, 1, &bound);
        kg_tcompare_run(t[k], d->y, d->r, also, N, &bound, false, &c);
        assert_true(c.pass && c.bit_equal);
        d->y[4321 * size] ^= 1;
        kg_tcompare_run(t[k], d->y, d->r, also, N, &bound, false, &c);
        assert_false(c.pass || c.bit_equal);
        assert_int_equal(c.first_bad, 4321);
        assert_int_equal(c.n_bad, 1);
        assert_true(fabs(c.got - c.want) == 1 && isinf(c.worst));
        kg_tcompare_run(t[k], d->y, d->r, NULL, N, &bound, false, &c);
        assert_false(c.pass);
        also[4321 * size] ^= 1; /* the references disagree there */
        kg_tbound_of(t[k], d->r, also, N, 1, &bound);
        assert_int_equal(bound.disagree, 1);
        kg_tcompare_run(t[k], d->y, d->r, also, N, &bound, false, &c);
        assert_true(c.pass && !c.bit_equal);
        for (uint64_t i = 0; i < 4; i++) { /* without an oracle: as often as four times that */
            kg_tcompare_run(t[k], d->y, d->r, NULL, N, &bound, false, &c);
            assert_true(c.pass);
            d->y[i * size] ^= 1;
        }
        kg_tcompare_run(t[k], d->y, d->r, NULL, N, &bound, false, &c);
        assert_false(c.pass);
    }
}

static void nothing_is_equal_to_nothing(void **state)
{
    (void)state;
    uint64_t used;
    for (int t = 0; t < KG_TD_COUNT; t++) {
        kg_tcompare_run((enum kg_tdtype)t, d->y, d->r, d->o, 0, &bound, false, &c);
        assert_true(c.pass && c.bit_equal && c.n == 0);
        kg_tbound_of((enum kg_tdtype)t, d->r, d->o, 0, 0, &bound);
        assert_int_equal(bound.disagree, 0);
        assert_true(kg_tcompare_rms((enum kg_tdtype)t, d->r, 0, 0, &used) == 0);
    }
}

static void rms_of_what_is_finite(void **state)
{
    (void)state;
    uint64_t used;
    for (size_t k = 0; k < 4; k++) {
        make(kinds[k].dtype, k);
        assert_true(fabs(kg_tcompare_rms(kinds[k].dtype, d->r, N, 0, &used) - bound.rms) < 1e-3);
        kg_dj_store(kinds[k].dtype, d->r, 3, INFINITY);
        assert_true(fabs(kg_tcompare_rms(kinds[k].dtype, d->r, N, 0, &used) - bound.rms) < 1e-2);
    }
}

/* Every third element is a fill's. y and r have it rounded, further off than others may be. */
static void make_filled(enum kg_tdtype t, double fill)
{
    make(t, 7);
    for (uint64_t i = 0; i < N; i += 3) {
        d->o[i] = (i % 2 == 0 ? -fill : fill) * (1 + 0x1p-13);
        kg_dj_store(t, d->r, i, d->o[i] * (1 + (t == KG_TD_F64 ? 1e-14 : 3e-6)));
        kg_dj_store(t, d->y, i, kg_dj_load(t, d->r, i));
    }
    kg_tbound_asked(t, d->r, d->o, N, &(struct kg_bound_ask){.k = 1, .fill = fill / 2}, &bound);
}

/* What is as large as the fill gives no scale and no error to all others. */
static void a_fill_gives_no_scale(void **state)
{
    (void)state;
    const double fill = 3e4;
    for (size_t k = 0; k < 4; k++) {
        enum kg_tdtype t = kinds[k].dtype;
        uint64_t used;
        double lean = kinds[k].lo * 2;
        make_filled(t, fill);
        assert_true(bound.rms > 0.9 && bound.rms < 1.1 && bound.max_ref < 0.01);
        assert_int_equal(bound.used, N - (N + 2) / 3);
        assert_true(fabs(kg_tcompare_rms(t, d->r, N, fill / 2, &used) - bound.rms) < 1e-2);
        assert_int_equal(used, bound.used);
        assert_true(passes(t, false, false) && passes(t, true, false));
        assert_true(c.rms_ratio < 2); /* nor does its own rounding count */
        set(t, 4, d->o[4] + 0.5);
        assert_false(passes(t, true, false) || passes(t, false, false));
        set(t, 4, d->o[4]);
        set(t, 3, 1.1 * d->o[3]); /* the fill itself is held to its own size */
        assert_false(passes(t, true, false));
        for (uint64_t i = 0; i < N; i++) { /* all others lean, each within its own bound */
            double to = d->o[i] * (1 + 1.4 * lean) + (d->o[i] > 0 ? lean : -lean) / 3;
            set(t, i, i % 3 == 0 ? kg_dj_load(t, d->r, i) : to);
        }
        assert_true(t == KG_TD_F16 || t == KG_TD_BF16 || !passes(t, true, false));
        kg_tbound_of(t, d->r, d->o, N, 1, &bound);
        assert_true(bound.rms > 1e4);
        set(t, 4, d->o[4] + 5e3 * kinds[k].lo);
        assert_true(passes(t, true, false)); /* what it would hide */
    }
}

/* --- 16-bit floats --- */
static bool half_is_nan(uint16_t h)
{
    return (h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0;
}

/* The value by its definition. */
static double half_by_parts(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 0x3ff;
    double v = e == 31 ? INFINITY : e == 0 ? ldexp(m, -24) : ldexp(1024 + m, e - 25);
    return h & 0x8000 ? -v : v;
}

static void every_half_there_and_back(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 65536; k++) {
        uint16_t h = (uint16_t)k;
        float f = kg_half_to_float(h);
        if (half_is_nan(h)) {
            assert_true(isnan(f) && half_is_nan(kg_half_from_float(f)));
            continue;
        }
        assert_true((double)f == half_by_parts(h));
        assert_int_equal(kg_half_from_float(f), h);
    }
}

/* Against the definition: the nearest of the two neighbours, the even one between. */
static void rounding_to_half(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 0x7bff; k++) {
        double a = half_by_parts((uint16_t)k), b = half_by_parts((uint16_t)(k + 1));
        float mid = (float)((a + b) / 2);
        assert_int_equal(kg_half_from_float(mid), k % 2 == 0 ? k : k + 1);
        assert_int_equal(kg_half_from_float(nextafterf(mid, 0)), k);
        assert_int_equal(kg_half_from_float(nextafterf(mid, INFINITY)), k + 1);
        assert_int_equal(kg_half_from_float(-nextafterf(mid, INFINITY)), 0x8000 | (k + 1));
    }
    assert_int_equal(kg_half_from_float(65519.996F), 0x7bff);
    assert_int_equal(kg_half_from_float(65520), 0x7c00);
    assert_int_equal(kg_half_from_float(-1e30F), 0xfc00);
    assert_int_equal(kg_half_from_float(-0.0F), 0x8000);
    assert_int_equal(kg_half_from_float(1e-30F), 0);
}

static void bfloat_there_and_back(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 65536; k++) {
        uint16_t h = (uint16_t)k;
        float f = kg_bf16_to_float(h);
        if (isnan(f)) {
            assert_true(isnan(kg_bf16_to_float(kg_bf16_from_float(f))));
            continue;
        }
        assert_int_equal(kg_bf16_from_float(f), h);
        if (isfinite(f) && k < 0x7f7f) {
            float above = kg_bf16_to_float((uint16_t)(k + 1)), mid = f + (above - f) / 2;
            assert_int_equal(kg_bf16_from_float(mid), k % 2 == 0 ? k : k + 1);
            assert_int_equal(kg_bf16_from_float(nextafterf(mid, 0)), k);
            assert_int_equal(kg_bf16_from_float(nextafterf(mid, INFINITY)), k + 1);
        }
    }
    union {
        uint32_t u;
        float f;
    } nan = {.u = 0x7f800001}; /* its payload is in the half that is cut off */
    assert_true(isnan(kg_bf16_to_float(kg_bf16_from_float(nan.f))));
    assert_int_equal(kg_bf16_from_float(3.4e38F), 0x7f80);
}

/* torch.allclose(torch.tensor([r]), torch.tensor([y]), rtol=t, atol=t), asked of torch 2.x. */
static const struct {
    enum kg_tdtype dtype;
    double r, y, t;
    bool close;
} close_pairs[] = {
    {KG_TD_F32, 1, 1, 1e-4, true},
    {KG_TD_F32, 1, 1.00019, 1e-4, true}, /* t + t |y| */
    {KG_TD_F32, 1, 1.00021, 1e-4, false},
    {KG_TD_F32, 100, 101.015, 1e-2, true}, /* by the candidate's value: 0.01 + 1.01015 */
    {KG_TD_F32, 101.015, 100, 1e-2, false},
    {KG_TD_F32, 0, 1e-4, 1e-4, true}, /* float32(1e-4), and something more */
    {KG_TD_F32, 0, -1.0002e-4, 1e-4, false},
    {KG_TD_F32, INFINITY, INFINITY, 1e-4, true},
    {KG_TD_F32, INFINITY, -INFINITY, 1e-4, false},
    {KG_TD_F32, INFINITY, 3e38, 1, false},
    {KG_TD_F32, 3e38, INFINITY, 1, false},
    {KG_TD_F32, NAN, NAN, 1, false},
    {KG_TD_F32, 1, NAN, 1, false},
    {KG_TD_F64, 1, 1.00019, 1e-4, true},
    {KG_TD_F64, 1, 1.00021, 1e-4, false},
    {KG_TD_F16, 1, 1.015625, 1e-2, true},
    {KG_TD_F16, 1, 1.03125, 1e-2, false},
    {KG_TD_BF16, 1, 1.015625, 1e-2, true},
    /* what is allowed is rounded as well: not close in double */
    {KG_TD_F16, 0.232666015625, 0.220458984375, 1e-2, true},
    {KG_TD_F16, -0.0102386474609375, -0.02044677734375, 1e-2, true},
    {KG_TD_BF16, 0.1591796875, 0.1708984375, 1e-2, true},
    {KG_TD_BF16, 0.057373046875, 0.046875, 1e-2, true},
    {KG_TD_F16, 65504, -65504, 1, false}, /* the difference is no half */
    {KG_TD_I64, 1000, 1001, 1e-2, true},
    {KG_TD_I64, 1000, 1020, 1e-2, false},
    {KG_TD_BOOL, 1, 1, 1, true},
    {KG_TD_BOOL, 1, 0, 1, false},
};

static void close_as_torch_has_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof close_pairs / sizeof *close_pairs; i++) {
        struct kg_allclose k;
        kg_dj_store(close_pairs[i].dtype, d->r, 0, close_pairs[i].r);
        kg_dj_store(close_pairs[i].dtype, d->y, 0, close_pairs[i].y);
        kg_allclose_begin(&k, close_pairs[i].dtype, close_pairs[i].t);
        kg_allclose_add(&k, d->y, d->r, 1);
        kg_allclose_end(&k, &c);
        if (c.pass != close_pairs[i].close || c.n != 1 || c.n_bad != !close_pairs[i].close) {
            fail_msg("%s %g and %g at %g", kg_tdtype_name(close_pairs[i].dtype), close_pairs[i].r,
                     close_pairs[i].y, close_pairs[i].t);
        }
    }
}

/* In parts as in one; what failed is counted from the tensor's start. */
static void closeness_adds_up(void **state)
{
    (void)state;
    struct kg_allclose k;
    make(KG_TD_F32, 3);
    set(KG_TD_F32, 4000, d->o[4000] + 2);
    set(KG_TD_F32, 4500, d->o[4500] - 1);
    for (uint64_t part = 1000; part <= N; part += 4000) {
        kg_allclose_begin(&k, KG_TD_F32, 1e-4);
        for (uint64_t at = 0; at < N; at += part) {
            kg_allclose_add(&k, d->y + 4 * at, d->r + 4 * at, part);
        }
        kg_allclose_end(&k, &c);
        assert_true(!c.pass && !c.bit_equal && !c.nonfinite && c.n == N && c.n_bad == 2);
        assert_int_equal(c.first_bad, 4000);
        assert_true(fabs(c.max_difference - 2) < 1e-5 && c.worst > 1000);
        assert_true(fabs(c.mean_difference - 3.0 / N) < 1e-8);
    }
    set(KG_TD_F32, 10, NAN);
    kg_allclose_begin(&k, KG_TD_F32, 1e-4);
    kg_allclose_add(&k, d->y, d->r, N);
    kg_allclose_end(&k, &c);
    assert_true(c.nonfinite && isnan(c.max_difference) && isnan(c.mean_difference));
    kg_allclose_begin(&k, KG_TD_F32, 1e-4);
    kg_allclose_end(&k, &c);
    assert_true(c.pass && c.n == 0 && c.mean_difference == 0);
}

static int set_up(void **state)
{
    (void)state;
    d = calloc(1, sizeof *d);
    return d == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    free(d);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_answers_pass_and_the_bound_is_that_of_the_dtype),
        cmocka_unit_test(the_middle_of_the_bound),
        cmocka_unit_test(classes_must_agree),
        cmocka_unit_test(all_of_them_together),
        cmocka_unit_test(the_precision_probe),
        cmocka_unit_test(zeros_have_no_scale),
        cmocka_unit_test(integers_are_exact_where_the_references_agree),
        cmocka_unit_test(nothing_is_equal_to_nothing),
        cmocka_unit_test(rms_of_what_is_finite),
        cmocka_unit_test(a_fill_gives_no_scale),
        cmocka_unit_test(every_half_there_and_back),
        cmocka_unit_test(rounding_to_half),
        cmocka_unit_test(bfloat_there_and_back),
        cmocka_unit_test(close_as_torch_has_it),
        cmocka_unit_test(closeness_adds_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
