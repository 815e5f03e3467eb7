#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/rng.h"

/* Under AddressSanitizer an impossible request must return NULL as malloc does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void empty_is_a_string(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 10);
    assert_string_equal(b.data, "");
    assert_int_equal(b.len, 0);
    kg_buf_add(&b, "x", 0);
    kg_buf_adds(&b, "");
    assert_string_equal(b.data, "");
    assert_true(kg_buf_ok(&b));
    kg_buf_deinit(&b);
    assert_string_equal(b.data, "");
}

static void appends_and_terminates(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 1000);
    kg_buf_adds(&b, "ab");
    kg_buf_addc(&b, 'c');
    kg_buf_add(&b, "\0d", 2);
    kg_buf_addf(&b, "%d-%s", 7, "x");
    assert_int_equal(b.len, 8);
    assert_memory_equal(b.data, "abc\0d7-x", 9);
    kg_buf_deinit(&b);
}

static void long_format(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 5000);
    kg_buf_addf(&b, "%*d", 3000, 5);
    assert_int_equal(b.len, 3000);
    assert_int_equal(b.data[2999], '5');
    assert_int_equal(strlen(b.data), 3000);
    kg_buf_deinit(&b);
}

static void maximum_keeps_what_fits(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 5);
    kg_buf_adds(&b, "abcd");
    assert_true(kg_buf_ok(&b));
    kg_buf_adds(&b, "efgh");
    assert_false(kg_buf_ok(&b));
    assert_string_equal(b.data, "abcde");
    kg_buf_addc(&b, 'x');
    kg_buf_addf(&b, "%d", 1);
    assert_string_equal(b.data, "abcde");
    kg_buf_reset(&b);
    assert_true(kg_buf_ok(&b));
    assert_string_equal(b.data, "");
    kg_buf_adds(&b, "12345");
    assert_true(kg_buf_ok(&b));
    kg_buf_deinit(&b);
}

static void maximum_of_zero(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 0);
    kg_buf_addc(&b, 'x');
    assert_false(kg_buf_ok(&b));
    assert_string_equal(b.data, "");
    kg_buf_deinit(&b);
}

static void exhausted_memory_truncates(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, SIZE_MAX);
    kg_buf_adds(&b, "kept");
    volatile size_t impossible = (size_t)PTRDIFF_MAX - 10;
    static const char source[4096]; /* of which only what fits is read */
    kg_buf_add(&b, source, impossible);
    assert_false(kg_buf_ok(&b));
    assert_memory_equal(b.data, "kept", 4);
    assert_int_equal(b.data[b.len], '\0');
    kg_buf_deinit(&b);
}

static void detach_hands_over(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 100);
    kg_buf_adds(&b, "mine");
    char *text = kg_buf_detach(&b);
    assert_string_equal(text, "mine");
    assert_int_equal(b.len, 0);
    assert_int_equal(b.max, 100);
    kg_buf_adds(&b, "next");
    assert_string_equal(text, "mine");
    free(text);
    kg_buf_deinit(&b);
    text = kg_buf_detach(&b);
    assert_string_equal(text, "");
    free(text);
}

static void random_appends_equal_a_copy(void **state)
{
    (void)state;
    struct kg_key seed = {{11, 12}};
    struct kg_rng r;
    kg_rng_init(&r, seed, 0);
    print_message("seed 11,12\n");
    for (int round = 0; round < 50; round++) {
        unsigned char want[4096], piece[300];
        size_t max = kg_rng_below(&r, sizeof want), len = 0;
        struct kg_buf b;
        kg_buf_init(&b, max);
        bool cut = false;
        for (int i = 0; i < 30; i++) {
            size_t n = kg_rng_below(&r, sizeof piece);
            kg_rng_bytes(&r, piece, n);
            kg_buf_add(&b, piece, n);
            size_t fits = n < max - len ? n : max - len;
            memcpy(want + len, piece, fits);
            len += fits;
            cut = cut || fits < n;
        }
        assert_int_equal(b.len, len);
        assert_memory_equal(b.data, want, len);
        assert_int_equal(b.data[len], '\0');
        assert_int_equal(kg_buf_ok(&b), !cut);
        kg_buf_deinit(&b);
    }
    kg_rng_deinit(&r);
}

static void reals_are_short_and_exact(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {3, "3"},
                 {1e300, "1e+300"},
                 {-0.5, "-0.5"},
                 {1.0 / 3, "0.3333333333333333"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {0, "0"},
                 {5e-324, "4.94065645841247e-324"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_buf b;
        kg_buf_init(&b, 64);
        kg_buf_add_real(&b, cases[i].value);
        assert_string_equal(b.data, cases[i].text);
        assert_true(strtod(b.data, NULL) == cases[i].value);
        kg_buf_deinit(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_is_a_string),
        cmocka_unit_test(appends_and_terminates),
        cmocka_unit_test(long_format),
        cmocka_unit_test(maximum_keeps_what_fits),
        cmocka_unit_test(maximum_of_zero),
        cmocka_unit_test(exhausted_memory_truncates),
        cmocka_unit_test(detach_hands_over),
        cmocka_unit_test(random_appends_equal_a_copy),
        cmocka_unit_test(reals_are_short_and_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
