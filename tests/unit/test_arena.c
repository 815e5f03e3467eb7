#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/rng.h"

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void zeroed_and_aligned(void **state)
{
    (void)state;
    struct kg_arena a;
    struct kg_err err = KG_ERR_INIT;
    kg_arena_init(&a, "test", 1 << 20);
    print_message("seed 1,2\n");
    struct kg_rng r;
    kg_rng_init(&r, (struct kg_key){{1, 2}}, 0);
    unsigned char *before = NULL;
    size_t before_n = 0;
    for (int i = 0; i < 300; i++) {
        size_t n = kg_rng_below(&r, i % 20 == 0 ? 20000 : 100);
        unsigned char *p = kg_arena_alloc(&a, n, &err);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(p[k], 0);
        }
        memset(p, 0xA5, n);
        for (size_t k = 0; k < before_n; k++) {
            assert_int_equal(before[k], 0xA5);
        }
        before = p;
        before_n = n;
    }
    kg_rng_deinit(&r);
    kg_arena_deinit(&a);
}

static void no_bytes_is_an_address(void **state)
{
    (void)state;
    struct kg_arena a;
    struct kg_err err = KG_ERR_INIT;
    kg_arena_init(&a, "test", 100);
    void *p = kg_arena_alloc(&a, 0, &err), *q = kg_arena_alloc(&a, 0, &err);
    assert_non_null(p);
    assert_ptr_not_equal(p, q);
    kg_arena_deinit(&a);
}

static void cap_is_an_error_with_a_name(void **state)
{
    (void)state;
    struct kg_arena a;
    struct kg_err err = KG_ERR_INIT;
    kg_arena_init(&a, "evaluation", 64);
    assert_non_null(kg_arena_alloc(&a, 48, &err));
    assert_null(kg_arena_alloc(&a, 17, &err));
    assert_int_equal(err.code, KG_E_LIMIT);
    assert_string_equal(err.message,
                        "evaluation: memory limit of 64 bytes reached (48 in use, 17 wanted)");
    /* What still fits is still given. */
    assert_non_null(kg_arena_alloc(&a, 16, &err));
    assert_null(kg_arena_alloc(&a, 1, &err));
    assert_null(kg_arena_alloc(&a, SIZE_MAX, &err));
    assert_null(kg_arena_dup(&a, "x", SIZE_MAX, &err));
    assert_null(kg_arena_printf(&a, &err, "%s", "text"));
    assert_int_equal(err.code, KG_E_LIMIT);
    kg_arena_deinit(&a);
}

static void exhausted_host_is_an_error(void **state)
{
    (void)state;
    struct kg_arena a;
    struct kg_err err = KG_ERR_INIT;
    kg_arena_init(&a, "huge", SIZE_MAX);
    volatile size_t impossible = (size_t)PTRDIFF_MAX - 100;
    assert_null(kg_arena_alloc(&a, impossible, &err));
    assert_int_equal(err.code, KG_E_HOST);
    assert_non_null(strstr(err.message, "huge: this machine is out of memory"));
    impossible = SIZE_MAX - 15;
    assert_null(kg_arena_alloc(&a, impossible, &err));
    assert_int_equal(err.code, KG_E_HOST);
    assert_non_null(kg_arena_alloc(&a, 100, &err));
    kg_arena_deinit(&a);
}

static void reset_gives_everything_back(void **state)
{
    (void)state;
    struct kg_arena a;
    struct kg_err err = KG_ERR_INIT;
    kg_arena_init(&a, "test", 1000);
    for (int i = 0; i < 100; i++) {
        char *p = kg_arena_alloc(&a, 1000 - 8, &err);
        assert_non_null(p);
        assert_int_equal(p[0], 0);
        p[0] = 1;
        kg_arena_reset(&a);
        assert_int_equal(a.used, 0);
        assert_string_equal(a.name, "test");
    }
    kg_arena_deinit(&a);
}

static void text(void **state)
{
    (void)state;
    struct kg_arena a;
    struct kg_err err = KG_ERR_INIT;
    kg_arena_init(&a, "test", 10000);
    assert_string_equal(kg_arena_dup(&a, "abcdef", 3, &err), "abc");
    assert_string_equal(kg_arena_dup(&a, NULL, 0, &err), "");
    assert_memory_equal(kg_arena_dup(&a, "a\0b", 3, &err), "a\0b", 4);
    assert_string_equal(kg_arena_printf(&a, &err, "%d %s", 5, "x"), "5 x");
    assert_int_equal(strlen(kg_arena_printf(&a, &err, "%*d", 3000, 5)), 3000);
    kg_arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_and_aligned),          cmocka_unit_test(no_bytes_is_an_address),
        cmocka_unit_test(cap_is_an_error_with_a_name), cmocka_unit_test(exhausted_host_is_an_error),
        cmocka_unit_test(reset_gives_everything_back), cmocka_unit_test(text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
