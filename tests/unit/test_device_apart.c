/* Values of an oracle that are kept as differences: what is found of an answer, piece by piece, is
 * what is found of the whole, and no bound is smaller. On the host's device, with the state of a
 * judge alone. */
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
#include "gym/device/difference.h"
#include "gym/device/quartet.h"

#define N     50021 /* elements: the last piece is short */
#define PIECE 4096  /* bytes of doubles */

static struct kg_dj_state *s;
/* The same answers: in double, and as differences that the host and the device have. */
static struct kg_dj_case *whole, *hosted, *beside;
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
    beside = calloc(1, sizeof *beside);
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
    free(beside);
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

static double *doubles(void)
{
    return (double *)(uintptr_t)whole->side[1].at[0];
}

/* The oracle says so of element i. */
static void oracle_says(enum kg_tdtype t, uint64_t i, double o)
{
    double r = at(t, whole->side[0].at[0], i);
    float d = kg_difference(r, o);
    hosted->side[1].host[0][i] = d;
    ((float *)(uintptr_t)beside->side[1].diff[0])[i] = d;
    doubles()[i] = kg_difference_rejoin(r, d);
}

/* The reference, too. */
static void both_say(enum kg_tdtype t, uint64_t i, double r, double o)
{
    store(t, whole->side[0].at[0], i, r);
    oracle_says(t, i, o);
}

static void answers(enum kg_tdtype t, uint64_t y)
{
    uint64_t size = kg_tdtype_bytes(t), r = block(N * size);
    double unit = t == KG_TD_F64 ? 1e-16 : t == KG_TD_F32 ? 1e-7 : t == KG_TD_F16 ? 1e-3 : 8e-3;
    struct kg_tleaf leaf = {.dtype = t, .rank = 1, .shape = {N}, .bytes = N * size};
    struct kg_dj_case *all[] = {whole, hosted, beside};
    for (int k = 0; k < 3; k++) {
        memset(all[k], 0, sizeof *all[k]);
        all[k]->side[0].leaf[0] = all[k]->side[1].leaf[0] = leaf;
        all[k]->side[0].n = all[k]->side[1].n = 1;
        all[k]->side[0].at[0] = r;
    }
    whole->side[1].at[0] = block(N * sizeof(double));
    hosted->side[1].host[0] = malloc(N * sizeof(float));
    beside->side[1].diff[0] = block(N * sizeof(float));
    for (uint64_t i = 0; i < N; i++) {
        store(t, r, i, kg_rng_unit(&rng) * (i < N / 2 ? 3 : 1) - 1);
        double v = at(t, r, i);
        oracle_says(t, i, v * (1 + unit * (kg_rng_unit(&rng) - 0.5) * (i % 97 == 0 ? 4 : 1)));
        store(t, y, i, v);
    }
}

static void forget_answers(void)
{
    s->dev.ops->free(&s->dev, whole->side[0].at[0]);
    s->dev.ops->free(&s->dev, whole->side[1].at[0]);
    s->dev.ops->free(&s->dev, beside->side[1].diff[0]);
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
    assert_true(a->fill == b->fill);
    assert_int_equal(a->k, b->k);
    assert_true(a->e_ref >= b->e_ref * (1 - 1e-12) && a->e_ref <= 2 * b->e_ref);
}

/* Both ways to compare find the same. */
static bool found(uint64_t y, const struct kg_tbound *b, bool probe)
{
    struct kg_tcompare one, two, other;
    assert_int_equal(kg_dj_against(s, whole, 0, y, b, probe, &one, &err), KG_OK);
    assert_int_equal(kg_dj_against(s, hosted, 0, y, b, probe, &two, &err), KG_OK);
    assert_int_equal(kg_dj_against(s, beside, 0, y, b, probe, &other, &err), KG_OK);
    assert_true(two.n_bad == other.n_bad && two.square == other.square && two.worst == other.worst);
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
    for (size_t k = 0; k < 2 * sizeof types / sizeof *types; k++) {
        enum kg_tdtype t = types[k / 2];
        uint64_t y = block(N * sizeof(double));
        struct kg_tbound a, b;
        answers(t, y);
        whole->fill[0] = hosted->fill[0] = k % 2 == 1 ? 1 : 0; /* some are as large */
        assert_int_equal(kg_dj_bounds(s, whole, 0, 9, &b, &err), KG_OK);
        assert_int_equal(kg_dj_bounds(s, hosted, 0, 9, &a, &err), KG_OK);
        bounds_are_no_smaller(&a, &b);
        assert_true(b.fill == whole->fill[0] && (b.used < N) == (k % 2 == 1));
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

static struct kg_quartet quartet(uint64_t other, uint64_t n)
{
    return (struct kg_quartet){.dtype = KG_TD_F32,
                               .wide = KG_TD_F64,
                               .n = n,
                               .y = (void *)(uintptr_t)other,
                               .r = (void *)(uintptr_t)whole->side[0].at[0],
                               .o = doubles(),
                               .a = (void *)(uintptr_t)other};
}

/* Elements that are far off are the same ones in pieces. Where the host is spared a look because of
 * their number, it would have said no; where it says yes, it is not spared. */
static void what_is_far_off_is_counted(void **state)
{
    (void)state;
    uint64_t y = block(N * sizeof(float)), far[3];
    struct kg_dj_case *all[] = {whole, hosted, beside};
    struct kg_limits_of limits;
    struct kg_tbound b;
    int looks = 0, spared = 0;
    for (uint64_t off = 0; off < N; off = off * 3 + 1) {
        const uint64_t row = off % 2 == 0 ? 1 : 16, n = N / row * row;
        answers(KG_TD_F32, y);
        assert_int_equal(kg_dj_bounds(s, whole, 0, 1, &b, &err), KG_OK);
        for (uint64_t i = 0; i < off; i++) {
            store(KG_TD_F32, y, i, at(KG_TD_F32, y, i) + b.rms);
        }
        store(KG_TD_F32, y, N - 1, NAN); /* such an element is no choice */
        kg_quartet_far(KG_TD_F32, &b, &limits);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(kg_dj_far(s, all[k], 0, y, &limits, &far[k], &err), KG_OK);
            assert_int_equal(far[k], off);
        }
        struct kg_quartet q = quartet(y, n);
        bool jumps = kg_quartet_jumps(&q, &b, row, NULL, NULL);
        assert_true(!jumps || !kg_quartet_spares(KG_DJ_JUMPS, n, row, off));
        assert_true(off > 0 || kg_quartet_spares(KG_DJ_SEEN, n, row, off));
        looks += jumps;
        spared += kg_quartet_spares(KG_DJ_JUMPS, n, row, off);
        /* FLOAT differs, and OTHER is as ORACLE */
        q.r = (void *)(uintptr_t)y;
        q.a = (void *)(uintptr_t)whole->side[0].at[0];
        bool settles = kg_quartet_settle(&q, &b, row) > 0;
        assert_true(!settles || !kg_quartet_spares(KG_DJ_SETTLE, n, row, off));
        spared += kg_quartet_spares(KG_DJ_SETTLE, n, row, off);
        forget_answers();
    }
    assert_true(looks >= 2 && spared >= 3);
    s->dev.ops->free(&s->dev, y);
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

/* Elements of a fill do not count there. Where nearly all are as large, it is no fill. */
static void a_fill_in_pieces(void **state)
{
    (void)state;
    uint64_t y = block(N * sizeof(float));
    struct kg_tbound a, b;
    answers(KG_TD_F32, y);
    for (uint64_t i = 0; i < PIECE / 4; i++) { /* two pieces are nothing but a fill */
        both_say(KG_TD_F32, i, -1e9, -1e9);
        store(KG_TD_F32, y, i, -1e9 + 64);
    }
    whole->fill[0] = hosted->fill[0] = 5e8;
    assert_int_equal(kg_dj_bounds(s, whole, 0, 1, &b, &err), KG_OK);
    assert_int_equal(kg_dj_bounds(s, hosted, 0, 1, &a, &err), KG_OK);
    bounds_are_no_smaller(&a, &b);
    assert_true(b.fill == 5e8 && b.rms < 2 && found(y, &b, false));
    b.max_ref = b.rms; /* no element is at fault by itself, but all together */
    b.e_ref = 1e-4;
    for (uint64_t i = PIECE / 4; i < N; i++) {
        store(KG_TD_F32, y, i, at(KG_TD_F32, whole->side[0].at[0], i) + 4e-5 * b.rms);
    }
    assert_false(found(y, &b, false));
    whole->fill[0] = 1e-6;
    assert_int_equal(kg_dj_bounds(s, whole, 0, 1, &b, &err), KG_OK);
    assert_true(b.fill == 0 && b.rms > 1e8);
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
        both_say(KG_TD_F32, i, 1e-3, 0);
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

/* What differs by how much, and of which class, comes back. */
static void differences_are_joined_again(void **state)
{
    (void)state;
    static const double of[] = {0,    -0.0,     1,         -3.5, 1e-30,    3e38, -3e38,
                                1e30, INFINITY, -INFINITY, NAN,  0x1p-149, 7e4,  -1e-7};
    size_t n = sizeof of / sizeof *of;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            double r = of[i], o = of[k], back = kg_difference_rejoin(r, kg_difference(r, o));
            if (isfinite(o) && isfinite(r)) {
                assert_true(fabs(back - o) <= fabs(o - r) * 0x1p-24 + 0x1p-150 ||
                            fabs(o - r) > 3.4e38);
            } else if (isfinite(o)) {
                assert_true(isfinite(back));
            } else {
                assert_true(back == o || (isnan(back) && isnan(o)));
            }
            assert_true(isfinite(back) == isfinite(o));
        }
    }
}

/* --- answers that are taken --- */

static struct kg_dj_port port;
static struct kg_dj_claims claims;

static void take(enum kg_dj_side side, enum kg_tdtype t, uint64_t n, const double *v)
{
    struct kg_digest digest[KG_TWIRE_LEAVES] = {{{0}}};
    struct kg_dj_report report = {.said = KG_TA_OK};
    uint64_t size = kg_tdtype_bytes(t);
    claims.n = 1;
    claims.leaf[0] =
        (struct kg_tleaf){.dtype = t, .rank = 1, .shape = {(int64_t)n}, .bytes = n * size};
    for (uint64_t i = 0; i < n; i++) {
        store(t, port.out, i, v[i]);
    }
    bool oracle = side == KG_DJ_ORACLE;
    assert_int_equal(kg_dj_answer_take(s, &whole->side[oracle], oracle, &whole->side[!oracle],
                                       &port, &claims, digest, 0, 0, &report, &err),
                     KG_OK);
}

static void oracle_is(const double *want, const double *r)
{
    double *got = malloc(N * sizeof *got);
    assert_true(kg_dj_is_apart(&whole->side[1], 0) && whole->side[1].at[0] == 0);
    assert_int_equal(kg_dj_apart_read(s, whole, 0, got, &err), KG_OK);
    for (uint64_t i = 0; i < N; i++) {
        assert_true(fabs(got[i] - want[i]) <= fabs(want[i] - r[i]) * 0x1p-23 + 1e-15);
    }
    free(got);
}

/* FLOAT may be taken anew: the oracle says what it said. */
static void the_oracle_stays_what_it_is(void **state)
{
    (void)state;
    static const enum kg_tdtype types[] = {KG_TD_F32, KG_TD_F16, KG_TD_F64};
    double *r = malloc(N * sizeof *r), *o = malloc(N * sizeof *o), *w = malloc(N * sizeof *w);
    port.out = block(N * sizeof(double));
    s->apart_over = PIECE;
    for (int k = 0; k < 6; k++) {
        enum kg_tdtype t = types[k / 2];
        s->keeps = k % 2 ? KG_DJ_APART_ON_HOST : KG_DJ_APART;
        memset(whole, 0, sizeof *whole);
        for (uint64_t i = 0; i < N; i++) {
            store(t, port.out, i, 2 * kg_rng_unit(&rng) - 1);
            r[i] = at(t, port.out, i);
            o[i] = r[i] + 1e-5 * (kg_rng_unit(&rng) - 0.5);
        }
        take(KG_DJ_FLOAT, t, N, r);
        take(KG_DJ_ORACLE, KG_TD_F64, N, o);
        assert_true((whole->side[1].host[0] != NULL) == (k % 2 == 1));
        oracle_is(o, r);
        for (uint64_t i = 0; i < N; i++) {
            w[i] = r[N - 1 - i];
        }
        take(KG_DJ_FLOAT, t, N, w);
        assert_true(whole->side[0].there && whole->side[1].there);
        assert_true(at(t, whole->side[0].at[0], 7) == w[7]);
        oracle_is(o, w);
        assert_int_equal(kg_dj_apart_write(s, whole, 0, r, &err), KG_OK);
        oracle_is(r, w);
        take(KG_DJ_FLOAT, t, N - 1, w); /* another answer altogether */
        assert_true(whole->side[0].there && !whole->side[1].there);
        take(KG_DJ_ORACLE, KG_TD_F64, N, o);
        assert_false(kg_dj_is_apart(&whole->side[1], 0));
        kg_dj_answer_drop(s, &whole->side[0]);
        kg_dj_answer_drop(s, &whole->side[1]);
    }
    s->keeps = KG_DJ_DOUBLES;
    kg_dj_hosted_drop_spare(s);
    s->dev.ops->free(&s->dev, port.out);
    free(r);
    free(o);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_find_what_the_whole_finds),
        cmocka_unit_test(the_rms_is_of_the_whole),
        cmocka_unit_test(a_fill_in_pieces),
        cmocka_unit_test(a_piece_without_a_scale),
        cmocka_unit_test(a_block_is_used_again),
        cmocka_unit_test(differences_are_joined_again),
        cmocka_unit_test(the_oracle_stays_what_it_is),
        cmocka_unit_test(what_is_far_off_is_counted),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
