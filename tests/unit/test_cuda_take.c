/* Taking tensors on the CUDA row: what arrives, its digest and what is counted, at every alignment
 * and length; many at once, of all dtypes; nothing is left over for the next call. */
#include <string.h>

#include "cuda_rig.h"

#define WORD 0x7ff87ff1fff27ff3u /* four different 16 bits: the phase tells */

static bool same(struct kg_digest a, struct kg_digest b)
{
    return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

static struct kg_digest digest_of(struct rig *r, uint64_t at, uint64_t bytes)
{
    struct kg_dspan span = {at, bytes};
    struct kg_digest d;
    assert_int_equal(r->d.ops->digest(&r->d, &span, 1, &d, &r->err), KG_OK);
    return d;
}

/* Bytes [n] at src arrive at dst, and nothing behind them. */
static void take_bytes(struct rig *r, uint64_t src, uint64_t dst, const unsigned char *v,
                       uint64_t n)
{
    unsigned char *got = malloc(n + 32), behind[32];
    struct kg_dtake t = {.dst = dst, .src = src, .bytes = n, .dtype = KG_TD_U8};
    memset(behind, 0x41, sizeof behind);
    r->d.ops->pattern(&r->d, dst, n + 32, 0x4141414141414141u);
    r->d.ops->upload(&r->d, src, v, n);
    assert_int_equal(r->d.ops->take(&r->d, &t, 1, WORD, &r->err), KG_OK);
    assert_int_equal(r->d.ops->download(&r->d, got, dst, n + 32, &r->err), KG_OK);
    assert_memory_equal(got, v, n);
    assert_memory_equal(got + n, behind, 32);
    r->d.ops->upload(&r->d, dst, v, n); /* the same bytes, put there by somebody else */
    assert_true(same(t.digest, digest_of(r, dst, n)));
    assert_true(same(t.digest, digest_of(r, src, n)));
    assert_int_equal(t.unwritten, 0);
    free(got);
}

static void every_length_arrives_from_everywhere(void **state)
{
    struct rig *r = *state;
    static const uint64_t sizes[] = {0,  1,  7,   8,    9,    15,       16,
                                     17, 31, 255, 4096, 4101, 4 * 4096, (1 << 20) + 3};
    uint64_t most = (1 << 20) + 64, src = rig_alloc(r, most), dst = rig_alloc(r, most);
    unsigned char *v = rig_bytes(most, 11);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint64_t off = 0; off < 17; off += off < 2 || sizes[i] < 100 ? 1 : 7) {
            take_bytes(r, src + off, dst, v + off, sizes[i]);
        }
    }
    free(v);
    r->d.ops->free(&r->d, src);
    r->d.ops->free(&r->d, dst);
}

/* n elements of which every third holds the pattern, and those next to it do but for one bit. */
static uint64_t spoil(unsigned char *v, uint64_t n, uint64_t size, uint64_t phase)
{
    uint64_t held = 0;
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t k = 0; k < size; k++) {
            v[i * size + k] = (unsigned char)(WORD >> (phase + i * size + k) % 8 * 8);
        }
        uint64_t bit = i % (8 * size);
        v[i * size + bit / 8] ^= (unsigned char)(i % 3 != 0) << bit % 8;
        held += i % 3 == 0;
    }
    return held;
}

static void count_floats(struct rig *r, enum kg_tdtype dtype, uint64_t n, uint64_t off)
{
    uint64_t size = kg_tdtype_bytes(dtype), bytes = n * size;
    uint64_t src = rig_alloc(r, bytes + 64), dst = rig_alloc(r, bytes + 64);
    unsigned char *v = malloc(bytes + 1);
    struct kg_dtake t = {
        .dst = dst, .src = src + off, .bytes = bytes, .dtype = dtype, .look = true};
    uint64_t held = spoil(v, n, size, off);
    r->d.ops->pattern(&r->d, src, bytes + 64, WORD); /* what lies behind does not count */
    r->d.ops->upload(&r->d, src + off, v, bytes);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(r->d.ops->take(&r->d, &t, 1, WORD, &r->err), KG_OK);
        assert_int_equal(t.unwritten, held);
    }
    t.look = false;
    assert_int_equal(r->d.ops->take(&r->d, &t, 1, WORD, &r->err), KG_OK);
    assert_int_equal(t.unwritten, 0);
    free(v);
    r->d.ops->free(&r->d, src);
    r->d.ops->free(&r->d, dst);
}

static void floats_that_hold_the_pattern_are_counted(void **state)
{
    struct rig *r = *state;
    static const enum kg_tdtype dtypes[] = {KG_TD_F32, KG_TD_F64, KG_TD_F16, KG_TD_BF16};
    static const uint64_t counts[] = {0, 1, 2, 3, 5, 7, 8, 9, 1023, 4096, 33333};
    for (size_t t = 0; t < 4; t++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (uint64_t off = 0; off < 17; off += i < 8 ? 1 : 5) {
                count_floats(r, dtypes[t], counts[i], off);
            }
        }
    }
}

/* A pattern of zeros: bytes past the end, zeros to the digest, are no elements. */
static void the_end_is_no_element(void **state)
{
    struct rig *r = *state;
    uint64_t src = rig_alloc(r, 256), dst = rig_alloc(r, 256);
    r->d.ops->pattern(&r->d, src, 256, 0);
    for (uint64_t n = 0; n < 40; n++) {
        struct kg_dtake t = {
            .dst = dst, .src = src, .bytes = 2 * n, .dtype = KG_TD_F16, .look = true};
        assert_int_equal(r->d.ops->take(&r->d, &t, 1, 0, &r->err), KG_OK);
        assert_int_equal(t.unwritten, n);
    }
    r->d.ops->free(&r->d, src);
    r->d.ops->free(&r->d, dst);
}

static void dtypes_are_counted_side_by_side(void **state)
{
    struct rig *r = *state;
    static const enum kg_tdtype dtypes[] = {KG_TD_F16, KG_TD_I32, KG_TD_F64, KG_TD_U8,
                                            KG_TD_F32, KG_TD_I64, KG_TD_BOOL};
    enum { N = 131 };
    struct kg_dtake t[N];
    uint64_t src = rig_alloc(r, N * 512), dst = rig_alloc(r, N * 512);
    r->d.ops->pattern(&r->d, src, (uint64_t)N * 512, WORD);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t size = kg_tdtype_bytes(dtypes[i % 7]);
        t[i] = (struct kg_dtake){.dst = dst + 512 * i,
                                 .src = src + 512 * i + i % 9,
                                 .bytes = i % 50 * size,
                                 .dtype = dtypes[i % 7],
                                 .look = i % 5 != 0};
    }
    for (int again = 0; again < 2; again++) {
        assert_int_equal(r->d.ops->take(&r->d, t, N, WORD, &r->err), KG_OK);
        for (uint64_t i = 0; i < N; i++) {
            assert_int_equal(t[i].unwritten, i % 5 != 0 ? i % 50 : 0);
            assert_true(same(t[i].digest, digest_of(r, t[i].dst, t[i].bytes)));
            assert_true(same(t[i].digest, digest_of(r, t[i].src, t[i].bytes)));
        }
    }
    r->d.ops->free(&r->d, src);
    r->d.ops->free(&r->d, dst);
}

static void a_take_that_fails_says_so(void **state)
{
    struct rig *r = *state;
    void (*break_it)(const char *, int) = rig_fail_hook(r);
    if (break_it == NULL) { /* a real driver does not fail on demand */
        return;
    }
    uint64_t at = rig_alloc(r, 512);
    struct kg_dtake t = {.dst = at, .src = at + 256, .bytes = 64, .dtype = KG_TD_I32};
    for (int look = 0; look < 2; look++) {
        t.look = look == 1;
        break_it("cuLaunchKernel", 719);
        assert_int_equal(r->d.ops->take(&r->d, &t, 1, WORD, &r->err), KG_E_HOST);
        assert_non_null(strstr(r->err.message, "kg_take"));
        break_it(NULL, 0);
        assert_int_equal(r->d.ops->take(&r->d, &t, 1, WORD, &r->err), KG_OK);
    }
    r->d.ops->free(&r->d, at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_arrives_from_everywhere),
        cmocka_unit_test(floats_that_hold_the_pattern_are_counted),
        cmocka_unit_test(the_end_is_no_element),
        cmocka_unit_test(dtypes_are_counted_side_by_side),
        cmocka_unit_test(a_take_that_fails_says_so),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
