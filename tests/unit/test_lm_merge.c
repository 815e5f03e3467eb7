#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/rng.h"
#include "lm/tok/bytes.h"
#include "lm/tok/merge.h"
#include "lm/tok/presplit.h"

static void bytes_have_one_spelling_each(void **state)
{
    (void)state;
    struct kg_buf a, b;
    char all[256];
    kg_buf_init(&a, 1000);
    kg_buf_init(&b, 1000);
    for (int i = 0; i < 256; i++) {
        all[i] = (char)i;
        assert_int_equal(lm_bytes_of(lm_bytes_char((unsigned char)i)), i);
    }
    lm_bytes_spell(all, 256, &a);
    assert_true(lm_bytes_unspell(a.data, a.len, &b));
    assert_int_equal(b.len, 256);
    assert_memory_equal(b.data, all, 256);
    assert_int_equal(lm_bytes_char(' '), 0x120);
    assert_int_equal(lm_bytes_char('\n'), 0x10A);
    assert_int_equal(lm_bytes_char(173), 0x143);
    assert_false(lm_bytes_unspell("a b", 3, &b));
    assert_int_equal(lm_bytes_of(0x144), -1);
    kg_buf_deinit(&a);
    kg_buf_deinit(&b);
}

/* Merging as it is defined, without a heap. */
static size_t merge_slowly(const struct lm_merges *m, int32_t *ids, size_t n)
{
    for (;;) {
        size_t best = n;
        int32_t rank, id, best_rank = INT32_MAX, best_id = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            if (lm_merges_find(m, ids[i], ids[i + 1], &rank, &id) && rank < best_rank) {
                best = i;
                best_rank = rank;
                best_id = id;
            }
        }
        if (best == n) {
            return n;
        }
        ids[best] = best_id;
        for (size_t i = best + 1; i + 1 < n; i++) {
            ids[i] = ids[i + 1];
        }
        n--;
    }
}

/* Random merges over a small alphabet, so that pairs overlap and compete. */
static void the_heap_merges_as_defined(void **state)
{
    (void)state;
    struct kg_rng r;
    struct lm_merge_room room = {0};
    kg_rng_init(&r, (struct kg_key){{29, 1}}, 0);
    for (int round = 0; round < 300; round++) {
        struct lm_merges m;
        int32_t symbols = 2 + (int32_t)kg_rng_below(&r, 4), last = symbols + 30;
        assert_true(lm_merges_init(&m, 30));
        for (int32_t id = symbols; id < last; id++) {
            lm_merges_add(&m, (int32_t)kg_rng_below(&r, (uint64_t)id),
                          (int32_t)kg_rng_below(&r, (uint64_t)id), id - symbols, id);
        }
        int32_t a[200], b[200];
        size_t n = kg_rng_below(&r, 200), k = n;
        for (size_t i = 0; i < n; i++) {
            a[i] = b[i] = (int32_t)kg_rng_below(&r, (uint64_t)symbols);
        }
        assert_true(lm_merge_word(&m, &room, a, &n));
        k = merge_slowly(&m, b, k);
        assert_int_equal(n, k);
        assert_memory_equal(a, b, n * sizeof *a);
        lm_merges_deinit(&m);
    }
    lm_merge_room_deinit(&room);
    kg_rng_deinit(&r);
}

static void expect_rewrite(const char *pattern, const char *want)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf b;
    kg_buf_init(&b, 4000);
    enum kg_code code = lm_presplit_rewrite(pattern, "p", &b, &err);
    if (code == KG_OK) {
        assert_string_equal(b.data, want);
    } else {
        assert_string_equal(err.message, want);
    }
    kg_buf_deinit(&b);
}

#define S                                                                                          \
    "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}"    \
    "\\x{205F}\\x{3000}"

static void patterns_are_rewritten_or_refused(void **state)
{
    (void)state;
    expect_rewrite("\\s+|[^\\s\\p{L}]", "[" S "]+|[^" S "\\p{L}]");
    expect_rewrite("\\S\\r\\n[\\]a-z-]", "[^" S "]\\r\\n[\\]a-z-]");
    expect_rewrite("\\p{N}{1,3}", "\\p{N}{1,3}");
    expect_rewrite("a\\h",
                   "p: the pattern has an escape that is read differently elsewhere at byte "
                   "1: not supported");
    expect_rewrite("[a\\S]", "p: the pattern has \\S, or a range that ends in \\s, in a class at "
                             "byte 2: not supported");
    expect_rewrite("[a[b]]", "p: the pattern has a class within a class at byte 2: not supported");
    expect_rewrite("^a", "p: the pattern has an anchor at byte 0: not supported");
    expect_rewrite("a{2}+", "p: the pattern has { that is not the usual count at byte 1: not "
                            "supported");
    expect_rewrite("a\\", "p: the pattern has an escape that is read differently elsewhere at byte "
                          "1: not supported");
    struct kg_err err = KG_ERR_INIT;
    struct lm_presplit *p;
    assert_int_equal(lm_presplit_create("a*", "p", &p, &err), KG_E_INPUT);
    assert_string_equal(err.message, "p: the pattern can match the empty text");
    assert_int_equal(lm_presplit_create("(a", "p", &p, &err), KG_E_INPUT);
    assert_string_equal(err.message, "p: not a pattern: missing closing parenthesis");
}

/* A pattern that needs forever on this text is an error, not a hang. */
static void a_hostile_pattern_ends(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_presplit *p;
    size_t end;
    char text[42];
    memset(text, 'a', 40);
    text[40] = 'c';
    text[41] = 'b';
    assert_int_equal(lm_presplit_create("((a|aa)+(a|aa)+)+b", "p", &p, &err), KG_OK);
    assert_int_equal(lm_presplit_next(p, text, 42, 0, &end, &err), KG_E_LIMIT);
    lm_presplit_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_one_spelling_each),
        cmocka_unit_test(the_heap_merges_as_defined),
        cmocka_unit_test(patterns_are_rewritten_or_refused),
        cmocka_unit_test(a_hostile_pattern_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
