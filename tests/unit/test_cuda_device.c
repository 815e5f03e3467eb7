/* Every operation of the CUDA row of the device table against the host's. Without a GPU the row
 * runs on tests/fake_cuda; KGYM_TEST_GPU=1 takes the real driver instead. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_rig.h"
#include "gym/device/cuda.h"
#include "gym/device/device_law.h"
#include "gym/device/difference.h"

static const enum kg_tdtype dtypes[] = {KG_TD_F32, KG_TD_F64, KG_TD_F16, KG_TD_BF16, KG_TD_I64,
                                        KG_TD_I32, KG_TD_I16, KG_TD_I8,  KG_TD_U8,   KG_TD_BOOL};
#define DTYPES (sizeof dtypes / sizeof *dtypes)

static void memory_keeps_what_it_is_given(void **state)
{
    struct rig *r = *state;
    static const uint64_t sizes[] = {0, 1, 7, 8, 4095, 4096, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t n = sizes[i], a = rig_alloc(r, n), b = rig_alloc(r, n);
        unsigned char *in = rig_bytes(n, 7 + i), *out = malloc(n + 1);
        assert_true(a % 256 == 0 && b % 256 == 0);
        r->d.ops->upload(&r->d, a, in, n);
        r->d.ops->copy(&r->d, b, a, n);
        assert_int_equal(r->d.ops->download(&r->d, out, b, n, &r->err), KG_OK);
        assert_memory_equal(in, out, n);
        r->d.ops->free(&r->d, a);
        r->d.ops->free(&r->d, b);
        free(in);
        free(out);
    }
    r->d.ops->free(&r->d, 0);
}

static void exported_memory_is_zeroed_and_its_own(void **state)
{
    struct rig *r = *state;
    uint64_t at[3], bytes = 5u << 20;
    int fd[3];
    for (int i = 0; i < 3; i++) {
        uint64_t n = bytes;
        assert_int_equal(r->d.ops->export(&r->d, &n, i == 0, &at[i], &fd[i], &r->err), KG_OK);
        assert_true(n >= bytes && fd[i] >= 0);
        unsigned char *got = malloc(n);
        assert_int_equal(r->d.ops->download(&r->d, got, at[i], n, &r->err), KG_OK);
        for (uint64_t k = 0; k < n; k += 509) {
            assert_int_equal(got[k], 0);
        }
        free(got);
        close(fd[i]);
    }
    r->d.ops->unexport(&r->d, at[1], false);
    r->d.ops->unexport(&r->d, at[0], false);
    r->d.ops->unexport(&r->d, at[2], false);
    assert_int_equal(r->d.ops->sync(&r->d, &r->err), KG_OK);
    assert_false(r->d.sealed);
}

static uint64_t export_one(struct rig *r, uint64_t bytes, uint64_t *made)
{
    uint64_t at;
    int fd;
    *made = bytes;
    assert_int_equal(r->d.ops->export(&r->d, made, false, &at, &fd, &r->err), KG_OK);
    assert_true(*made >= bytes && fd >= 0);
    close(fd);
    return at;
}

/* What nobody else has any more serves again, wiped, if it is not much too large; of two kinds the
 * latest are kept; what may still be mapped never does. */
static void exported_memory_serves_again(void **state)
{
    struct rig *r = *state;
    uint64_t bytes = 6u << 20, n, at[4], word = 0x1122334455667788u;
    unsigned char *got = malloc(bytes);
    at[0] = export_one(r, bytes, &n);
    r->d.ops->pattern(&r->d, at[0], bytes, word);
    r->d.ops->unexport(&r->d, at[0], true);
    at[1] = export_one(r, bytes - (1u << 20), &n);
    assert_int_equal(at[1], at[0]);
    assert_int_equal(n, bytes);
    assert_int_equal(r->d.ops->download(&r->d, got, at[1], bytes, &r->err), KG_OK);
    for (uint64_t k = 0; k < bytes; k++) {
        assert_int_equal(got[k], 0);
    }
    at[2] = export_one(r, bytes, &n); /* in use: another one */
    assert_true(at[2] != at[1]);
    r->d.ops->unexport(&r->d, at[1], true);
    at[3] = export_one(r, 2u << 20, &n); /* three times too large */
    assert_true(at[3] != at[1] && n == 2u << 20);
    r->d.ops->unexport(&r->d, at[2], true);
    r->d.ops->unexport(&r->d, at[3], true); /* at[1], the oldest of three, goes */
    for (int k = 0; k < 2; k++) {
        at[k] = export_one(r, bytes, &n);
        assert_true((at[k] == at[2]) == (k == 0));
    }
    r->d.ops->unexport(&r->d, at[0], false);
    r->d.ops->unexport(&r->d, at[1], true);
    r->d.ops->trim(&r->d);
    at[1] = export_one(r, 4u << 20, &n);
    assert_int_equal(n, 4u << 20); /* not the idle one, which would have served */
    r->d.ops->unexport(&r->d, at[1], true);
    if (!rig_is_real()) { /* no memory: what is idle goes before that is said */
        void (*break_it)(const char *, int) = rig_fail_hook(r);
        break_it("cuMemCreate", KG_CU_OUT_OF_MEMORY);
        n = 64u << 20;
        int fd;
        assert_int_equal(r->d.ops->export(&r->d, &n, false, at, &fd, &r->err), KG_E_LIMIT);
        break_it(NULL, 0);
        at[3] = export_one(r, bytes, &n);
    }
    free(got);
}

static void patterns_have_the_phase_of_their_address(void **state)
{
    struct rig *r = *state;
    uint64_t word = 0x8877665544332211u, n = 70001, at = rig_alloc(r, n), host = 0;
    unsigned char *got = malloc(n), *want = malloc(n + 16);
    for (uint64_t from = 0; from < 20; from += 3) {
        for (uint64_t to = from; to < n; to = to * 5 / 2 + 1) {
            unsigned char *w = (unsigned char *)(((uintptr_t)want + 15) & ~(uintptr_t)7);
            r->d.ops->upload(&r->d, at, got, n);
            assert_int_equal(r->d.ops->download(&r->d, w, at, n - 8, &r->err), KG_OK);
            r->d.ops->pattern(&r->d, at + from, to - from, word);
            r->host.ops->pattern(&r->host, (uintptr_t)w + from, to - from, word);
            assert_int_equal(r->d.ops->download(&r->d, got, at, n - 8, &r->err), KG_OK);
            assert_memory_equal(got, w, n - 8);
            host += to;
        }
    }
    assert_true(host > 0);
    free(got);
    free(want);
    r->d.ops->free(&r->d, at);
}

static struct kg_digest digest_of(struct rig *r, uint64_t at, uint64_t bytes)
{
    struct kg_dspan span = {at, bytes};
    struct kg_digest d;
    assert_int_equal(r->d.ops->digest(&r->d, &span, 1, &d, &r->err), KG_OK);
    return d;
}

static bool same(struct kg_digest a, struct kg_digest b)
{
    return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

/* Alone, and beside as many digests. */
static int checked(struct rig *r, const struct kg_dspan *span, size_t n, uint64_t word)
{
    int bad = -2, beside = -2;
    struct kg_digest digest[150];
    assert_true(n <= 150);
    assert_int_equal(r->d.ops->check(&r->d, span, n, word, &bad, &r->err), KG_OK);
    assert_int_equal(r->d.ops->inspect(&r->d, span, n, digest, span, n, word, &beside, &r->err),
                     KG_OK);
    assert_int_equal(beside, bad);
    for (size_t i = 0; i < n; i += 37) {
        assert_true(same(digest[i], digest_of(r, span[i].at, span[i].bytes)));
    }
    return bad;
}

static void a_byte_that_differs_is_found(void **state)
{
    struct rig *r = *state;
    uint64_t word = 0xfff3fff17ff57ff8u, n = 200000, at = rig_alloc(r, n);
    struct kg_dspan span[150];
    for (size_t i = 0; i < 150; i++) {
        span[i] = (struct kg_dspan){at + 1000 * i + i % 11, 900 + i % 13};
    }
    span[20].bytes = 0;
    r->d.ops->pattern(&r->d, at, n, word);
    assert_int_equal(checked(r, span, 150, word), -1);
    assert_int_equal(checked(r, span, 0, word), -1);
    assert_int_equal(checked(r, span, 150, word ^ 1), 0);
    static const int which[] = {149, 63, 64, 0};
    for (size_t i = 0; i < 4; i++) { /* first or last byte of a span, of either kind of end */
        unsigned char x = 0x42;
        const struct kg_dspan *s = &span[which[i]];
        r->d.ops->upload(&r->d, s->at + (i % 2 ? 0 : s->bytes - 1), &x, 1);
        assert_int_equal(checked(r, span, 150, word), which[i] == 64 ? 63 : which[i]);
    }
    /* what lies between spans does not count */
    unsigned char x = 1;
    r->d.ops->pattern(&r->d, at, n, word);
    r->d.ops->upload(&r->d, span[4].at + span[4].bytes, &x, 1);
    assert_int_equal(checked(r, span, 150, word), -1);
    r->d.ops->free(&r->d, at);
}

static void equal_bytes_have_equal_digests_wherever_they_are(void **state)
{
    struct rig *r = *state;
    uint64_t most = 300007, a = rig_alloc(r, most + 64), b = rig_alloc(r, most + 64);
    unsigned char *v = rig_bytes(most, 3);
    struct kg_digest before = {{1, 1}};
    for (uint64_t n = 0; n <= most; n = n * 3 + 1) {
        r->d.ops->upload(&r->d, a, v, n);
        r->d.ops->upload(&r->d, b + 1 + n % 31, v, n);
        struct kg_digest x = digest_of(r, a, n), y = digest_of(r, b + 1 + n % 31, n);
        assert_true(same(x, y));
        assert_false(same(x, before));
        before = x;
    }
    struct kg_dspan span[130];
    struct kg_digest many[130];
    for (size_t i = 0; i < 130; i++) {
        span[i] = (struct kg_dspan){a + 16 * i, 1000 + 97 * i};
    }
    assert_int_equal(r->d.ops->digest(&r->d, span, 130, many, &r->err), KG_OK);
    for (size_t i = 0; i < 130; i += 43) {
        assert_true(same(many[i], digest_of(r, span[i].at, span[i].bytes)));
    }
    free(v);
    r->d.ops->free(&r->d, a);
    r->d.ops->free(&r->d, b);
}

static void a_changed_bit_changes_the_digest(void **state)
{
    struct rig *r = *state;
    uint64_t n = 40000, a = rig_alloc(r, n);
    unsigned char *v = rig_bytes(n, 4);
    r->d.ops->upload(&r->d, a, v, n);
    struct kg_digest whole = digest_of(r, a, n);
    for (uint64_t i = 0; i < n; i = i * 9 / 8 + 1) {
        unsigned char x = v[i] ^ (unsigned char)(1u << i % 8);
        r->d.ops->upload(&r->d, a + i, &x, 1);
        struct kg_digest d = digest_of(r, a, n);
        assert_true(d.w[0] != whole.w[0] && d.w[1] != whole.w[1]);
        r->d.ops->upload(&r->d, a + i, &v[i], 1);
    }
    assert_true(same(whole, digest_of(r, a, n)));
    memset(v, 0, n); /* zeros of different lengths; equal parts in another order */
    r->d.ops->upload(&r->d, a, v, n);
    assert_false(same(digest_of(r, a, 32), digest_of(r, a, 48)));
    memset(v + 4096, 9, 4096);
    r->d.ops->upload(&r->d, a, v, n);
    whole = digest_of(r, a, 16384);
    memset(v + 4096, 0, 4096);
    memset(v + 8192, 9, 4096);
    r->d.ops->upload(&r->d, a, v, n);
    assert_false(same(whole, digest_of(r, a, 16384)));
    r->d.secret.w[0] ^= 1;
    assert_false(same(whole, digest_of(r, a, 16384)));
    free(v);
    r->d.ops->free(&r->d, a);
}

static void a_changed_bit_of_any_piece_changes_the_digest(void **state)
{
    struct rig *r = *state;
    uint64_t most = 7 * KG_CUDA_PIECE, a = rig_alloc(r, most);
    unsigned char *v = rig_bytes(most, 6), x;
    r->d.ops->upload(&r->d, a, v, most);
    for (uint64_t n = most - 4097; n > KG_CUDA_PIECE; n -= 2 * KG_CUDA_PIECE + 99) {
        struct kg_digest whole = digest_of(r, a, n);
        for (uint64_t i = 12345; i < n; i += KG_CUDA_PIECE) {
            x = v[i] ^ 1;
            r->d.ops->upload(&r->d, a + i, &x, 1);
            assert_false(same(whole, digest_of(r, a, n)));
            r->d.ops->upload(&r->d, a + i, &v[i], 1);
        }
        x = v[n - 1] ^ 1;
        r->d.ops->upload(&r->d, a + n - 1, &x, 1);
        assert_false(same(whole, digest_of(r, a, n)));
        r->d.ops->upload(&r->d, a + n - 1, &v[n - 1], 1);
        assert_true(same(whole, digest_of(r, a, n)));
    }
    free(v);
    r->d.ops->free(&r->d, a);
}

/* Each piece comes once, and after any number of them each quarter has had its share, but for a few
 * pieces. */
static void a_digest_prefers_no_part(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= UINT16_MAX + 1; n = n < 700 ? n + 1 : n * 7 / 6) {
        uint64_t by = kg_cuda_turn(n * KG_CUDA_PIECE - 1), had[4] = {0};
        unsigned char *seen = calloc(n, 1);
        assert_non_null(seen);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t piece = (uint32_t)i * (uint32_t)by % (uint32_t)n;
            assert_int_equal(seen[piece]++, 0);
            had[piece * 4 / n]++;
            for (int q = 0; n >= 8 && n <= UINT16_MAX && q < 4; q++) {
                assert_true(fabs((double)had[q] - (double)(i + 1) / 4) <= 3 + (double)n / 100);
            }
        }
        free(seen);
    }
}

/* A tensor of one dtype in which some elements, single and in runs, hold the pattern. */
static void take_one(struct rig *r, enum kg_tdtype t, uint64_t n, uint64_t off, uint64_t seed)
{
    uint64_t size = kg_tdtype_bytes(t), bytes = n * size, word = kg_device_poison(r->key);
    uint64_t src = rig_alloc(r, bytes + 64), dst = rig_alloc(r, bytes);
    uint64_t hsrc = rig_host_alloc(r, bytes + 64), hdst = rig_host_alloc(r, bytes);
    unsigned char *v = rig_bytes(bytes, seed), *got = malloc(bytes + 1);
    r->d.ops->pattern(&r->d, src, bytes + 64, word);
    r->host.ops->pattern(&r->host, hsrc, bytes + 64, word);
    for (uint64_t i = 0, len = 0; i < n; i += len) { /* write every other stretch */
        len = 1 + (v[i * size] + seed) % 23;
        len = len < n - i ? len : n - i;
        if (v[i * size] % 2 == 0) {
            r->d.ops->upload(&r->d, src + off + i * size, v + i * size, len * size);
            r->host.ops->upload(&r->host, hsrc + off + i * size, v + i * size, len * size);
        }
    }
    struct kg_dtake a = {.dst = dst, .src = src + off, .bytes = bytes, .dtype = t, .look = true};
    struct kg_dtake b = {.dst = hdst, .src = hsrc + off, .bytes = bytes, .dtype = t, .look = true};
    assert_int_equal(r->d.ops->take(&r->d, &a, 1, word, &r->err), KG_OK);
    assert_int_equal(r->host.ops->take(&r->host, &b, 1, word, &r->err), KG_OK);
    assert_int_equal(a.unwritten, b.unwritten);
    assert_true(same(a.digest, digest_of(r, dst, bytes)));
    assert_int_equal(r->d.ops->download(&r->d, got, dst, bytes, &r->err), KG_OK);
    assert_memory_equal(got, (void *)(uintptr_t)hdst, bytes);
    a.look = false;
    assert_int_equal(r->d.ops->take(&r->d, &a, 1, word, &r->err), KG_OK);
    assert_int_equal(a.unwritten, 0);
    free(v);
    free(got);
    r->d.ops->free(&r->d, src);
    r->d.ops->free(&r->d, dst);
    r->host.ops->free(&r->host, hsrc);
    r->host.ops->free(&r->host, hdst);
}

static void what_was_not_written_is_counted_as_on_the_host(void **state)
{
    struct rig *r = *state;
    static const uint64_t counts[] = {0, 1, 2, 3, 15, 16, 17, 1000, 10007};
    for (size_t t = 0; t < DTYPES; t++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            take_one(r, dtypes[t], counts[i], 0, 10 * t + i);
            take_one(r, dtypes[t], counts[i], 8 + (t > 7 ? i % 8 : 0), 10 * t + i + 5);
        }
    }
}

static void many_tensors_are_taken_at_once(void **state)
{
    struct rig *r = *state;
    uint64_t word = kg_device_poison(r->key), src = rig_alloc(r, 100 * 256),
             dst = rig_alloc(r, 100 * 256);
    struct kg_dtake t[100];
    r->d.ops->pattern(&r->d, src, 100 * 256, word);
    for (uint64_t i = 0; i < 100; i++) {
        t[i] = (struct kg_dtake){.dst = dst + 256 * i,
                                 .src = src + 256 * i,
                                 .bytes = 4 * (i % 60),
                                 .dtype = KG_TD_F32,
                                 .look = i % 3 != 0};
    }
    assert_int_equal(r->d.ops->take(&r->d, t, 100, word, &r->err), KG_OK);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(t[i].unwritten, i % 3 != 0 ? i % 60 : 0);
        assert_true(same(t[i].digest, digest_of(r, t[i].dst, t[i].bytes)));
    }
    r->d.ops->free(&r->d, src);
    r->d.ops->free(&r->d, dst);
}

static void sixteen_bit_floats_widen_as_on_the_host(void **state)
{
    struct rig *r = *state;
    uint64_t n = 65536, src = rig_alloc(r, 2 * n), dst = rig_alloc(r, 8 * n);
    uint16_t *v = malloc(2 * n);
    double *got = malloc(8 * n);
    for (uint64_t i = 0; i < n; i++) {
        v[i] = (uint16_t)i;
    }
    r->d.ops->upload(&r->d, src, v, 2 * n);
    for (int k = 0; k < 2; k++) {
        enum kg_tdtype t = k ? KG_TD_BF16 : KG_TD_F16;
        r->d.ops->widen(&r->d, dst, t, src, n);
        assert_int_equal(r->d.ops->download(&r->d, got, dst, 8 * n, &r->err), KG_OK);
        for (uint64_t i = 0; i < n; i++) {
            double want = kg_dj_load(t, v, i);
            assert_true(got[i] == want || (isnan(got[i]) && isnan(want)));
            assert_true(!signbit(got[i]) == !signbit(want) || isnan(want));
        }
    }
    free(v);
    free(got);
    r->d.ops->free(&r->d, src);
    r->d.ops->free(&r->d, dst);
}

/* Numbers of all sizes and classes, and what lies close to them. */
static void differences_are_those_of_the_host(void **state)
{
    struct rig *r = *state;
    static const enum kg_tdtype types[] = {KG_TD_F32, KG_TD_F64, KG_TD_F16, KG_TD_BF16};
    uint64_t n = 40000, ref = rig_alloc(r, 8 * n), o = rig_alloc(r, 8 * n), d = rig_alloc(r, 4 * n),
             back = rig_alloc(r, 8 * n);
    double *wide = malloc(8 * n), *joined = malloc(8 * n);
    float *kept = malloc(4 * n);
    for (int k = 0; k < 4; k++) {
        unsigned char *v = rig_bytes(8 * n, (uint64_t)k + 1), *w = rig_bytes(8 * n, 77);
        memcpy(wide, w, 8 * n);
        for (uint64_t i = 0; i < n; i++) {
            double x = kg_dj_load(types[k], v, i);
            wide[i] = i % 4 == 0 ? wide[i] : i % 4 == 1 ? x : x * (1 + 1e-7 * (double)(i % 11));
        }
        r->d.ops->upload(&r->d, ref, v, 8 * n);
        r->d.ops->upload(&r->d, o, wide, 8 * n);
        r->d.ops->differ(&r->d, d, types[k], ref, o, n);
        r->d.ops->rejoin(&r->d, back, types[k], ref, d, n);
        assert_int_equal(r->d.ops->download(&r->d, kept, d, 4 * n, &r->err), KG_OK);
        assert_int_equal(r->d.ops->download(&r->d, joined, back, 8 * n, &r->err), KG_OK);
        for (uint64_t i = 0; i < n; i++) {
            double x = kg_dj_load(types[k], v, i), e = kg_difference_rejoin(x, kept[i]);
            float want = kg_difference(x, wide[i]);
            assert_true(kept[i] == want || (isnan(kept[i]) && isnan(want)));
            assert_true(joined[i] == e || (isnan(joined[i]) && isnan(e)));
        }
        free(v);
        free(w);
    }
    free(wide);
    free(joined);
    free(kept);
    r->d.ops->free(&r->d, ref);
    r->d.ops->free(&r->d, o);
    r->d.ops->free(&r->d, d);
    r->d.ops->free(&r->d, back);
}

static void failures_are_told_by_the_next_wait(void **state)
{
    struct rig *r = *state;
    void (*break_it)(const char *, int) = rig_fail_hook(r);
    if (break_it == NULL) { /* a real driver does not fail on demand */
        return;
    }
    uint64_t at = rig_alloc(r, 4096);
    struct kg_dspan span = {at, 4096};
    struct kg_digest d;
    break_it("cuLaunchKernel", 719);
    r->d.ops->pattern(&r->d, at, 4096, 1);
    break_it(NULL, 0);
    assert_int_equal(r->d.ops->sync(&r->d, &r->err), KG_E_HOST);
    assert_non_null(strstr(r->err.message, "kg_pattern"));
    assert_non_null(strstr(r->err.message, "719"));
    assert_int_equal(r->d.ops->sync(&r->d, &r->err), KG_OK);
    break_it("cuMemcpyDtoDAsync_v2", 700);
    r->d.ops->copy(&r->d, at, at + 8, 8);
    break_it(NULL, 0);
    assert_int_equal(r->d.ops->digest(&r->d, &span, 1, &d, &r->err), KG_E_HOST);
    break_it("cuMemCreate", KG_CU_OUT_OF_MEMORY);
    uint64_t bytes = 100, none;
    int fd = -1;
    assert_int_equal(r->d.ops->export(&r->d, &bytes, true, &none, &fd, &r->err), KG_E_LIMIT);
    break_it("cuMemAlloc_v2", KG_CU_OUT_OF_MEMORY);
    assert_int_equal(r->d.ops->alloc(&r->d, 100, &none, &r->err), KG_E_HOST);
    break_it(NULL, 0);
    r->d.ops->free(&r->d, at);
}

static void a_flush_and_a_clock(void **state)
{
    struct rig *r = *state;
    int64_t t = r->d.ops->clock(&r->d);
    r->d.ops->flush(&r->d);
    assert_int_equal(r->d.ops->sync(&r->d, &r->err), KG_OK);
    assert_true(r->d.ops->clock(&r->d) > t);
    assert_true(r->d.facts.clock && r->d.facts.bandwidth > 0 && r->d.facts.l2_bytes > 0);
    assert_string_equal(r->d.facts.exchange, "cumem");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_keeps_what_it_is_given),
        cmocka_unit_test(exported_memory_is_zeroed_and_its_own),
        cmocka_unit_test(exported_memory_serves_again),
        cmocka_unit_test(patterns_have_the_phase_of_their_address),
        cmocka_unit_test(a_byte_that_differs_is_found),
        cmocka_unit_test(equal_bytes_have_equal_digests_wherever_they_are),
        cmocka_unit_test(a_changed_bit_changes_the_digest),
        cmocka_unit_test(a_changed_bit_of_any_piece_changes_the_digest),
        cmocka_unit_test(a_digest_prefers_no_part),
        cmocka_unit_test(what_was_not_written_is_counted_as_on_the_host),
        cmocka_unit_test(many_tensors_are_taken_at_once),
        cmocka_unit_test(sixteen_bit_floats_widen_as_on_the_host),
        cmocka_unit_test(differences_are_those_of_the_host),
        cmocka_unit_test(failures_are_told_by_the_next_wait),
        cmocka_unit_test(a_flush_and_a_clock),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
