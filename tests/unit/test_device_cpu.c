#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gym/device/device.h"
#include "gym/device/device_law.h"
#include "gym/device/device_state.h"
#include "gym/device/poison_pattern.h"

/* The table on host memory, operation by operation. */

static struct kg_err err = KG_ERR_INIT;
static struct kg_device dev;

static uint64_t room(uint64_t bytes)
{
    uint64_t at = 0;
    assert_int_equal(dev.ops->alloc(&dev, bytes, &at, &err), KG_OK);
    assert_int_equal(at % 256, 0);
    return at;
}

static unsigned char *bytes_at(uint64_t at)
{
    return (unsigned char *)(uintptr_t)at;
}

static struct kg_digest digest_of(uint64_t at, uint64_t bytes)
{
    struct kg_dspan span = {at, bytes};
    struct kg_digest d;
    assert_int_equal(dev.ops->digest(&dev, &span, 1, &d, &err), KG_OK);
    return d;
}

static bool same(struct kg_digest a, struct kg_digest b)
{
    return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

static void a_digest_sees_every_bit(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 7, 64, 1023, 1024, 1025, 5000};
    uint64_t at = room(8192);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        for (int fill = 0; fill < 2; fill++) { /* of zeros, and of anything */
            struct kg_dj_law law = {.kind = fill ? KG_DJ_INTEGER : KG_DJ_CONSTANT, .b = 256};
            kg_dj_law_fill(KG_TD_U8, bytes_at(at), 8192, &law);
            struct kg_digest d = digest_of(at, sizes[k]);
            assert_true(same(d, digest_of(at, sizes[k])));
            assert_false(same(d, digest_of(at, sizes[k] + 1)));
            assert_true(d.w[0] != d.w[1]);
            for (uint64_t i = 0; i < sizes[k]; i++) {
                bytes_at(at)[i] ^= (unsigned char)(1u << i % 8);
                struct kg_digest e = digest_of(at, sizes[k]);
                assert_true(d.w[0] != e.w[0] && d.w[1] != e.w[1]);
                bytes_at(at)[i] ^= (unsigned char)(1u << i % 8);
            }
        }
    }
    dev.ops->free(&dev, at);
}

static void a_digest_sees_order(void **state)
{
    (void)state;
    uint64_t at = room(8192), words[1024];
    struct kg_dj_law law = {.kind = KG_DJ_INTEGER, .b = 256};
    kg_dj_law_fill(KG_TD_U8, bytes_at(at), 8192, &law);
    struct kg_digest d = digest_of(at, 8192);
    for (int step = 1; step < 1024; step *= 2) { /* words, lanes, stripes, blocks changed about */
        memcpy(words, bytes_at(at), sizeof words);
        uint64_t w = words[3];
        words[3] = words[(3 + step) % 1024];
        words[(3 + step) % 1024] = w;
        uint64_t other = room(8192);
        memcpy(bytes_at(other), words, sizeof words);
        assert_false(same(d, digest_of(other, 8192)));
        dev.ops->free(&dev, other);
    }
    dev.ops->free(&dev, at);
}

static void a_digest_is_keyed(void **state)
{
    (void)state;
    struct kg_device other;
    struct kg_digest d;
    uint64_t at = room(4096);
    memset(bytes_at(at), 7, 4096);
    struct kg_dspan span = {at, 4096};
    assert_int_equal(kg_device_open("cpu", &other, &err), KG_OK);
    assert_int_equal(other.ops->digest(&other, &span, 1, &d, &err), KG_OK);
    assert_false(same(d, digest_of(at, 4096)));
    kg_device_close(&other);
    kg_device_close(&other);
    dev.ops->free(&dev, at);
}

static void a_pattern_is_found_and_every_change_of_it(void **state)
{
    (void)state;
    uint64_t at = room(8192), word = kg_device_poison((struct kg_key){{1, 2}});
    int bad;
    dev.ops->pattern(&dev, at, 8192, word);
    for (uint64_t from = 0; from < 20; from++) {
        for (uint64_t n = 0; n < 40; n++) {
            struct kg_dspan span[2] = {{at + 4096, 100}, {at + from, n}};
            assert_int_equal(dev.ops->check(&dev, span, 2, word, &bad, &err), KG_OK);
            assert_int_equal(bad, -1);
            for (uint64_t i = 0; i < n; i++) {
                bytes_at(at)[from + i] ^= 4;
                assert_int_equal(dev.ops->check(&dev, span, 2, word, &bad, &err), KG_OK);
                assert_int_equal(bad, 1);
                bytes_at(at)[from + i] ^= 4;
            }
            bytes_at(at)[from + n] ^= 4; /* not of the span */
            assert_int_equal(dev.ops->check(&dev, span, 2, word, &bad, &err), KG_OK);
            assert_int_equal(bad, -1);
            bytes_at(at)[from + n] ^= 4;
        }
    }
    dev.ops->free(&dev, at);
}

static void poison_is_a_nan_of_every_kind(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (uint64_t k = 0; k < 200; k++) {
        uint64_t word = kg_device_poison((struct kg_key){{3, k}});
        static const enum kg_tdtype t[] = {KG_TD_F32, KG_TD_F64, KG_TD_F16, KG_TD_BF16};
        for (int i = 0; i < 4; i++) {
            for (uint64_t e = 0; e < 8 / kg_tdtype_bytes(t[i]); e++) {
                assert_true(isnan(kg_dj_load(t[i], &word, e)));
            }
        }
        assert_true(word != last);
        last = word;
    }
}

/* A take of n elements of which some, from..to, hold the poison. */
static uint64_t unwritten(enum kg_tdtype t, uint64_t n, uint64_t from, uint64_t to, unsigned phase)
{
    size_t size = kg_tdtype_bytes(t);
    uint64_t src = room(n * size + 64), dst = room(n * size + 64);
    uint64_t word = kg_device_poison((struct kg_key){{4, n}});
    dev.ops->pattern(&dev, src, n * size + 64, word);
    unsigned char *p = bytes_at(src) + phase;
    for (uint64_t i = 0; i < n * size; i++) {
        if (i < from * size || i >= to * size) {
            p[i] = (unsigned char)(i * 7 % 64); /* no byte of a pattern */
        }
    }
    struct kg_dtake take = {
        .dst = dst, .src = src + phase, .bytes = n * size, .dtype = t, .look = true};
    assert_int_equal(dev.ops->take(&dev, &take, 1, word, &err), KG_OK);
    assert_memory_equal(bytes_at(dst), p, n * size);
    assert_true(same(take.digest, digest_of(dst, n * size)));
    uint64_t found = take.unwritten;
    take.look = false;
    assert_int_equal(dev.ops->take(&dev, &take, 1, word, &err), KG_OK);
    assert_int_equal(take.unwritten, 0);
    dev.ops->free(&dev, src);
    dev.ops->free(&dev, dst);
    return found;
}

static void what_is_left_unwritten_is_counted(void **state)
{
    (void)state;
    for (int t = 0; t < KG_TD_COUNT; t++) {
        enum kg_tdtype k = (enum kg_tdtype)t;
        size_t size = kg_tdtype_bytes(k);
        uint64_t least = kg_tdtype_floating(k) ? 1 : 16 / size;
        for (unsigned phase = 0; phase < 8; phase += (unsigned)size) {
            static const uint64_t n[] = {1000, 20000, 70001};
            for (int i = 0; i < 3; i++) {
                assert_int_equal(unwritten(k, n[i], 0, 0, phase), 0);
                assert_int_equal(unwritten(k, n[i], 5, 5 + least, phase), least);
                assert_int_equal(unwritten(k, n[i], n[i] - least, n[i], phase), least);
                assert_int_equal(unwritten(k, n[i], 100, 900, phase), 800);
                assert_int_equal(unwritten(k, n[i], 0, n[i], phase), n[i]);
                if (least > 1) {
                    assert_int_equal(unwritten(k, n[i], 5, 4 + least, phase), 0);
                }
            }
        }
        assert_int_equal(unwritten(k, 1, 0, 1, 0), 1); /* all of it is one run */
        assert_int_equal(unwritten(k, 3, 0, 3, 0), 3);
    }
}

static void exports_cannot_be_resized(void **state)
{
    (void)state;
    for (int ro = 0; ro < 2; ro++) {
        uint64_t bytes = 5000, at;
        int fd;
        assert_int_equal(dev.ops->export(&dev, &bytes, ro == 1, &at, &fd, &err), KG_OK);
        assert_int_equal(bytes, 8192);
        assert_int_not_equal(ftruncate(fd, 0), 0);
        assert_int_not_equal(ftruncate(fd, 1 << 20), 0);
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert_int_equal(p == MAP_FAILED, ro);
        void *q = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
        assert_ptr_not_equal(q, MAP_FAILED);
        bytes_at(at)[77] = 9;
        assert_int_equal(((unsigned char *)q)[77], 9);
        if (p != MAP_FAILED) {
            munmap(p, bytes);
        }
        munmap(q, bytes);
        close(fd);
        dev.ops->unexport(&dev, at, false);
    }
    uint64_t none = 0, at;
    int fd;
    assert_int_equal(dev.ops->export(&dev, &none, true, &at, &fd, &err), KG_E_LIMIT);
}

/* --- laws --- */
struct facts {
    double least, most, mean, sd;
    uint64_t zeros, distinct_from_first;
};

static struct facts facts_of(enum kg_tdtype t, const void *v, uint64_t n)
{
    struct facts f = {.least = INFINITY, .most = -INFINITY};
    double sum = 0, squares = 0, first = kg_dj_load(t, v, 0);
    for (uint64_t i = 0; i < n; i++) {
        double x = kg_dj_load(t, v, i);
        f.least = fmin(f.least, x);
        f.most = fmax(f.most, x);
        sum += x;
        squares += x * x;
        f.zeros += x == 0;
        f.distinct_from_first += x != first;
    }
    f.mean = sum / (double)n;
    f.sd = sqrt(fmax(squares / (double)n - f.mean * f.mean, 0));
    return f;
}

#define N 40000

static struct facts law_facts(enum kg_tdtype t, enum kg_dj_kind kind, double a, double b)
{
    static unsigned char v[N * 8];
    struct kg_dj_law law = {.kind = kind, .key = {{11, 12}}, .stream = 3, .a = a, .b = b};
    kg_dj_law_fill(t, v, N, &law);
    return facts_of(t, v, N);
}

static void laws_are_what_they_say(void **state)
{
    (void)state;
    static const enum kg_tdtype floating[] = {KG_TD_F32, KG_TD_F64, KG_TD_F16, KG_TD_BF16};
    for (int k = 0; k < 4; k++) {
        enum kg_tdtype t = floating[k];
        struct facts f = law_facts(t, KG_DJ_UNIFORM, 2, 5);
        assert_true(f.least >= 2 && f.most < 5 && fabs(f.mean - 3.5) < 0.05);
        assert_true(fabs(f.sd - 0.866) < 0.02 && f.least < 2.1 && f.most > 4.9);
        f = law_facts(t, KG_DJ_NORMAL, 4, 2);
        assert_true(fabs(f.mean - 4) < 0.1 && fabs(f.sd - 2) < 0.1);
        f = law_facts(t, KG_DJ_INTEGER, -3, 4);
        assert_true(f.least == -3 && f.most == 3 && f.zeros > N / 9 && f.zeros < N / 5);
        f = law_facts(t, KG_DJ_CONSTANT, 1.5, 0);
        assert_true(f.least == 1.5 && f.most == 1.5);
        f = law_facts(t, KG_DJ_HEAVY, 0, 0);
        assert_true(f.most > 20 && f.most <= 1e4 && fabs(f.mean) < 1 && f.sd > 1.5);
        f = law_facts(t, KG_DJ_SPARSE, 0, 0);
        assert_true(f.zeros > N * 94 / 100 && f.zeros < N * 96 / 100 && f.most > 1.5 &&
                    f.least < -1.5);
        f = law_facts(t, KG_DJ_OFFSET, 0, 0);
        assert_true(fabs(f.mean - 1e3) < 2);
        f = law_facts(t, KG_DJ_SMALL, 0, 0);
        assert_true(fabs(f.sd - 1e-4) < 1e-5);
        f = law_facts(t, KG_DJ_LARGE, 0, 0);
        assert_true(fabs(f.sd - 1e3) < 1e2);
        f = law_facts(t, KG_DJ_SMALLINT, 0, 0);
        assert_true(f.least == -8 && f.most == 8);
        f = law_facts(t, KG_DJ_WIDEINT, 0, 0);
        assert_true(f.least >= -4096 && f.most <= 4096 && f.most > 4000 && fabs(f.mean) < 100);
        f = law_facts(t, KG_DJ_EQUAL, 0, 0);
        assert_int_equal(f.distinct_from_first, 0);
        for (uint64_t key = 0; key < 40; key++) {
            struct kg_dj_law law = {.kind = KG_DJ_EQUAL, .key = {{key, 7}}};
            unsigned char one[8];
            kg_dj_law_fill(t, one, 1, &law);
            assert_true(fabs(kg_dj_load(t, one, 0)) >= 0.5);
        }
        f = law_facts(t, KG_DJ_SPIKE, 0, 1);
        assert_true(fmax(f.most, -f.least) > 9e3);
        f = law_facts(t, KG_DJ_BF16, 0, 0);
        assert_true(fabs(f.sd - 1) < 0.05);
    }
    static float v[N];
    struct kg_dj_law law = {.kind = KG_DJ_BF16, .key = {{1, 1}}};
    kg_dj_law_fill(KG_TD_F32, v, N, &law);
    for (int i = 0; i < N; i++) {
        assert_true(kg_bf16_to_float(kg_bf16_from_float(v[i])) == v[i]);
    }
}

/* Every value has the last bit of the dtype's significand, and either sign. */
static void full_significands_are_full(void **state)
{
    (void)state;
    static unsigned char v[N * 8];
    static const struct {
        enum kg_tdtype dtype;
        int digits;
    } cases[] = {{KG_TD_F32, 23}, {KG_TD_F64, 52}, {KG_TD_F16, 10}, {KG_TD_BF16, 7}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct kg_dj_law law = {.kind = KG_DJ_FULL, .key = {{5, k}}};
        int64_t negative = 0;
        double sum = 0;
        kg_dj_law_fill(cases[k].dtype, v, N, &law);
        for (uint64_t i = 0; i < N; i++) {
            double x = kg_dj_load(cases[k].dtype, v, i), a = fabs(x);
            assert_true(a >= 1 && a < 2);
            assert_true(fmod(ldexp(a, cases[k].digits), 2) == 1);
            negative += x < 0;
            sum += a;
        }
        assert_true(negative > N * 48 / 100 && negative < N * 52 / 100);
        assert_true(fabs(sum / N - 1.5) < 0.01 + ldexp(1, -cases[k].digits));
    }
}

static void integers_stay_in_their_range(void **state)
{
    (void)state;
    static const enum kg_tdtype t[] = {KG_TD_I64, KG_TD_I32, KG_TD_I16, KG_TD_I8, KG_TD_U8};
    for (int k = 0; k < 5; k++) {
        struct facts f = law_facts(t[k], KG_DJ_INTEGER, 10, 20);
        assert_true(f.least == 10 && f.most == 19);
        f = law_facts(t[k], KG_DJ_UNIFORM, 0, 0);
        assert_true(f.least == 0 && f.most == 7);
        f = law_facts(t[k], KG_DJ_CONSTANT, 3, 0);
        assert_true(f.least == 3 && f.most == 3);
        f = law_facts(t[k], KG_DJ_EQUAL, 5, 50);
        assert_true(f.least == f.most && f.least >= 5 && f.least < 50);
        f = law_facts(t[k], KG_DJ_INTEGER, -1e300, 1e300);
        assert_true(f.least < f.most);
    }
    struct facts f = law_facts(KG_TD_BOOL, KG_DJ_INTEGER, 0, 0);
    assert_true(f.least == 0 && f.most == 1 && fabs(f.mean - 0.5) < 0.02);
    f = law_facts(KG_TD_BOOL, KG_DJ_CONSTANT, 7, 0);
    assert_true(f.least == 1);
    f = law_facts(KG_TD_I16, KG_DJ_CONSTANT, 1e9, 0);
    assert_true(f.least == INT16_MAX);
}

static void keys_and_streams_differ_and_repeat(void **state)
{
    (void)state;
    static float a[1000], b[1000];
    for (int kind = 0; kind < KG_DJ_KINDS; kind++) {
        struct kg_dj_law law = {.kind = (uint32_t)kind, .key = {{1, 1}}, .a = 0, .b = 100};
        kg_dj_law_fill(KG_TD_F32, a, 1000, &law);
        kg_dj_law_fill(KG_TD_F32, b, 1000, &law);
        assert_memory_equal(a, b, sizeof a);
        law.stream = 1;
        kg_dj_law_fill(KG_TD_F32, b, 1000, &law);
        assert_int_equal(memcmp(a, b, sizeof a) == 0, kind == KG_DJ_CONSTANT);
        law.stream = 0;
        law.key.w[1] = 2;
        kg_dj_law_fill(KG_TD_F32, b, 1000, &law);
        assert_int_equal(memcmp(a, b, sizeof a) == 0, kind == KG_DJ_CONSTANT);
    }
}

/* The spike is in the last 64 elements in about half of the draws, and in the others anywhere. */
static void the_spike_visits_the_last_tile(void **state)
{
    (void)state;
    static float v[10000];
    int last = 0, first_half = 0;
    for (uint64_t k = 0; k < 200; k++) {
        struct kg_dj_law law = {.kind = KG_DJ_SPIKE, .key = {{2, k}}, .a = -1, .b = 1};
        kg_dj_law_fill(KG_TD_F32, v, 10000, &law);
        int at = -1;
        for (int i = 0; i < 10000; i++) {
            if (fabsf(v[i]) > 1) {
                assert_int_equal(at, -1);
                at = i;
            }
        }
        assert_true(at >= 0);
        last += at >= 10000 - 64;
        first_half += at < 5000;
    }
    assert_true(last > 70 && last < 130 && first_half > 25 && first_half < 75);
}

static void few_values_are_degenerate(void **state)
{
    (void)state;
    float f[100];
    int32_t i[100];
    for (int k = 0; k < 100; k++) {
        f[k] = (float)(k % 3);
        i[k] = k % 7;
    }
    assert_true(kg_device_degenerate(KG_TD_F32, f, 100));
    assert_true(kg_device_degenerate(KG_TD_I32, i, 100));
    f[99] = 5;
    i[99] = 99;
    assert_false(kg_device_degenerate(KG_TD_F32, f, 100));
    assert_false(kg_device_degenerate(KG_TD_I32, i, 100));
    assert_true(kg_device_degenerate(KG_TD_I32, i, 15));
    assert_true(kg_device_degenerate(KG_TD_F32, f, 0));
}

/* --- where guards of answers are looked for --- */
static void zones_lie_around_answers_never_in_them(void **state)
{
    (void)state;
    struct kg_tleaf leaf[3] = {{.offset = 20000, .bytes = 1000},
                               {.offset = 4096, .bytes = 10000},
                               {.offset = 5000, .bytes = 100}}; /* within the second */
    struct kg_dspan z[2 * KG_TWIRE_LEAVES];
    assert_int_equal(kg_dj_zones(leaf, 0, 65536, z), 0);
    size_t n = kg_dj_zones(leaf, 3, 65536, z);
    assert_int_equal(n, 3);
    assert_true(z[0].at == 0 && z[0].bytes == 4096);
    assert_true(z[1].at == 14096 && z[1].bytes == 5904);
    assert_true(z[2].at == 21000 && z[2].bytes == 4096);
    leaf[0].offset = 60000;
    n = kg_dj_zones(leaf, 3, 65536, z);
    assert_int_equal(n, 4);
    assert_true(z[1].at == 14096 && z[1].bytes == 4096);
    assert_true(z[2].at == 60000 - 4096 && z[2].bytes == 4096);
    assert_true(z[3].at == 61000 && z[3].bytes == 4096);
    n = kg_dj_zones(leaf, 3, 50000, z); /* beyond what was poisoned nothing is known */
    assert_int_equal(n, 2);
    leaf[1].bytes = 0;
    leaf[2].offset = 0;
    leaf[2].bytes = 65536;
    assert_int_equal(kg_dj_zones(leaf, 3, 65536, z), 0);
}

static int set_up(void **state)
{
    (void)state;
    return kg_device_open("cpu", &dev, &err) != KG_OK;
}

static int tear_down(void **state)
{
    (void)state;
    kg_device_close(&dev);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_digest_sees_every_bit),
        cmocka_unit_test(a_digest_sees_order),
        cmocka_unit_test(a_digest_is_keyed),
        cmocka_unit_test(a_pattern_is_found_and_every_change_of_it),
        cmocka_unit_test(poison_is_a_nan_of_every_kind),
        cmocka_unit_test(what_is_left_unwritten_is_counted),
        cmocka_unit_test(exports_cannot_be_resized),
        cmocka_unit_test(laws_are_what_they_say),
        cmocka_unit_test(full_significands_are_full),
        cmocka_unit_test(integers_stay_in_their_range),
        cmocka_unit_test(keys_and_streams_differ_and_repeat),
        cmocka_unit_test(the_spike_visits_the_last_tile),
        cmocka_unit_test(few_values_are_degenerate),
        cmocka_unit_test(zones_lie_around_answers_never_in_them),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
