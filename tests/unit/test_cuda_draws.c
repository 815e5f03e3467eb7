/* Uniform and normal draws of narrow floats on the CUDA row: 16 of them come out of one block of
 * the generator, so what is asked here is whether they are 16, each as good as the others. */
#include <math.h>
#include <string.h>

#include "cuda_rig.h"
#include "gym/device/device_law.h"

#define N     ((uint64_t)1 << 18)
#define BINS  64
#define GUARD 64

static const enum kg_tdtype dtypes[] = {KG_TD_F32, KG_TD_F16, KG_TD_BF16};

/* n values at an address that is `off` beyond a multiple of 256; nothing else is touched. */
static void *drawn(struct rig *r, enum kg_tdtype t, uint64_t n, uint64_t off,
                   const struct kg_dj_law *law)
{
    uint64_t bytes = n * kg_tdtype_bytes(t), at = rig_alloc(r, off + bytes + GUARD);
    unsigned char *v = malloc(bytes + GUARD), guard[GUARD];
    memset(guard, 0x41, sizeof guard);
    r->d.ops->pattern(&r->d, at, off + bytes + GUARD, 0x4141414141414141u);
    r->d.ops->fill(&r->d, at + off, t, n, law);
    assert_int_equal(r->d.ops->download(&r->d, v, at, off, &r->err), KG_OK);
    assert_memory_equal(v, guard, off);
    assert_int_equal(r->d.ops->download(&r->d, v, at + off, bytes + GUARD, &r->err), KG_OK);
    assert_memory_equal(v + bytes, guard, GUARD);
    r->d.ops->free(&r->d, at);
    return v;
}

/* The same as doubles, brought to mean 0 and deviation 1 by what the law says. */
static double *standard(struct rig *r, enum kg_tdtype t, const struct kg_dj_law *law)
{
    bool normal = law->kind == KG_DJ_NORMAL;
    double mean = normal ? law->a : law->a / 2 + law->b / 2;
    double sd = normal ? law->b : (law->b / 2 - law->a / 2) / sqrt(3);
    double *z = malloc(N * sizeof *z);
    void *v = drawn(r, t, N, 0, law);
    for (uint64_t i = 0; i < N; i++) {
        z[i] = (kg_dj_load(t, v, i) - mean) / sd;
    }
    free(v);
    return z;
}

static double mean_power(const double *z, int power)
{
    double sum = 0;
    for (uint64_t i = 0; i < N; i++) {
        sum += pow(z[i], power) / (double)N;
    }
    return sum;
}

/* Within six standard errors. */
static void assert_about(double got, double want, double variance)
{
    if (fabs(got - want) > 6 * sqrt(variance / (double)N)) {
        fail_msg("%g, not %g", got, want);
    }
}

static void moments_are_those_of_the_law(void **state)
{
    struct rig *r = *state;
    for (size_t t = 0; t < 3; t++) {
        struct kg_dj_law normal = {KG_DJ_NORMAL, r->key, 20 + t, 3, 0.5, KG_DJ_EVEN};
        struct kg_dj_law uniform = {KG_DJ_UNIFORM, r->key, 30 + t, -3, 5, KG_DJ_EVEN};
        double *z = standard(r, dtypes[t], &normal);
        assert_about(mean_power(z, 1), 0, 1);
        assert_about(mean_power(z, 2), 1, 2);
        assert_about(mean_power(z, 3), 0, 15);
        assert_about(mean_power(z, 4), 3, 96);
        free(z);
        z = standard(r, dtypes[t], &uniform);
        assert_about(mean_power(z, 1), 0, 1);
        assert_about(mean_power(z, 2), 1, 0.8);
        assert_about(mean_power(z, 3), 0, 27.0 / 7);
        assert_about(mean_power(z, 4), 1.8, 9 - 1.8 * 1.8);
        free(z);
    }
}

/* Chi-square over bins of equal chance, of all values and of each place in a run of 16 alone. */
static void every_place_has_the_whole_distribution(void **state)
{
    struct rig *r = *state;
    for (int normal = 0; normal < 2; normal++) {
        struct kg_dj_law law = {
            normal ? KG_DJ_NORMAL : KG_DJ_UNIFORM, r->key, 5, normal ? 0 : -1, 1, KG_DJ_EVEN};
        double *z = standard(r, KG_TD_F32, &law);
        for (uint64_t place = 0; place <= 16; place++) {
            double hist[BINS] = {0}, chi = 0, n = place < 16 ? (double)N / 16 : (double)N;
            for (uint64_t i = place % 16; i < N; i += place < 16 ? 16 : 1) {
                double p = normal ? erfc(-z[i] / sqrt(2)) / 2 : 0.5 + z[i] / sqrt(12);
                int bin = (int)(p * BINS);
                hist[bin < BINS ? bin : BINS - 1]++;
            }
            for (int b = 0; b < BINS; b++) {
                chi += (hist[b] - n / BINS) * (hist[b] - n / BINS) / (n / BINS);
            }
            assert_true(fabs(chi - (BINS - 1)) < 6 * sqrt(2.0 * (BINS - 1)));
        }
        free(z);
    }
}

/* Neither values nor their squares (the two halves of a draw have one radius) lean on others, near
 * or as far as the next ones of the same block are. */
static void values_do_not_know_each_other(void **state)
{
    struct rig *r = *state;
    static const uint64_t lags[] = {1,    2,    3,    4,    5,    7,    8,    9,    15,
                                    16,   256,  512,  768,  1023, 1024, 1025, 1026, 2047,
                                    2048, 2049, 3072, 4095, 4096, 4097, 8192};
    for (size_t t = 0; t < 3; t++) {
        for (int kind = 0; kind < 2; kind++) {
            struct kg_dj_law law = {
                kind ? KG_DJ_NORMAL : KG_DJ_UNIFORM, r->key, 40 + t, kind ? 0 : -1, 1, KG_DJ_EVEN};
            double *z = standard(r, dtypes[t], &law), square = kind ? 2 : 0.8;
            for (size_t k = 0; k < sizeof lags / sizeof *lags; k++) {
                double one = 0, two = 0;
                for (uint64_t i = 0; i < N; i++) {
                    double a = z[i], b = z[(i + lags[k]) % N];
                    one += a * b / (double)N;
                    two += (a * a - 1) * (b * b - 1) / (double)N;
                }
                assert_about(one, 0, 1);
                assert_about(two, 0, square * square);
            }
            free(z);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void no_value_is_used_twice(void **state)
{
    struct rig *r = *state;
    for (uint32_t kind = KG_DJ_UNIFORM; kind <= KG_DJ_NORMAL; kind++) {
        struct kg_dj_law law = {kind, r->key, 50, 0, 1, KG_DJ_EVEN};
        uint64_t n = 12345, equal = 0;
        float *v = drawn(r, KG_TD_F32, n, 0, &law);
        qsort(v, n, sizeof *v, by_value);
        for (uint64_t i = 1; i < n; i++) {
            equal += v[i] == v[i - 1];
        }
        assert_true(equal < 40); /* 24 bits: 4.5 by chance, some more where normal ones are dense */
        free(v);
    }
}

static void tails_are_long_and_end(void **state)
{
    struct rig *r = *state;
    struct kg_dj_law law = {KG_DJ_NORMAL, r->key, 60, 0, 1, KG_DJ_EVEN};
    double *z = standard(r, KG_TD_F32, &law), far = 0, most = 0;
    for (uint64_t i = 0; i < N; i++) {
        far += fabs(z[i]) > 3;
        most = fmax(most, fabs(z[i]));
        assert_true(z[i] != 0);
    }
    assert_about(far / (double)N, 0.0026998, 0.0027);
    assert_true(most > 4 && most < 6.9);
    free(z);
}

static void any_number_of_values_from_any_address_are_the_same(void **state)
{
    struct rig *r = *state;
    static const uint64_t counts[] = {1,   2,    7,    8,    9,    15,   16,   17,   255,  256,
                                      257, 1023, 1024, 1025, 2049, 4095, 4096, 4097, 8191, 20003};
    for (size_t t = 0; t < 3; t++) {
        uint64_t size = kg_tdtype_bytes(dtypes[t]);
        for (uint32_t kind = KG_DJ_UNIFORM; kind <= KG_DJ_NORMAL; kind++) {
            struct kg_dj_law law = {kind, r->key, 70, -1, 1, KG_DJ_EVEN};
            unsigned char *whole = drawn(r, dtypes[t], 30000, 0, &law);
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                for (uint64_t off = 0; off < 24; off += 8) {
                    void *part = drawn(r, dtypes[t], counts[i], off, &law);
                    assert_memory_equal(part, whole, counts[i] * size);
                    free(part);
                }
            }
            free(whole);
        }
    }
}

static void streams_and_keys_give_others(void **state)
{
    struct rig *r = *state;
    uint64_t n = 4099;
    for (uint32_t kind = KG_DJ_UNIFORM; kind <= KG_DJ_NORMAL; kind++) {
        struct kg_dj_law law = {kind, r->key, 1, 0, 1, KG_DJ_EVEN}, stream = law, key = law;
        stream.stream = 2;
        key.key.w[1] ^= 1;
        float *a = drawn(r, KG_TD_F32, n, 0, &law), *b = drawn(r, KG_TD_F32, n, 0, &stream),
              *c = drawn(r, KG_TD_F32, n, 0, &key);
        int same = 0;
        for (uint64_t i = 0; i < n; i++) {
            same += (a[i] == b[i]) + (a[i] == c[i]) + (b[i] == c[i]);
        }
        assert_true(same <= 2);
        free(a);
        free(b);
        free(c);
    }
}

/* b - a is no float of F32 here; the ends of F16 are reached and not left. */
static void wide_ranges_stay_finite(void **state)
{
    struct rig *r = *state;
    static const double most[] = {3.4e38, 65504, 3.3e38};
    for (size_t t = 0; t < 3; t++) {
        struct kg_dj_law law = {KG_DJ_UNIFORM, r->key, 80, -most[t], most[t], KG_DJ_EVEN};
        double *z = standard(r, dtypes[t], &law);
        for (uint64_t i = 0; i < N; i++) {
            assert_true(fabs(z[i]) <= sqrt(3) * 1.0001);
        }
        assert_about(mean_power(z, 1), 0, 1);
        assert_about(mean_power(z, 2), 1, 0.8);
        free(z);
        law = (struct kg_dj_law){KG_DJ_NORMAL, r->key, 81, most[t] / 2, most[t] / 32, KG_DJ_EVEN};
        z = standard(r, dtypes[t], &law);
        assert_true(isfinite(mean_power(z, 2)));
        assert_about(mean_power(z, 2), 1, 2);
        free(z);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_those_of_the_law),
        cmocka_unit_test(every_place_has_the_whole_distribution),
        cmocka_unit_test(values_do_not_know_each_other),
        cmocka_unit_test(no_value_is_used_twice),
        cmocka_unit_test(tails_are_long_and_end),
        cmocka_unit_test(any_number_of_values_from_any_address_are_the_same),
        cmocka_unit_test(streams_and_keys_give_others),
        cmocka_unit_test(wide_ranges_stay_finite),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
