/* Value laws and the comparison on the CUDA row against the host's: the same plan, the same ends,
 * the same distribution; the same verdict on the same numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_rig.h"
#include "gym/device/device_law.h"
#include "gym/verify/limits.h"

static const enum kg_tdtype dtypes[] = {KG_TD_F32, KG_TD_F64, KG_TD_F16, KG_TD_BF16, KG_TD_I64,
                                        KG_TD_I32, KG_TD_I16, KG_TD_I8,  KG_TD_U8,   KG_TD_BOOL};
#define DTYPES (sizeof dtypes / sizeof *dtypes)

/* ---- laws ---- */

static void *filled(struct rig *r, enum kg_tdtype t, uint64_t n, const struct kg_dj_law *law)
{
    uint64_t bytes = n * kg_tdtype_bytes(t), at = rig_alloc(r, bytes + 64);
    unsigned char *v = malloc(bytes + 64), guard[64];
    r->d.ops->pattern(&r->d, at, bytes + 64, 0x4141414141414141u);
    r->d.ops->fill(&r->d, at, t, n, law);
    assert_int_equal(r->d.ops->download(&r->d, v, at, bytes + 64, &r->err), KG_OK);
    memset(guard, 0x41, sizeof guard);
    assert_memory_equal(v + bytes, guard, sizeof guard); /* nothing behind the end */
    r->d.ops->free(&r->d, at);
    return v;
}

struct facts {
    double mean, sd, least, most, zeros;
};

static struct facts facts_of(enum kg_tdtype t, const void *v, uint64_t n)
{
    struct facts f = {.least = INFINITY, .most = -INFINITY};
    for (uint64_t i = 0; i < n; i++) {
        double x = kg_dj_load(t, v, i);
        f.mean += x / (double)n;
        f.least = x < f.least ? x : f.least;
        f.most = x > f.most ? x : f.most;
        f.zeros += x == 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        double e = kg_dj_load(t, v, i) - f.mean;
        f.sd += e * e / (double)n;
    }
    f.sd = sqrt(f.sd);
    f.zeros /= (double)n;
    return f;
}

/* Within six standard errors of each other; a heavy tail has none worth the name. */
static void assert_alike(struct facts a, struct facts b, double n, uint32_t kind)
{
    if (kind == KG_DJ_HEAVY || kind == KG_DJ_SPIKE) {
        assert_true(fabs(a.most) <= 3e4 + 1 && fabs(a.least) <= 3e4 + 1);
        return;
    }
    double unit = 6 * fmax(a.sd, b.sd) * sqrt(2 / n);
    assert_true(fabs(a.mean - b.mean) <= unit);
    assert_true(fabs(a.sd - b.sd) <= unit);
    assert_true(fabs(a.zeros - b.zeros) <= 6 * sqrt(0.5 / n));
}

static void every_law_has_the_hosts_distribution(void **state)
{
    struct rig *r = *state;
    uint64_t n = 20011;
    for (size_t t = 0; t < DTYPES; t++) {
        for (uint32_t kind = 0; kind < KG_DJ_KINDS; kind++) {
            struct kg_dj_law law = {kind, r->key, kind + 100 * t, -2.5, 7, KG_DJ_EVEN};
            void *a = filled(r, dtypes[t], n, &law), *b = malloc(8 * n);
            kg_dj_law_fill(dtypes[t], b, n, &law);
            if (kind == KG_DJ_CONSTANT || kind == KG_DJ_EQUAL) {
                assert_memory_equal(a, b, n * kg_tdtype_bytes(dtypes[t]));
            } else {
                struct facts fa = facts_of(dtypes[t], a, n), fb = facts_of(dtypes[t], b, n);
                assert_alike(fa, fb, (double)n, kind);
                bool bounded = kind == KG_DJ_UNIFORM || kind == KG_DJ_INTEGER;
                assert_true(!bounded || (fa.least >= -2.5 && fa.most < 7));
            }
            free(a);
            free(b);
        }
    }
}

static void full_significands_are_full(void **state)
{
    struct rig *r = *state;
    static const int digits[] = {23, 52, 10, 7}; /* of the floating dtypes */
    uint64_t n = 5003;
    for (size_t t = 0; t < 4; t++) {
        struct kg_dj_law law = {KG_DJ_FULL, r->key, 8, 0, 1, KG_DJ_EVEN};
        void *v = filled(r, dtypes[t], n, &law);
        for (uint64_t i = 0; i < n; i++) {
            double a = fabs(kg_dj_load(dtypes[t], v, i));
            assert_true(a >= 1 && a < 2 && fmod(ldexp(a, digits[t]), 2) == 1);
        }
        free(v);
    }
}

static void a_uniform_draw_never_is_its_upper_end(void **state)
{
    struct rig *r = *state;
    uint64_t n = 1 << 17;
    for (size_t t = 0; t < 4; t++) { /* bf16 has few values: rounding would reach the end */
        struct kg_dj_law law = {KG_DJ_UNIFORM, r->key, 7, 0.1, 0.7, KG_DJ_EVEN};
        void *v = filled(r, dtypes[t], n, &law);
        struct facts f = facts_of(dtypes[t], v, n);
        assert_true(f.least >= 0.1 && f.most < 0.7 && f.most > 0.68);
        free(v);
    }
}

static void the_spike_is_where_the_host_puts_it(void **state)
{
    struct rig *r = *state;
    for (uint64_t stream = 0; stream < 16; stream++) {
        uint64_t n = 1000 + stream;
        struct kg_dj_law law = {KG_DJ_SPIKE, r->key, stream, -1, 1, KG_DJ_EVEN};
        float *a = filled(r, KG_TD_F32, n, &law), *b = malloc(4 * n);
        kg_dj_law_fill(KG_TD_F32, b, n, &law);
        int spikes = 0;
        for (uint64_t i = 0; i < n; i++) {
            bool huge = fabsf(a[i]) > 1;
            spikes += huge;
            assert_true(!huge || a[i] == b[i]);
        }
        assert_int_equal(spikes, 1);
        free(a);
        free(b);
    }
}

static void keys_and_streams_separate(void **state)
{
    struct rig *r = *state;
    uint64_t n = 4099;
    struct kg_dj_law law = {KG_DJ_INTEGER, r->key, 1, 0, 1e9, KG_DJ_EVEN}, again = law, other = law,
                     key = law;
    other.stream = 2;
    key.key.w[1] ^= 1;
    int64_t *a = filled(r, KG_TD_I64, n, &law), *b = filled(r, KG_TD_I64, n, &again),
            *c = filled(r, KG_TD_I64, n, &other), *d = filled(r, KG_TD_I64, n, &key);
    int same = 0;
    assert_memory_equal(a, b, 8 * n);
    for (uint64_t i = 0; i < n; i++) {
        same += (a[i] == c[i]) + (a[i] == d[i]) + (i > 0 && a[i] == a[i - 1]);
    }
    assert_true(same <= 1);
    free(a);
    free(b);
    free(c);
    free(d);
}

/* The block function itself, against RFC 8439's shape with 12 rounds: the first words of a draw of
 * whole 64-bit numbers. Computed here by the plain definition. */
static uint32_t rotl(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

static void quarter(uint32_t *s, int a, int b, int c, int d)
{
    s[a] += s[b], s[d] = rotl(s[d] ^ s[a], 16);
    s[c] += s[d], s[b] = rotl(s[b] ^ s[c], 12);
    s[a] += s[b], s[d] = rotl(s[d] ^ s[a], 8);
    s[c] += s[d], s[b] = rotl(s[b] ^ s[c], 7);
}

static void draws_are_chacha(void **state)
{
    struct rig *r = *state;
    struct kg_dj_law law = {
        KG_DJ_INTEGER, {{0x0706050403020100u, 0x0f0e0d0c0b0a0908u}}, 0x1122334455667788u, 0, 0x1p62,
        KG_DJ_EVEN};
    int64_t *got = filled(r, KG_TD_I64, 16, &law);
    for (uint32_t block = 0; block < 2; block++) {
        uint32_t s[16] = {0x61707865, 0x3120646e, 0x79622d36, 0x6b206574, 0x03020100, 0x07060504,
                          0x0b0a0908, 0x0f0e0d0c, 0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c,
                          2 * block,  0,          0x55667788, 0x11223344};
        uint32_t x[16];
        memcpy(x, s, sizeof x);
        for (int i = 0; i < 6; i++) {
            quarter(x, 0, 4, 8, 12), quarter(x, 1, 5, 9, 13), quarter(x, 2, 6, 10, 14);
            quarter(x, 3, 7, 11, 15), quarter(x, 0, 5, 10, 15), quarter(x, 1, 6, 11, 12);
            quarter(x, 2, 7, 8, 13), quarter(x, 3, 4, 9, 14);
        }
        for (int i = 0; i < 8; i++) {
            uint64_t w = (uint64_t)(x[2 * i + 1] + s[2 * i + 1]) << 32 | (x[2 * i] + s[2 * i]);
            assert_int_equal(got[8 * block + (uint32_t)i], (int64_t)(w >> 2));
        }
    }
    free(got);
}

static void narrowing_rounds_as_on_the_host(void **state)
{
    struct rig *r = *state;
    struct kg_rng rng;
    kg_rng_init(&rng, r->key, 5);
    for (int i = 0; i < 3000; i++) {
        uint64_t bits = kg_rng_u64(&rng);
        double x = ldexp(1 + kg_rng_unit(&rng), (int)(bits % 44) - 27) * (bits >> 63 ? 1 : -1);
        x = i == 0 ? 65520 : i == 1 ? 65519.99 : i == 2 ? 0x1p-25 : i == 3 ? 3.4e38 : x;
        for (int k = 0; k < 4; k++) {
            struct kg_dj_law law = {KG_DJ_CONSTANT, r->key, 1, x, 0, KG_DJ_EVEN};
            uint64_t at = rig_alloc(r, 8), got = 0, want = 0;
            r->d.ops->fill(&r->d, at, dtypes[k], 1, &law);
            assert_int_equal(
                r->d.ops->download(&r->d, &got, at, kg_tdtype_bytes(dtypes[k]), &r->err), KG_OK);
            kg_dj_store(dtypes[k], &want, 0, x);
            assert_int_equal(got, want);
            r->d.ops->free(&r->d, at);
        }
    }
    kg_rng_deinit(&rng);
}

/* ---- comparison ---- */

struct trio { /* answer, reference, oracle, on both sides */
    void *y, *r, *o;
    uint64_t dy, dr, d_o;
    enum kg_tdtype t, to;
    uint64_t n;
    double fill;
};

static uint64_t put(struct rig *r, const void *v, uint64_t bytes)
{
    uint64_t at = rig_alloc(r, bytes);
    r->d.ops->upload(&r->d, at, v, bytes);
    return at;
}

static void trio_make(struct trio *x, enum kg_tdtype t, uint64_t n)
{
    *x = (struct trio){.t = t, .n = n, .to = kg_tdtype_floating(t) ? KG_TD_F64 : t};
    x->y = calloc(n + 1, 8);
    x->r = calloc(n + 1, 8);
    x->o = calloc(n + 1, 8);
}

static void trio_send(struct rig *r, struct trio *x)
{
    uint64_t bytes = x->n * kg_tdtype_bytes(x->t);
    x->dy = put(r, x->y, bytes);
    x->dr = put(r, x->r, bytes);
    x->d_o = put(r, x->o, x->n * kg_tdtype_bytes(x->to));
}

static void trio_free(struct rig *r, struct trio *x)
{
    free(x->y);
    free(x->r);
    free(x->o);
    r->d.ops->free(&r->d, x->dy);
    r->d.ops->free(&r->d, x->dr);
    r->d.ops->free(&r->d, x->d_o);
}

static void near(double a, double b)
{
    bool same = a == b || (isnan(a) && isnan(b));
    assert_true(same || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)));
}

static void assert_same_bounds(struct rig *r, const struct trio *x, struct kg_tbound *out)
{
    struct kg_tbound a, b, p = {0};
    struct kg_bound_ask ask = {.k = 37, .fill = x->fill};
    assert_int_equal(r->d.ops->bounds(&r->d, x->t, x->dr, x->d_o, x->n, &ask, &a, &r->err), KG_OK);
    kg_tbound_asked(x->t, x->r, x->o, x->n, &ask, &b);
    near(a.rms, b.rms);
    near(a.e_ref, b.e_ref);
    near(a.rms_ref, b.rms_ref);
    assert_true(a.max_ref == b.max_ref);
    assert_int_equal(a.k, b.k);
    assert_int_equal(a.disagree, b.disagree);
    assert_int_equal(a.used, b.used);
    assert_true(a.fill == b.fill);
    uint64_t used;
    double q = kg_tcompare_rms(x->t, x->y, x->n, x->fill, &used);
    assert_int_equal(r->d.ops->rms(&r->d, x->t, x->dy, x->n, x->fill, &p, &r->err), KG_OK);
    near(p.rms, q);
    assert_true(x->fill == 0 || p.used == used);
    *out = b;
}

/* Both count the same elements that are far off. */
static void assert_as_far(struct rig *r, const struct trio *x, const struct kg_tbound *bound,
                          bool probe)
{
    struct kg_limits_of l;
    uint64_t a, b;
    if (!kg_tdtype_floating(x->t)) {
        return;
    }
    kg_tcompare_limits(x->t, bound, true, probe, &l);
    assert_int_equal(r->d.ops->far(&r->d, x->t, x->dy, x->d_o, x->n, &l, &a, &r->err), KG_OK);
    assert_int_equal(kg_device_cpu.far(NULL, x->t, (uint64_t)(uintptr_t)x->y,
                                       (uint64_t)(uintptr_t)x->o, x->n, &l, &b, &r->err),
                     KG_OK);
    assert_int_equal(a, b);
}

/* Both verdicts about one trio, against the oracle, as a probe, and without an oracle. */
static bool assert_same_verdict(struct rig *r, const struct trio *x, const struct kg_tbound *bound)
{
    bool passes = false;
    for (int mode = 0; mode < 3; mode++) {
        struct kg_tcompare a, b;
        bool oracle = mode < 2, probe = mode == 1;
        assert_int_equal(r->d.ops->compare(&r->d, x->t, x->dy, x->dr, oracle ? x->d_o : 0, x->n,
                                           bound, probe, &a, &r->err),
                         KG_OK);
        kg_tcompare_run(x->t, x->y, x->r, oracle ? x->o : NULL, x->n, bound, probe, &b);
        assert_int_equal(a.pass, b.pass);
        assert_int_equal(a.n, b.n);
        assert_int_equal(a.n_bad, b.n_bad);
        assert_int_equal(a.first_bad, b.first_bad);
        assert_int_equal(a.nonfinite, b.nonfinite);
        assert_int_equal(a.rms_failed, b.rms_failed);
        assert_int_equal(a.bit_equal, b.bit_equal);
        near(a.got, b.got);
        near(a.want, b.want);
        near(a.rms_ratio, b.rms_ratio);
        /* the host leaves the worst of blocks out that pass as a whole and are tamer than what it
         * saw before: where it looked, they agree */
        assert_true(a.worst == b.worst || fabs(a.worst - b.worst) <= 1e-9 * a.worst || b.pass);
        passes = mode == 0 ? a.pass : passes;
        assert_as_far(r, x, bound, probe);
    }
    return passes;
}

static double unit_roundoff(enum kg_tdtype t)
{
    return t == KG_TD_F64 ? 0x1p-53 : t == KG_TD_F32 ? 0x1p-24 : t == KG_TD_F16 ? 0x1p-11 : 0x1p-8;
}

/* An oracle of normal values, a reference and an answer off by a few roundings; `wrong` elements of
 * the answer are off by far more. */
static void trio_random(struct rig *r, struct trio *x, enum kg_tdtype t, uint64_t n, double off,
                        uint64_t wrong, uint64_t seed)
{
    struct kg_rng rng;
    struct kg_dj_law law = {KG_DJ_NORMAL, r->key, seed, 0.25, 2, KG_DJ_EVEN};
    trio_make(x, t, n);
    kg_dj_law_fill(KG_TD_F64, x->o, n, &law);
    kg_rng_init(&rng, r->key, seed + 1);
    for (uint64_t i = 0; i < n; i++) {
        double o = ((double *)x->o)[i], u = unit_roundoff(t);
        kg_dj_store(t, x->r, i, o + 2 * u * (kg_rng_unit(&rng) - 0.5));
        kg_dj_store(t, x->y, i, o + off * u * (kg_rng_unit(&rng) - 0.5));
    }
    for (uint64_t i = 0; i < wrong; i++) {
        kg_dj_store(t, x->y, kg_rng_below(&rng, n), 17 + (double)i);
    }
    kg_rng_deinit(&rng);
}

static void floats_get_the_hosts_verdict(void **state)
{
    struct rig *r = *state;
    static const uint64_t sizes[] = {1, 7, 255, 256, 257, 10000, 70001};
    int passed = 0, failed = 0;
    for (size_t t = 0; t < 4; t++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (int kind = 0; kind < 4; kind++) {
                struct trio x;
                struct kg_tbound bound;
                double off = kind == 1 ? 3e5 : 2;
                trio_random(r, &x, dtypes[t], sizes[i], off, kind >= 2 ? (uint64_t)kind - 1 : 0,
                            100 * t + i);
                x.fill = i % 2 == 1 ? 2 : 0; /* some are as large */
                trio_send(r, &x);
                assert_same_bounds(r, &x, &bound);
                bool pass = assert_same_verdict(r, &x, &bound);
                passed += pass;
                failed += !pass;
                trio_free(r, &x);
            }
        }
    }
    assert_true(passed >= 20 && failed >= 40);
}

static void infinities_and_nans_get_the_hosts_verdict(void **state)
{
    struct rig *r = *state;
    for (size_t t = 0; t < 4; t++) {
        for (int kind = 0; kind < 8; kind++) {
            struct trio x;
            struct kg_tbound bound;
            uint64_t n = 3001;
            trio_random(r, &x, dtypes[t], n, 2, 0, 7 + t);
            for (uint64_t i = 5; i < n; i += 500) { /* agreement: all three */
                double v = i % 3 ? INFINITY : i % 2 ? -INFINITY : NAN;
                kg_dj_store(x.t, x.r, i, v);
                kg_dj_store(x.t, x.y, i, v);
                ((double *)x.o)[i] = v;
            }
            double odd = kind & 1 ? NAN : INFINITY;
            if (kind & 2) { /* the references disagree there */
                kg_dj_store(x.t, x.r, 2000, odd);
            }
            if (kind & 4) { /* the answer alone */
                kg_dj_store(x.t, x.y, 2000, -odd);
                kg_dj_store(x.t, x.y, 2999, odd);
            }
            trio_send(r, &x);
            assert_same_bounds(r, &x, &bound);
            assert_true(assert_same_verdict(r, &x, &bound) == !(kind & 4));
            trio_free(r, &x);
        }
    }
}

static void extremes_have_a_scale(void **state)
{
    struct rig *r = *state;
    static const double scales[] = {0, 1e-308, 1e-200, 1e200, 1e307};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        struct trio x;
        struct kg_tbound bound;
        trio_random(r, &x, KG_TD_F64, 5003, 2, 0, 3);
        for (uint64_t k = 0; k < x.n; k++) {
            ((double *)x.o)[k] *= scales[i];
            ((double *)x.r)[k] *= scales[i];
            ((double *)x.y)[k] *= scales[i];
        }
        trio_send(r, &x);
        assert_same_bounds(r, &x, &bound);
        assert_same_verdict(r, &x, &bound);
        trio_free(r, &x);
    }
}

static void all_leaning_one_way_is_seen(void **state)
{
    struct rig *r = *state;
    struct trio x;
    struct kg_tbound bound;
    struct kg_tcompare c;
    trio_random(r, &x, KG_TD_F32, 20000, 2, 0, 9);
    for (uint64_t i = 0; i < x.n; i++) {
        ((float *)x.y)[i] = (float)(((double *)x.o)[i] + 4.5e-5);
    }
    trio_send(r, &x);
    assert_same_bounds(r, &x, &bound);
    assert_int_equal(
        r->d.ops->compare(&r->d, x.t, x.dy, x.dr, x.d_o, x.n, &bound, false, &c, &r->err), KG_OK);
    assert_false(assert_same_verdict(r, &x, &bound));
    trio_free(r, &x);
}

static void integers_are_exact(void **state)
{
    struct rig *r = *state;
    for (size_t t = 4; t < DTYPES; t++) {
        for (int kind = 0; kind < 4; kind++) {
            struct trio x;
            struct kg_tbound bound;
            struct kg_dj_law law = {KG_DJ_INTEGER, r->key, t, -100, 100, KG_DJ_EVEN};
            uint64_t n = 4099, size = kg_tdtype_bytes(dtypes[t]);
            trio_make(&x, dtypes[t], n);
            kg_dj_law_fill(x.t, x.r, n, &law);
            memcpy(x.y, x.r, n * size);
            memcpy(x.o, x.r, n * size);
            if (kind & 1) {
                ((unsigned char *)x.y)[size * 1234] ^= 1;
                ((unsigned char *)x.y)[size * 4098] ^= 1;
            }
            if (kind & 2) { /* there the references disagree */
                ((unsigned char *)x.o)[size * 1234] ^= 1;
            }
            trio_send(r, &x);
            assert_same_bounds(r, &x, &bound);
            assert_true(assert_same_verdict(r, &x, &bound) == !(kind & 1));
            trio_free(r, &x);
        }
    }
}

static void nothing_is_equal_to_nothing(void **state)
{
    struct rig *r = *state;
    struct kg_tbound b;
    struct kg_tcompare c;
    uint64_t at = rig_alloc(r, 8);
    struct kg_bound_ask ask = {0};
    assert_int_equal(r->d.ops->bounds(&r->d, KG_TD_F16, at, at, 0, &ask, &b, &r->err), KG_OK);
    assert_int_equal(r->d.ops->compare(&r->d, KG_TD_F16, at, at, at, 0, &b, false, &c, &r->err),
                     KG_OK);
    assert_true(c.pass && c.bit_equal && b.k == 1);
    r->d.ops->free(&r->d, at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_law_has_the_hosts_distribution),
        cmocka_unit_test(full_significands_are_full),
        cmocka_unit_test(a_uniform_draw_never_is_its_upper_end),
        cmocka_unit_test(the_spike_is_where_the_host_puts_it),
        cmocka_unit_test(keys_and_streams_separate),
        cmocka_unit_test(draws_are_chacha),
        cmocka_unit_test(narrowing_rounds_as_on_the_host),
        cmocka_unit_test(floats_get_the_hosts_verdict),
        cmocka_unit_test(infinities_and_nans_get_the_hosts_verdict),
        cmocka_unit_test(extremes_have_a_scale),
        cmocka_unit_test(all_leaning_one_way_is_seen),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(nothing_is_equal_to_nothing),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
