#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gym/judge/state.h"

/* The judge's parts without its process. */

static const char source[] = "t.c\0"
                             "/*---kgym\n"
                             "name: t\nlevel: 1\nentry: t\n"
                             "dims: {n: 1000}\n"
                             "args:\n"
                             "  - {name: x, type: \"f32[n]\", role: in}\n"
                             "  - {name: y, type: \"f32[n]\", role: out}\n"
                             "---*/\n"
                             "void t(const real *x) { (void)x; }\n";

static struct kg_judge_state s;

static int set_up(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_judge_req req = {.magic = KG_JUDGE_MAGIC, .op = KG_JUDGE_OPEN, .fresh_regions = 1};
    struct kg_judge_rep rep;
    int fds[KG_JUDGE_FDS] = {memfd_create("text", MFD_CLOEXEC)};
    req.text_bytes = sizeof source - 1;
    if (write(fds[0], source, sizeof source - 1) != (ssize_t)sizeof source - 1) {
        return -1;
    }
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        struct kg_region r;
        if (kg_region_create(65536, k % 2 == 0, &r, &err) != KG_OK) {
            return -1;
        }
        req.region_bytes[k] = r.bytes;
        fds[1 + k] = dup(r.fd);
        kg_region_destroy(&r);
    }
    if (kg_judge_state_init(&s, &err) != KG_OK) {
        return -1;
    }
    kg_judge_serve(&s, &req, fds, KG_JUDGE_FDS, &rep);
    return rep.code == KG_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    kg_judge_state_deinit(&s);
    return 0;
}

static struct kg_case case_of(uint64_t key)
{
    return (struct kg_case){.shape = {.dim = {1000}}, .law = KG_LAW_OWN, .key = {{1, key}}};
}

/* Expected answers of a case, made up: value k in every element. */
static void give_expected(const struct kg_case *c, float value)
{
    struct kg_err err = KG_ERR_INIT;
    for (int side = KG_SIDE_FLOAT; side <= KG_SIDE_ORACLE; side++) {
        assert_int_equal(kg_judge_side_reserve(&s.side[side], 1, 8000, &err), KG_OK);
        for (int i = 0; i < 1000; i++) {
            if (side == KG_SIDE_FLOAT) {
                ((float *)s.side[side].data[1])[i] = value;
            } else {
                ((double *)s.side[side].data[1])[i] = value;
            }
        }
        s.side[side].c = *c;
        s.side[side].there = true;
    }
    s.bound_there = false;
}

static void save(uint64_t number)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_case c = case_of(number);
    give_expected(&c, (float)number);
    assert_int_equal(kg_judge_do_save(&s, &c, number, &err), KG_OK);
}

static bool loads(uint64_t number)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_case c = case_of(number);
    bool hit;
    assert_int_equal(kg_judge_do_load(&s, &c, number, &hit, &err), KG_OK);
    if (hit) {
        assert_true(((const float *)s.side[KG_SIDE_FLOAT].view[1])[999] == (float)number);
        assert_true(((const double *)s.side[KG_SIDE_ORACLE].view[1])[999] == (double)number);
        assert_true(s.bound[1].rms == (double)number);
    }
    return hit;
}

static void the_answer_cache_drops_the_least_recently_used(void **state)
{
    (void)state;
    save(1);
    size_t one = s.cached_bytes;
    assert_true(one >= 12000 && one < 16000);
    s.cached_cap = 3 * one;
    save(2);
    save(3);
    assert_true(loads(1)); /* now 2 is the oldest */
    save(4);
    assert_int_equal(s.cached_bytes, 3 * one);
    assert_false(loads(2));
    assert_true(loads(1) && loads(3) && loads(4));
    save(4); /* again: replaces, drops nothing */
    assert_true(loads(1) && loads(3) && loads(4));
    s.cached_cap = one - 1;
    save(9); /* cannot be kept at all, and that is no error */
    assert_false(loads(9));
}

static void save_needs_both_sides(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_case c = case_of(5);
    give_expected(&c, 1);
    s.side[KG_SIDE_ORACLE].there = false;
    assert_int_equal(kg_judge_do_save(&s, &c, 5, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: the oracle's answer to this case was not taken");
}

/* A timed call knows the largest error that earlier inputs of its law showed, else of any law. */
static void timed_calls_use_what_earlier_inputs_showed(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_judgement v;
    struct kg_case known = case_of(20), timed = case_of(21);
    give_expected(&known, 1);
    float *r = s.side[KG_SIDE_FLOAT].data[1], *y;
    for (int i = 0; i < 1000; i++) {
        r[i] = 1 + 1e-4f; /* e_ref 1e-4 */
    }
    assert_int_equal(kg_judge_bounds(&s, &known, &err), KG_OK);
    for (int law = KG_LAW_OWN; law <= KG_LAW_NORMAL; law++) { /* own is known, normal is not */
        timed.law = (enum kg_law)law;
        give_expected(&timed, 1);
        s.side[KG_SIDE_ORACLE].there = false;
        assert_int_equal(kg_judge_side_reserve(&s.side[KG_SIDE_CANDIDATE], 1, 4000, &err), KG_OK);
        s.side[KG_SIDE_CANDIDATE].c = timed;
        s.side[KG_SIDE_CANDIDATE].there = true;
        y = s.side[KG_SIDE_CANDIDATE].data[1];
        for (int i = 0; i < 1000; i++) {
            y[i] = 1 + 5e-4f; /* 8 e_ref allow 8e-4, the rms 6e-4 */
        }
        assert_int_equal(kg_judge_do_compare(&s, &timed, KG_COMPARE_FLOAT, &v, &err), KG_OK);
        assert_true(v.compare.pass);
        y[7] = 1 + 9e-4f;
        assert_int_equal(kg_judge_do_compare(&s, &timed, KG_COMPARE_FLOAT, &v, &err), KG_OK);
        assert_true(!v.compare.pass && v.compare.first_bad == 7);
    }
    memset(s.known, 0, sizeof s.known);
    y[7] = 1 + 5e-4f;
    assert_int_equal(kg_judge_do_compare(&s, &timed, KG_COMPARE_FLOAT, &v, &err), KG_OK);
    assert_false(v.compare.pass);
}

static void digests_depend_on_key_length_and_every_byte(void **state)
{
    (void)state;
    unsigned char bytes[100] = {0};
    struct kg_key a = {{1, 2}}, b = {{1, 3}};
    uint64_t base = kg_judge_digest_of(a, bytes, 100);
    assert_true(base == kg_judge_digest_of(a, bytes, 100));
    assert_true(base != kg_judge_digest_of(b, bytes, 100));
    assert_true(base != kg_judge_digest_of(a, bytes, 99));
    for (size_t i = 0; i < 100; i++) {
        bytes[i] = 1;
        assert_true(base != kg_judge_digest_of(a, bytes, 100));
        bytes[i] = 0;
    }
    bytes[0] = 1;
    uint64_t first = kg_judge_digest_of(a, bytes, 100);
    bytes[0] = 0;
    bytes[32] = 1; /* the same lane, one round later */
    assert_true(first != kg_judge_digest_of(a, bytes, 100));
}

static void degenerate_table(void **state)
{
    (void)state;
    float f[100] = {0};
    int32_t i[100];
    assert_true(kg_judge_degenerate(KG_F32, f, 100));
    assert_true(kg_judge_degenerate(KG_F32, f, 0));
    f[50] = 1, f[51] = 2;
    assert_true(kg_judge_degenerate(KG_F32, f, 100)); /* three values */
    f[52] = 3;
    assert_false(kg_judge_degenerate(KG_F32, f, 100));
    for (int k = 0; k < 100; k++) {
        i[k] = k % 7;
    }
    assert_true(kg_judge_degenerate(KG_I32, i, 100));
    i[99] = 7;
    assert_false(kg_judge_degenerate(KG_I32, i, 100));
    for (int k = 0; k < 100; k++) {
        i[k] = k;
    }
    assert_true(kg_judge_degenerate(KG_I32, i, 15));
    assert_false(kg_judge_degenerate(KG_I32, i, 16));
}

static void the_ring_keeps_the_last_answers(void **state)
{
    (void)state;
    static struct kg_judge_ring r;
    struct kg_case a = {.key = {{1, 1}}}, b = {.key = {{1, 2}}}, twin = a;
    twin.edited = true;
    for (uint64_t d = 0; d < KG_JUDGE_DIGESTS + 10; d++) {
        kg_judge_ring_add(&r, 3, &a, d);
        kg_judge_ring_add(&r, 3, &a, d); /* known already: takes no place */
    }
    assert_false(kg_judge_ring_has(&r, 3, &b, 9));
    assert_true(kg_judge_ring_has(&r, 3, &b, 10));
    assert_true(kg_judge_ring_has(&r, 3, &b, KG_JUDGE_DIGESTS + 9));
    assert_false(kg_judge_ring_has(&r, 3, &a, 10)); /* the same inputs */
    assert_false(kg_judge_ring_has(&r, 2, &b, 10)); /* another output */
    assert_true(kg_judge_ring_has_twin(&r, 3, &twin, 10));
    assert_false(kg_judge_ring_has_twin(&r, 3, &a, 10));
    assert_false(kg_judge_ring_has_twin(&r, 3, &b, 10));
}

static void poison_words_are_what_they_promise(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < 200; k++) {
        struct kg_key nonce = {{k, k}};
        uint32_t w32 = (uint32_t)kg_judge_poison_word(KG_F32, nonce, 1);
        uint64_t w64 = kg_judge_poison_word(KG_F64, nonce, 1);
        float f;
        double d;
        memcpy(&f, &w32, sizeof f);
        memcpy(&d, &w64, sizeof d);
        assert_true(isnan(f) && isnan(d));
        assert_true((w32 & 3) == 1 && (w64 & 3) == 1); /* no default NaN, no mask of ones */
        assert_true((int32_t)kg_judge_poison_word(KG_I32, nonce, 1) < -(1 << 30));
        assert_true((int64_t)kg_judge_poison_word(KG_I64, nonce, 1) < -((int64_t)1 << 62));
        assert_true(kg_judge_poison_word(KG_I64, nonce, 1) !=
                    kg_judge_poison_word(KG_I64, nonce, 2));
    }
}

/* Runs that cross the blocks in which the search looks first. */
static void poison_is_counted_across_blocks(void **state)
{
    (void)state;
    static const struct {
        size_t from, to;
    } runs[] = {{0, 1}, {1022, 1030}, {1023, 1024}, {1024, 1025}, {2046, 2050}, {2990, 3000}};
    static uint32_t v[3000];
    static uint64_t w[3000];
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        uint64_t first, n = runs[k].to - runs[k].from;
        memset(v, 0, sizeof v);
        memset(w, 0, sizeof w);
        for (size_t i = runs[k].from; i < runs[k].to; i++) {
            v[i] = 0x80000077;
            w[i] = 0x8000000000000077;
        }
        assert_int_equal(kg_judge_poison_count(KG_F32, 0x80000077, v, 3000, &first), n);
        assert_int_equal(first, runs[k].from);
        assert_int_equal(kg_judge_poison_count(KG_F64, 0x8000000000000077, w, 3000, &first), n);
        assert_int_equal(first, runs[k].from);
        uint64_t want = n >= 4 ? n : 0;
        assert_int_equal(kg_judge_poison_count(KG_I32, 0x80000077, v, 3000, &first), want);
        assert_int_equal(first, want ? runs[k].from : 0);
        assert_int_equal(kg_judge_poison_count(KG_I64, 0x8000000000000077, w, 3000, &first), want);
    }
    uint64_t first;
    v[0] = v[1] = 5;
    assert_int_equal(kg_judge_poison_count(KG_I32, 5, v, 2, &first), 2); /* the whole array */
    assert_int_equal(kg_judge_poison_count(KG_I32, 5, v, 3, &first), 0);
}

/* The blocks of a fill: each once, in an order of the key's that is far from rising. Of the last
 * eighth that is written, which stays in the caches, each eighth of the positions has its share. */
static void blocks_are_mixed(void **state)
{
    (void)state;
    enum { N = 800, KEYS = 50, PART = N / 8 };
    static uint16_t order[N], again[N], other[N];
    size_t last[8] = {0};
    for (uint64_t key = 0; key < KEYS; key++) {
        bool seen[N] = {false};
        kg_judge_mix_order((struct kg_key){{1, key}}, order, N);
        kg_judge_mix_order((struct kg_key){{1, key}}, again, N);
        kg_judge_mix_order((struct kg_key){{2, key}}, other, N);
        assert_memory_equal(order, again, sizeof order);
        assert_memory_not_equal(order, other, sizeof order);
        for (size_t i = 0; i < N; i++) {
            assert_true(order[i] < N && !seen[order[i]]);
            seen[order[i]] = true;
            last[order[i] / PART] += i >= N - PART;
        }
    }
    for (int k = 0; k < 8; k++) { /* 625 each on average */
        assert_in_range(last[k], 500, 750);
    }
    kg_judge_mix_order((struct kg_key){{1, 1}}, order, 1);
    assert_int_equal(order[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_answer_cache_drops_the_least_recently_used, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(save_needs_both_sides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(timed_calls_use_what_earlier_inputs_showed, set_up,
                                        tear_down),
        cmocka_unit_test(digests_depend_on_key_length_and_every_byte),
        cmocka_unit_test(degenerate_table),
        cmocka_unit_test(the_ring_keeps_the_last_answers),
        cmocka_unit_test(poison_words_are_what_they_promise),
        cmocka_unit_test(poison_is_counted_across_blocks),
        cmocka_unit_test(blocks_are_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
