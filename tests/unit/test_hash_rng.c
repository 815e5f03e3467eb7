#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/rng.h"

/* Source: FIPS 180-2, B.1 and B.2; the empty string: NIST CAVP. */
static void sha256_known_answers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char hex[KG_SHA256_HEX];
        kg_sha256_hex(cases[i].text, strlen(cases[i].text), hex);
        assert_string_equal(hex, cases[i].hex);
    }
}

static void hash_parts(const char *const *parts, size_t n, char out[KG_SHA256_HEX])
{
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    for (size_t i = 0; i < n; i++) {
        kg_sha256_part(&h, parts[i], strlen(parts[i]));
    }
    kg_sha256_end(&h, out);
}

static void parts_do_not_collide(void **state)
{
    (void)state;
    const char *splits[][3] = {{"ab", "c", ""}, {"a", "bc", ""}, {"", "abc", ""}, {"abc", "", ""}};
    char hex[5][KG_SHA256_HEX];
    for (int i = 0; i < 4; i++) {
        hash_parts(splits[i], 3, hex[i]);
    }
    hash_parts(splits[3], 1, hex[4]);
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(hex[i], hex[j]);
        }
    }
    /* One part is SHA-256 of its length (8 bytes, little endian) and its bytes. */
    char whole[KG_SHA256_HEX];
    kg_sha256_hex("\3\0\0\0\0\0\0\0abc", 11, whole);
    assert_string_equal(hex[4], whole);
}

/* AES-128 of one block by libcrypto's own ECB mode: the definition that the generator must meet. */
static void aes_block(const unsigned char key[16], const unsigned char in[16],
                      unsigned char out[16])
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n = 0;
    assert_int_equal(EVP_EncryptInit_ex(ctx, EVP_aes_128_ecb(), NULL, key, NULL), 1);
    assert_int_equal(EVP_EncryptUpdate(ctx, out, &n, in, 16), 1);
    EVP_CIPHER_CTX_free(ctx);
}

/* Source: NIST SP 800-38D (GCM) test case 1: E(0, 0) and E(0, 1). */
static void zero_key_known_answer(void **state)
{
    (void)state;
    static const unsigned char want[32] = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b,
                                           0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e,
                                           0x58, 0xe2, 0xfc, 0xce, 0xfa, 0x7e, 0x30, 0x61,
                                           0x36, 0x7f, 0x1d, 0x57, 0xa4, 0xe7, 0x45, 0x5a};
    unsigned char got[32];
    struct kg_rng r;
    kg_rng_init(&r, (struct kg_key){{0, 0}}, 0);
    kg_rng_bytes(&r, got, sizeof got);
    assert_memory_equal(got, want, sizeof want);
    kg_rng_deinit(&r);
}

/* Key of FIPS-197, C.1; its block is a counter block (stream 0x0011223344556677, number
 * 0x8899aabbccddeeff) that is too far to reach by reading, so the oracle is tied to the published
 * answer first, and the generator to the oracle at the start of that stream. */
static void block_order_is_stream_then_number(void **state)
{
    (void)state;
    unsigned char key[16], plain[16], got[16 * 70], want[16];
    static const unsigned char fips[16] = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                                           0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
    for (unsigned i = 0; i < 16; i++) {
        key[i] = (unsigned char)i;
        plain[i] = (unsigned char)(i * 0x11);
    }
    aes_block(key, plain, want);
    assert_memory_equal(want, fips, 16);
    struct kg_key k;
    assert_true(kg_key_parse("000102030405060708090a0b0c0d0e0f", &k));
    struct kg_rng r;
    kg_rng_init(&r, k, 0x0011223344556677);
    kg_rng_bytes(&r, got, sizeof got);
    for (unsigned i = 0; i < 70; i++) {
        memset(plain + 8, 0, 8);
        plain[15] = (unsigned char)i;
        aes_block(key, plain, want);
        assert_memory_equal(got + 16 * i, want, 16);
    }
    kg_rng_deinit(&r);
}

/* Where the number of a block has grown beyond two bytes. */
static void far_blocks_are_aes_too(void **state)
{
    (void)state;
    enum { FAR = 65536 + 300 };
    unsigned char key[16] = {0}, plain[16] = {0}, want[16], *got = malloc(16 * FAR);
    struct kg_rng r;
    assert_non_null(got);
    key[15] = 7;
    plain[7] = 5;
    kg_rng_init(&r, (struct kg_key){{0, 7}}, 5);
    kg_rng_bytes(&r, got, 16 * FAR);
    for (unsigned i = 0; i < FAR; i += i < 600 ? 1 : 97) {
        for (int k = 0; k < 4; k++) {
            plain[15 - k] = (unsigned char)(i >> (8 * k));
        }
        aes_block(key, plain, want);
        assert_memory_equal(got + 16 * (size_t)i, want, 16);
    }
    kg_rng_deinit(&r);
    free(got);
}

static void reads_may_be_cut_anyhow(void **state)
{
    (void)state;
    enum { N = 100000 };
    unsigned char *whole = malloc(N), *cut = malloc(N);
    struct kg_rng r, sizes;
    struct kg_key key = {{3, 4}};
    print_message("seed 3,4\n");
    kg_rng_init(&r, key, 9);
    kg_rng_bytes(&r, whole, N);
    kg_rng_deinit(&r);
    kg_rng_init(&sizes, key, 10);
    for (int round = 0; round < 20; round++) {
        kg_rng_init(&r, key, 9);
        for (size_t at = 0; at < N;) {
            size_t n = kg_rng_below(&sizes, kg_rng_below(&sizes, 4) == 0 ? 20000 : 40);
            n = n < N - at ? n : N - at;
            kg_rng_bytes(&r, cut + at, n);
            at += n;
        }
        kg_rng_deinit(&r);
        assert_memory_equal(whole, cut, N);
    }
    kg_rng_deinit(&sizes);
    free(whole);
    free(cut);
}

static uint64_t first_of(struct kg_key key, uint64_t stream)
{
    struct kg_rng r;
    kg_rng_init(&r, key, stream);
    uint64_t v = kg_rng_u64(&r);
    kg_rng_deinit(&r);
    return v;
}

static void same_key_same_bits(void **state)
{
    (void)state;
    struct kg_key a = {{1, 2}}, b = {{2, 1}};
    assert_true(first_of(a, 0) == first_of(a, 0));
    assert_false(first_of(a, 0) == first_of(a, 1));
    assert_false(first_of(a, 0) == first_of(b, 0));
}

static void below_is_even(void **state)
{
    (void)state;
    print_message("seed 5,6\n");
    struct kg_rng r;
    kg_rng_init(&r, (struct kg_key){{5, 6}}, 0);
    enum { DRAWS = 120000 };
    static const uint64_t sizes[] = {2, 3, 7, 10, 60};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t n = sizes[s], seen[60] = {0};
        for (int i = 0; i < DRAWS; i++) {
            uint64_t v = kg_rng_below(&r, n);
            assert_true(v < n);
            seen[v]++;
        }
        double expected = (double)DRAWS / (double)n, chi2 = 0;
        for (uint64_t v = 0; v < n; v++) {
            double d = (double)seen[v] - expected;
            chi2 += d * d / expected;
        }
        /* Five standard deviations above the mean of chi-square with n-1 degrees. */
        double degrees = (double)(n - 1);
        assert_true(chi2 < degrees + 5 * sqrt(2 * degrees));
    }
    kg_rng_deinit(&r);
}

/* n = 3 * 2^62: a plain remainder would give the first third twice as often. */
static void below_has_no_bias_at_large_n(void **state)
{
    (void)state;
    print_message("seed 7,8\n");
    struct kg_rng r;
    kg_rng_init(&r, (struct kg_key){{7, 8}}, 0);
    uint64_t n = (uint64_t)3 << 62, thirds[3] = {0};
    for (int i = 0; i < 30000; i++) {
        uint64_t v = kg_rng_below(&r, n);
        assert_true(v < n);
        thirds[v >> 62]++;
    }
    for (int i = 0; i < 3; i++) {
        assert_in_range(thirds[i], 9500, 10500);
    }
    assert_int_equal(kg_rng_below(&r, 1), 0);
    kg_rng_deinit(&r);
}

static void unit_is_half_open(void **state)
{
    (void)state;
    struct kg_rng r;
    kg_rng_init(&r, (struct kg_key){{9, 9}}, 0);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        double u = kg_rng_unit(&r);
        assert_true(u >= 0 && u < 1);
        sum += u;
    }
    assert_true(fabs(sum / 100000 - 0.5) < 0.005);
    kg_rng_deinit(&r);
}

static bool same_key(struct kg_key a, struct kg_key b)
{
    return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

static void derived_keys_differ(void **state)
{
    (void)state;
    struct kg_key k = {{1, 2}};
    struct kg_key a = kg_key_derive(k, "inputs", 1);
    assert_true(same_key(a, kg_key_derive(k, "inputs", 1)));
    assert_false(same_key(a, kg_key_derive(k, "inputs", 2)));
    assert_false(same_key(a, kg_key_derive(k, "input", 1)));
    assert_false(same_key(a, kg_key_derive(k, "inputs\001", 1)));
    assert_false(same_key(a, kg_key_derive(k, "", 1)));
    assert_false(same_key(a, kg_key_derive((struct kg_key){{2, 1}}, "inputs", 1)));
    assert_false(same_key(a, k));
    char hex[33];
    kg_key_hex(a, hex);
    /* Golden: replaying a record needs the same keys for ever. */
    assert_string_equal(hex, "51c7f4afa2ec5757e275f5ad0a940673");
}

static void secrets_differ(void **state)
{
    (void)state;
    struct kg_key a, b;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_rng_secret(&a, &err), KG_OK);
    assert_int_equal(kg_rng_secret(&b, &err), KG_OK);
    assert_false(same_key(a, b));
}

static void key_text(void **state)
{
    (void)state;
    struct kg_key k = {{0x0123456789abcdef, 0xfedcba9876543210}}, back;
    char hex[33];
    kg_key_hex(k, hex);
    assert_string_equal(hex, "0123456789abcdeffedcba9876543210");
    assert_true(kg_key_parse(hex, &back));
    assert_true(same_key(k, back));
    assert_true(kg_key_parse("0123456789ABCDEFFEDCBA9876543210", &back));
    assert_true(same_key(k, back));
    static const char *const bad[] = {"",
                                      "0123456789abcdeffedcba987654321",
                                      "0123456789abcdeffedcba98765432100",
                                      "0123456789abcdeffedcba987654321g",
                                      "0x23456789abcdeffedcba9876543210",
                                      " 123456789abcdeffedcba9876543210"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(kg_key_parse(bad[i], &back));
    }
    assert_true(same_key(k, back));
}

static void wall_clock_takes_offsets(void **state)
{
    (void)state;
    int64_t now = kg_clock_wall_ms(), steady = kg_clock_ns();
    assert_true(now > 1600000000000);
    kg_clock_wall_inject(-3600000);
    assert_true(kg_clock_wall_ms() < now - 3000000);
    assert_true(kg_clock_ns() >= steady);
    kg_clock_wall_inject(0);
    assert_true(kg_clock_wall_ms() >= now);
}

/* Each bit once before one comes again, and the order is drawn. */
static void bits_are_dealt(void **state)
{
    (void)state;
    const uint32_t all = 1u << 1 | 1u << 4 | 1u << 31;
    struct kg_rng r;
    uint32_t dealt = 0, first = 0;
    kg_rng_init(&r, (struct kg_key){{1, 2}}, 0);
    for (int round = 0; round < 100; round++) {
        uint32_t seen = 0;
        for (int i = 0; i < 3; i++) {
            uint32_t bit = 1u << kg_rng_deal(&r, all, &dealt);
            first |= i == 0 ? bit : 0;
            assert_true((all & bit) != 0 && (seen & bit) == 0);
            seen |= bit;
        }
    }
    assert_int_equal(first, all);
    kg_rng_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_known_answers),
        cmocka_unit_test(parts_do_not_collide),
        cmocka_unit_test(zero_key_known_answer),
        cmocka_unit_test(block_order_is_stream_then_number),
        cmocka_unit_test(far_blocks_are_aes_too),
        cmocka_unit_test(reads_may_be_cut_anyhow),
        cmocka_unit_test(same_key_same_bits),
        cmocka_unit_test(below_is_even),
        cmocka_unit_test(below_has_no_bias_at_large_n),
        cmocka_unit_test(unit_is_half_open),
        cmocka_unit_test(derived_keys_differ),
        cmocka_unit_test(secrets_differ),
        cmocka_unit_test(key_text),
        cmocka_unit_test(wall_clock_takes_offsets),
        cmocka_unit_test(bits_are_dealt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
