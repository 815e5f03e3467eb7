/* Values of an oracle that the host keeps: what is found of an answer, piece by piece, is what is
 * found of the whole, and no bound is smaller. On the host's device, with the state of a judge
 * alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gym/device/device_law.h"
#include "gym/device/device_state.h"

#define N     50021 /* elements: the last piece is short */
#define PIECE 4096  /* bytes of doubles */

static struct kg_dj_state *s;
static struct kg_dj_case *whole, *hosted;
static struct kg_err err;
static struct kg_rng rng;

static uint64_t block(uint64_t bytes)
{
    uint64_t at;
    assert_int_equal(s->dev.ops->alloc(&s->dev, bytes, &at, &err), KG_OK);
    return at;
}

static int setup(void **state)
{
    (void)state;
    s = calloc(1, sizeof *s);
    whole = calloc(1, sizeof *whole);
    hosted = calloc(1, sizeof *hosted);
    assert_int_equal(kg_dj_state_init(s, "cpu", 1 << 30, &err), KG_OK);
    s->part = 2 * PIECE;
    struct kg_key key = {.w = {7, 11}};
    kg_rng_init(&rng, key, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kg_rng_deinit(&rng);
    kg_dj_state_deinit(s);
    free(s);
    free(whole);
    free(hosted);
    return 0;
}

static void store(enum kg_tdtype t, uint64_t at, uint64_t i, double v)
{
    void *to = (void *)(uintptr_t)at;
    if (t == KG_TD_F64) {
        ((double *)to)[i] = v;
    } else if (t == KG_TD_F32) {
        ((float *)to)[i] = (float)v;
    } else {
        ((uint16_t *)to)[i] =
            t == KG_TD_F16 ? kg_half_from_float((float)v) : kg_bf16_from_float((float)v);
    }
}

static double at(enum kg_tdtype t, uint64_t from, uint64_t i)
{
    return kg_dj_load(t, (const void *)(uintptr_t)from, i);
}

/* The same answers of reference and oracle, kept by the device and by the host. */
static void answers(enum kg_tdtype t, uint64_t y)
{
    uint64_t size = kg_tdtype_bytes(t), r = block(N * size), o = block(N * sizeof(double));
    double *host = malloc(N * sizeof *host);
    double unit = t == KG_TD_F64 ? 1e-16 : t == KG_TD_F32 ? 1e-7 : t == KG_TD_F16 ? 1e-3 : 8e-3;
    for (uint64_t i = 0; i < N; i++) {
        double v = kg_rng_unit(&rng) * (i < N / 2 ? 3 : 1) - 1;
        store(t, r, i, v);
        host[i] = at(t, r, i) * (1 + unit * (kg_rng_unit(&rng) - 0.5) * (i % 97 == 0 ? 4 : 1));
        store(t, y, i, at(t, r, i));
    }
    memcpy((void *)(uintptr_t)o, host, N * sizeof *host);
    struct kg_tleaf leaf = {.dtype = t, .rank = 1, .shape = {N}, .bytes = N * size};
    struct kg_dj_case *both[] = {whole, hosted};
    for (int k = 0; k < 2; k++) {
        memset(both[k], 0, sizeof *both[k]);
        both[k]->side[0].leaf[0] = both[k]->side[1].leaf[0] = leaf;
        both[k]->side[0].n = both[k]->side[1].n = 1;
        both[k]->side[0].at[0] = r;
    }
    whole->side[1].at[0] = o;
    hosted->side[1].host[0] = host;
}

static void forget_answers(void)
{
    s->dev.ops->free(&s->dev, whole->side[0].at[0]);
    s->dev.ops->free(&s->dev, whole->side[1].at[0]);
    free(hosted->side[1].host[0]);
}

static void near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-12 * fabs(b));
}

static void bounds_are_no_smaller(const struct kg_tbound *a, const struct kg_tbound *b)
{
    near(a->rms, b->rms);
    near(a->rms_ref, b->rms_ref);
    assert_true(a->max_ref == b->max_ref && a->used == b->used && a->disagree == b->disagree);
    assert_true(a->k == b->k && a->e_ref >= b->e_ref && a->e_ref <= 2 * b->e_ref);
}

/* Both ways to compare find the same. */
static bool found(uint64_t y, const struct kg_tbound *b, bool probe)
{
    struct kg_tcompare one, two;
    assert_int_equal(kg_dj_against(s, whole, 0, y, b, probe, &one, &err), KG_OK);
    assert_int_equal(kg_dj_against(s, hosted, 0, y, b, probe, &two, &err), KG_OK);
    assert_true(one.pass == two.pass && one.n == two.n && one.n_bad == two.n_bad);
    assert_true(one.first_bad == two.first_bad || one.n_bad == 0);
    assert_true(one.n_bad == 0 || (one.want == two.want && (one.got == two.got || isnan(one.got))));
    assert_true(one.nonfinite == two.nonfinite && one.rms_failed == two.rms_failed);
    assert_true(one.bit_equal == two.bit_equal && one.worst == two.worst);
    near(two.rms_ratio, one.rms_ratio);
    return one.pass;
}

static void pieces_find_what_the_whole_finds(void **state)
{
    (void)state;
    static const enum kg_tdtype types[] = {KG_TD_F32, KG_TD_F64, KG_TD_F16, KG_TD_BF16};
    static const uint64_t places[] = {0, PIECE / 8 - 1, PIECE / 8, N / 2, N - 1};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        enum kg_tdtype t = types[k];
        uint64_t y = block(N * sizeof(double));
        struct kg_tbound a, b;
        answers(t, y);
        assert_int_equal(kg_dj_bounds(s, whole, 0, 9, &b, &err), KG_OK);
        assert_int_equal(kg_dj_bounds(s, hosted, 0, 9, &a, &err), KG_OK);
        bounds_are_no_smaller(&a, &b);
        assert_true(found(y, &b, false) && found(y, &b, true));
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            double right = at(t, y, places[p]);
            store(t, y, places[p], right + 0.5);
            assert_false(found(y, &b, false));
            store(t, y, places[p], NAN);
            assert_false(found(y, &b, false));
            store(t, y, places[p], right);
        }
        for (uint64_t i = 0; i < N; i++) { /* all lean the same way */
            store(t, y, i, at(t, y, i) * (1 + (t == KG_TD_F64 ? 0x1p-29 : 1) * 2e-5));
        }
        (void)found(y, &b, false);
        forget_answers();
        s->dev.ops->free(&s->dev, y);
    }
}

/* Each element meets its own bound, and only the sum over all pieces tells. */
static void the_rms_is_of_the_whole(void **state)
{
    (void)state;
    uint64_t y = block(N * sizeof(float));
    struct kg_tbound b;
    answers(KG_TD_F32, y);
    assert_int_equal(kg_dj_bounds(s, whole, 0, 1, &b, &err), KG_OK);
    b.max_ref = b.rms; /* no element is at fault by itself */
    b.e_ref = 1e-4;
    for (uint64_t i = 0; i < 2 * PIECE / 8; i++) { /* two pieces are off by far, the others exact */
        store(KG_TD_F32, y, i, at(KG_TD_F32, y, i) + 3e-5 * b.rms);
    }
    assert_true(found(y, &b, false));
    for (uint64_t i = 0; i < N; i++) {
        store(KG_TD_F32, y, i, at(KG_TD_F32, whole->side[0].at[0], i) + 3e-5 * b.rms);
    }
    struct kg_tcompare c;
    assert_int_equal(kg_dj_against(s, hosted, 0, y, &b, false, &c, &err), KG_OK);
    assert_true(c.rms_failed && !c.pass);
    assert_false(found(y, &b, false));
    forget_answers();
    s->dev.ops->free(&s->dev, y);
}

/* Errors in one piece alone count in the bound of the whole. */
static void a_piece_without_a_scale(void **state)
{
    (void)state;
    uint64_t y = block(N * sizeof(float));
    struct kg_tbound a, b;
    answers(KG_TD_F32, y);
    for (uint64_t i = 0; i < PIECE / 8; i++) { /* the oracle says 0 there, the reference does not */
        hosted->side[1].host[0][i] = 0;
        ((double *)(uintptr_t)whole->side[1].at[0])[i] = 0;
        store(KG_TD_F32, whole->side[0].at[0], i, 1e-3);
    }
    assert_int_equal(kg_dj_bounds(s, whole, 0, 1, &b, &err), KG_OK);
    assert_int_equal(kg_dj_bounds(s, hosted, 0, 1, &a, &err), KG_OK);
    bounds_are_no_smaller(&a, &b);
    assert_true(a.e_ref * a.rms > 0.9e-3);
    forget_answers();
    s->dev.ops->free(&s->dev, y);
}

/* What one answer leaves is the next one's, if it is large enough; the larger of two stays. */
static void a_block_is_used_again(void **state)
{
    (void)state;
    struct kg_dj_answer a = {0}, b = {0};
    assert_int_equal(kg_dj_hosted_room(s, &a, 4000, &err), KG_OK);
    void *large = a.host_block;
    assert_int_equal(kg_dj_hosted_room(s, &b, 1000, &err), KG_OK);
    kg_dj_hosted_drop(s, &a);
    kg_dj_hosted_drop(s, &b);
    assert_true(a.host_block == NULL && s->spare == large && s->spare_cap == 4000);
    assert_int_equal(kg_dj_hosted_room(s, &b, 3000, &err), KG_OK);
    assert_true(b.host_block == large && b.host_cap == 4000 && s->spare == NULL);
    kg_dj_hosted_drop(s, &b);
    assert_int_equal(kg_dj_hosted_room(s, &b, 5000, &err), KG_OK);
    assert_true(b.host_cap == 5000 && s->spare_cap == 0);
    assert_int_equal(kg_dj_hosted_room(s, &b, KG_DJM_MOST + 1, &err), KG_E_HOST);
    assert_true(b.host_block == NULL && b.host_cap == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_find_what_the_whole_finds),
        cmocka_unit_test(the_rms_is_of_the_whole),
        cmocka_unit_test(a_piece_without_a_scale),
        cmocka_unit_test(a_block_is_used_again),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
