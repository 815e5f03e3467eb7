#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gym/problem/variant.h"
#include "tests/support/variant_cost.h"

#define COUNT(a)                   (sizeof(a) / sizeof((a)[0]))
#define MAX_COST                   16.0
#define HEAD                       "/*---kgym\nname: t\nlevel: 1\nentry: t\n"
#define IN(n, t)                   "  - {name: " n ", type: \"" t "\", role: in}\n"
#define OUT(n, t)                  "  - {name: " n ", type: \"" t "\", role: out}\n"
#define PROBLEM(dims, extra, args) HEAD "dims: {" dims "}\n" extra "args:\n" args "---*/\n"

enum {
    ELEMENTWISE,
    MATMUL,
    SOFTMAX,
    CONV,
    GROUPED,
    STRIDED,
    ATTENTION,
    BLOCKED,
    SMALL,
    MANY,
    LOOKUP,
    SCALAR_DIM,
};

static const char *const PROBLEMS[] = {
    [ELEMENTWISE] = PROBLEM("n: 100000", "", IN("x", "f32[n]") OUT("y_", "f32[n]")),
    [MATMUL] = PROBLEM("m: 128, n: 256, k: 512", "",
                       IN("a", "f32[m,k]") IN("b", "f32[k,n]") OUT("c", "f32[m,n]")),
    [SOFTMAX] =
        PROBLEM("rows: 512, cols: 1000", "", IN("x", "f32[rows,cols]") OUT("y_", "f32[rows,cols]")),
    [CONV] = PROBLEM("n: 4, c: 16, h: 32, w: 40, o: 24, kh: 3, kw: 5, oh: h - kh + 1, "
                     "ow: w - kw + 1",
                     "where: [h >= kh, w >= kw]\nreduce: c*kh*kw\n"
                     "cost: {flops: 2*n*o*oh*ow*c*kh*kw}\n",
                     IN("x", "f32[n,c,h,w]") IN("f", "f32[o,c,kh,kw]") OUT("y_", "f32[n,o,oh,ow]")),
    [GROUPED] = PROBLEM("n: 8, c: 32, groups: 4, w: 100", "where: [c % groups == 0]\n",
                        IN("x", "f32[n,c,w]") IN("g", "f32[c/groups]") OUT("y_", "f32[n,c,w]")),
    [STRIDED] = PROBLEM("n: 4, h: 64, k: 3, s: 2, oh: (h - k) / s + 1", "where: [h >= k]\n",
                        IN("x", "f32[n,h]") OUT("y_", "f32[n,oh]")),
    [ATTENTION] = PROBLEM("b: 2, heads: 8, t: 128, d: 32", "cost: {flops: 4*b*heads*t*t*d}\n",
                          IN("q", "f32[b,heads,t,d]") IN("k", "f32[b,heads,t,d]")
                              IN("v", "f32[b,heads,t,d]") OUT("o", "f32[b,heads,t,d]")),
    [BLOCKED] = PROBLEM("n: 512, m: 384, block: 64",
                        "where: [n % 64 == 0, m % 64 == 0, "
                        "block == 64]\n",
                        IN("x", "f32[n,m]") OUT("y_", "f32[n,m/block]")),
    [SMALL] = PROBLEM("a: 1, b: 2, c: 3", "", IN("x", "f32[a,b,c]") OUT("y_", "f32[a,b,c]")),
    [MANY] = PROBLEM("a: 4, b: 4, c: 4, d: 4, e: 4, f: 4, g: 4, h: 4, i: 2, j: 2, k: 2, l: 2, "
                     "m: 2, n: 2, o: 2, p: 2",
                     "cost: {flops: 1.0*a*b*c*d*e*f*g*h*i*j*k*l*m*n*o*p}\n",
                     IN("x_", "f32[a,b,c,d,e]") IN("y_", "f32[f,g,h,i,j]")
                         OUT("z_", "f32[k,l,m,n,o,p]")),
    [LOOKUP] = PROBLEM("vocab: 1000, width: 64, n: 300", "",
                       "  - {name: ids, type: \"i32[n]\", role: in, range: [0, vocab]}\n" IN(
                           "t_", "f32[vocab,width]") OUT("y_", "f32[n,width]")),
    [SCALAR_DIM] =
        PROBLEM("n: 4096, axis_pad: 3, fixed: 0+7", "",
                IN("x", "f32[n]") OUT("y_", "f32[n+2*axis_pad]") OUT("z_", "f32[fixed]")),
};

static struct kg_problem *load(const char *text)
{
    struct kg_problem *p = NULL;
    struct kg_err err = KG_ERR_INIT;
    if (kg_problem_parse(text, strlen(text), "s/t.c", &p, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return p;
}

static bool shape_of(const struct kg_problem *p, enum kg_variant v, uint64_t seed,
                     struct kg_shape *s)
{
    struct kg_rng rng;
    kg_rng_init(&rng, (struct kg_key){{0x7661726961, seed}}, v);
    bool found = kg_variant_shape(p, v, &rng, s);
    kg_rng_deinit(&rng);
    return found;
}

static bool same(const struct kg_problem *p, const struct kg_shape *a, const struct kg_shape *b)
{
    return memcmp(a->dim, b->dim, (size_t)p->ndims * sizeof a->dim[0]) == 0;
}

/* Whatever the seed. */
static void expect(const char *text, enum kg_variant v, const int64_t *want)
{
    struct kg_problem *p = load(text);
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct kg_shape s;
        assert_true(shape_of(p, v, seed, &s));
        for (int k = 0; k < p->ndims; k++) {
            if (s.dim[k] != want[k]) {
                fail_msg("%s: %s is %lld, not %lld", kg_variant_name(v), p->dims[k].name,
                         (long long)s.dim[k], (long long)want[k]);
            }
        }
    }
    kg_problem_destroy(p);
}

static void names(void **state)
{
    (void)state;
    static const char *const WANT[] = {"default", "tiny", "x2",  "larger",
                                       "odd",     "no16", "one", "quarter"};
    for (int v = 0; v < KG_VARIANT_COUNT; v++) {
        assert_string_equal(kg_variant_name((enum kg_variant)v), WANT[v]);
    }
}

/* What every shape of every kind promises. */
static void every_variant_is_a_valid_shape(void **state)
{
    (void)state;
    printf("seeds 0..39 of key 7661726961\n");
    for (size_t k = 0; k < COUNT(PROBLEMS); k++) {
        struct kg_problem *p = load(PROBLEMS[k]);
        struct kg_shape def;
        kg_shape_default(p, &def);
        for (int v = 0; v < KG_VARIANT_COUNT * 40; v++) {
            enum kg_variant kind = (enum kg_variant)(v % KG_VARIANT_COUNT);
            struct kg_shape s, full, again;
            if (!shape_of(p, kind, (uint64_t)(v / KG_VARIANT_COUNT), &s)) {
                assert_true(kind == KG_VARIANT_TINY || k == SMALL || k == BLOCKED);
                continue;
            }
            full = s;
            assert_true(kg_shape_complete(p, &full));
            assert_true(same(p, &full, &s)); /* derived dims were filled in */
            assert_true(variant_cost(p, &s) <= MAX_COST);
            assert_int_equal(same(p, &s, &def), kind == KG_VARIANT_DEFAULT);
            assert_true(shape_of(p, kind, (uint64_t)(v / KG_VARIANT_COUNT), &again));
            assert_true(same(p, &again, &s));
        }
        kg_problem_destroy(p);
    }
}

static void random_variants_differ_between_keys(void **state)
{
    (void)state;
    static const enum kg_variant RANDOM[] = {KG_VARIANT_TINY, KG_VARIANT_LARGER, KG_VARIANT_ODD,
                                             KG_VARIANT_NO16, KG_VARIANT_QUARTER};
    struct kg_problem *p = load(PROBLEMS[MATMUL]);
    for (size_t k = 0; k < COUNT(RANDOM); k++) {
        struct kg_shape a, b;
        int different = 0;
        assert_true(shape_of(p, RANDOM[k], 0, &a));
        for (uint64_t seed = 1; seed < 20; seed++) {
            assert_true(shape_of(p, RANDOM[k], seed, &b));
            different += !same(p, &a, &b);
        }
        assert_true(different > 15);
    }
    kg_problem_destroy(p);
}

static void doubled(void **state)
{
    (void)state;
    expect(PROBLEMS[ELEMENTWISE], KG_VARIANT_X2, (int64_t[]){200000});
    expect(PROBLEMS[MATMUL], KG_VARIANT_X2, (int64_t[]){256, 512, 1024});
    expect(PROBLEMS[GROUPED], KG_VARIANT_X2, (int64_t[]){16, 64, 8, 200});
    expect(PROBLEMS[STRIDED], KG_VARIANT_X2, (int64_t[]){8, 128, 6, 4, 31});
    expect(PROBLEMS[SMALL], KG_VARIANT_X2, (int64_t[]){2, 4, 6});
    expect(PROBLEMS[LOOKUP], KG_VARIANT_X2, (int64_t[]){2000, 128, 600});
    /* t counts twice in 4*b*heads*t*t*d: doubling all costs 32, so t gives way. */
    expect(PROBLEMS[ATTENTION], KG_VARIANT_X2, (int64_t[]){4, 16, 160, 64});
    /* Only one of two multiples of 10 may double; either grows as much, the first costs less. */
    expect(PROBLEM("a: 10, b: 10",
                   "cost: {flops: 1}\nwhere: [a + b <= 30, a % 10 == 0, b % 10 == 0]\n",
                   IN("x", "f32[a]") OUT("y_", "f32[b]") OUT("z_", "f32[b]")),
           KG_VARIANT_X2, (int64_t[]){20, 10});
    expect(PROBLEM("b: 10, a: 10",
                   "cost: {flops: 1}\nwhere: [a + b <= 30, a % 10 == 0, b % 10 == 0]\n",
                   IN("x", "f32[a]") OUT("y_", "f32[b]") OUT("z_", "f32[b]")),
           KG_VARIANT_X2, (int64_t[]){10, 20});
    /* A constant is no free dim. */
    expect(PROBLEMS[SCALAR_DIM], KG_VARIANT_X2, (int64_t[]){8192, 6, 7});
}

static void doubling_keeps_as_many_dims_doubled_as_the_cost_allows(void **state)
{
    (void)state;
    struct kg_problem *p = load(PROBLEMS[CONV]);
    struct kg_shape s, def;
    int doubles = 0;
    kg_shape_default(p, &def);
    assert_true(shape_of(p, KG_VARIANT_X2, 0, &s));
    for (int k = 0; k < 7; k++) {
        doubles += s.dim[k] == 2 * def.dim[k];
    }
    assert_int_equal(doubles, 4); /* of 7; five of them cost more than 16 */
    assert_true(variant_cost(p, &s) > 8);
    kg_problem_destroy(p);
}

static void doubling_stays_within_the_largest_data(void **state)
{
    (void)state;
    struct kg_problem *p =
        load(PROBLEM("a: 4096, b: 4096", "", IN("x", "f32[a,b]") OUT("y_", "f32[a,b]")));
    struct kg_shape s;
    assert_true(shape_of(p, KG_VARIANT_X2, 0, &s));
    assert_true(kg_problem_bytes(p, &s) <= KG_MAX_DATA_BYTES);
    assert_true(s.dim[0] * s.dim[1] == 2 * 4096 * 4096);
    kg_problem_destroy(p);
}

static void larger(void **state)
{
    (void)state;
    static const int KINDS[] = {ELEMENTWISE, MATMUL, SOFTMAX, ATTENTION, LOOKUP};
    for (size_t k = 0; k < COUNT(KINDS); k++) {
        struct kg_problem *p = load(PROBLEMS[KINDS[k]]);
        for (uint64_t seed = 0; seed < 50; seed++) {
            struct kg_shape s;
            assert_true(shape_of(p, KG_VARIANT_LARGER, seed, &s));
            for (int d = 0; d < p->ndims; d++) {
                double ratio = (double)s.dim[d] / (double)p->dims[d].def;
                assert_true(s.dim[d] % 2 == 1);
                assert_true(ratio >= 1.1 && (ratio <= 1.6 || p->dims[d].def < 4));
            }
        }
        kg_problem_destroy(p);
    }
}

static void larger_of_small_dims(void **state)
{
    (void)state;
    expect(PROBLEMS[SMALL], KG_VARIANT_LARGER, (int64_t[]){3, 3, 5});
}

static void odd_and_no16(void **state)
{
    (void)state;
    static const int KINDS[] = {ELEMENTWISE, MATMUL, SOFTMAX, ATTENTION, LOOKUP};
    for (size_t k = 0; k < COUNT(KINDS); k++) {
        struct kg_problem *p = load(PROBLEMS[KINDS[k]]);
        for (uint64_t seed = 0; seed < 50; seed++) {
            struct kg_shape s;
            assert_true(shape_of(p, KG_VARIANT_ODD, seed, &s));
            for (int d = 0; d < p->ndims; d++) {
                assert_true(s.dim[d] % 2 == 1 && s.dim[d] < p->dims[d].def);
                assert_true(s.dim[d] >= p->dims[d].def / 2);
            }
            assert_true(shape_of(p, KG_VARIANT_NO16, seed, &s));
            for (int d = 0; d < p->ndims; d++) {
                double ratio = (double)s.dim[d] / (double)p->dims[d].def;
                assert_true(s.dim[d] % 2 == 0 && s.dim[d] % 16 != 0);
                assert_true((ratio > 0.3 && ratio < 0.7) || p->dims[d].def <= 8);
            }
        }
        kg_problem_destroy(p);
    }
}

static void quarter_is_cheap_and_never_tiled(void **state)
{
    (void)state;
    static const int KINDS[] = {ELEMENTWISE, MATMUL, SOFTMAX, ATTENTION, LOOKUP, CONV, STRIDED};
    for (size_t k = 0; k < COUNT(KINDS); k++) {
        struct kg_problem *p = load(PROBLEMS[KINDS[k]]);
        bool odd = false, even = false;
        for (uint64_t seed = 0; seed < 50; seed++) {
            struct kg_shape s;
            assert_true(shape_of(p, KG_VARIANT_QUARTER, seed, &s));
            double cost = variant_cost(p, &s);
            assert_true(cost <= 0.25);
            assert_true(cost > 0.02); /* large enough to have a main loop and a remainder */
            for (int d = 0; d < p->ndims && KINDS[k] != CONV && KINDS[k] != STRIDED; d++) {
                assert_int_not_equal(s.dim[d] % 16, 0);
            }
            odd = odd || s.dim[0] % 2 == 1;
            even = even || s.dim[0] % 2 == 0;
        }
        assert_true(odd);
        assert_true(even || p->dims[0].def <= 4);
        kg_problem_destroy(p);
    }
    struct kg_problem *p = load(PROBLEMS[BLOCKED]);
    struct kg_shape s;
    assert_true(shape_of(p, KG_VARIANT_QUARTER, 1, &s)); /* the rule gives way to `where` */
    assert_true(variant_cost(p, &s) <= 0.25);
    kg_problem_destroy(p);
}

static void odd_of_odd_dims_is_smaller(void **state)
{
    (void)state;
    expect(PROBLEM("n: 5, m: 3", "", IN("x", "f32[n,m]") OUT("y_", "f32[n]")), KG_VARIANT_ODD,
           (int64_t[]){3, 1});
}

static void tiny(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(PROBLEMS); k++) {
        struct kg_problem *p = load(PROBLEMS[k]);
        for (uint64_t seed = 0; seed < 20 && k != BLOCKED; seed++) {
            struct kg_shape s;
            assert_true(shape_of(p, KG_VARIANT_TINY, seed, &s));
            for (int d = 0; d < p->ndims; d++) {
                assert_true(p->dims[d].by != NULL || (s.dim[d] >= 1 && s.dim[d] <= 6));
            }
            assert_true(variant_cost(p, &s) <= 1);
        }
        kg_problem_destroy(p);
    }
}

static void tiny_where_the_constraints_are_in_the_way(void **state)
{
    (void)state;
    expect(PROBLEMS[BLOCKED], KG_VARIANT_TINY, (int64_t[]){64, 64, 64});
}

static void ones(void **state)
{
    (void)state;
    expect(PROBLEMS[MATMUL], KG_VARIANT_ONE, (int64_t[]){1, 1, 1});
    expect(PROBLEMS[CONV], KG_VARIANT_ONE, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1});
    expect(PROBLEMS[GROUPED], KG_VARIANT_ONE, (int64_t[]){1, 1, 1, 1});
    expect(PROBLEMS[STRIDED], KG_VARIANT_ONE, (int64_t[]){1, 1, 1, 1, 1});
    expect(PROBLEMS[SCALAR_DIM], KG_VARIANT_ONE, (int64_t[]){1, 1, 7});
    expect(PROBLEMS[BLOCKED], KG_VARIANT_ONE, (int64_t[]){64, 64, 64});
    expect(PROBLEM("w: 512, heads: 8", "where: [w == heads * 64]\n",
                   IN("x", "f32[w]") OUT("y_", "f32[heads]")),
           KG_VARIANT_ONE, (int64_t[]){64, 1});
    expect(PROBLEM("h: 64, k: 7", "where: [h >= k + 3, k >= 3]\n",
                   IN("x", "f32[h]") OUT("y_", "f32[h-k]")),
           KG_VARIANT_ONE, (int64_t[]){6, 3});
}

static void no_such_shape(void **state)
{
    (void)state;
    static const char *const FIXED[] = {
        PROBLEM("", "", IN("x", "f32[8]") OUT("y_", "f32[8]")),
        PROBLEM("n: 3 + 5", "", IN("x", "f32[n]") OUT("y_", "f32[n]")),
        PROBLEM("n: 64", "where: [n == 64]\n", IN("x", "f32[n]") OUT("y_", "f32[n]")),
    };
    for (size_t k = 0; k < COUNT(FIXED); k++) {
        struct kg_problem *p = load(FIXED[k]);
        struct kg_shape s, def;
        kg_shape_default(p, &def);
        for (int v = 0; v < KG_VARIANT_COUNT; v++) {
            assert_int_equal(shape_of(p, (enum kg_variant)v, 3, &s), v == KG_VARIANT_DEFAULT);
            assert_true(same(p, &s, &def)); /* what is left behind is usable */
        }
        kg_problem_destroy(p);
    }
    struct kg_problem *p = load(PROBLEM("n: 1", "", IN("x", "f32[n]") OUT("y_", "f32[n]")));
    struct kg_shape s;
    assert_false(shape_of(p, KG_VARIANT_ONE, 0, &s)); /* the default is that already */
    assert_false(shape_of(p, KG_VARIANT_ODD, 0, &s));
    assert_true(shape_of(p, KG_VARIANT_X2, 0, &s));
    kg_problem_destroy(p);
}

static void random_variants_under_divisibility(void **state)
{
    (void)state;
    struct kg_problem *p = load(PROBLEMS[GROUPED]);
    static const enum kg_variant RANDOM[] = {KG_VARIANT_LARGER, KG_VARIANT_ODD, KG_VARIANT_NO16,
                                             KG_VARIANT_QUARTER};
    for (size_t k = 0; k < COUNT(RANDOM); k++) {
        for (uint64_t seed = 0; seed < 50; seed++) {
            struct kg_shape s;
            assert_true(shape_of(p, RANDOM[k], seed, &s));
            assert_int_equal(s.dim[1] % s.dim[2], 0);
        }
    }
    kg_problem_destroy(p);
}

static void a_cost_without_a_value_is_refused(void **state)
{
    (void)state;
    struct kg_problem *p = load(PROBLEM("n: 8, k: 4", "cost: {flops: n / (5 - k)}\n",
                                        IN("x", "f32[n,k]") OUT("y_", "f32[n,k]")));
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct kg_shape s;
        for (int v = 0; v < KG_VARIANT_COUNT; v++) {
            if (shape_of(p, (enum kg_variant)v, seed, &s)) {
                assert_true(s.dim[1] < 5);
            }
        }
    }
    kg_problem_destroy(p);
}

static void shipped_problems_have_every_variant(void **state)
{
    (void)state;
    const char *tree = getenv("KGYM_TREE");
    char folder[4096];
    const char *suites[] = {folder};
    char **paths;
    size_t n;
    struct kg_err err = KG_ERR_INIT;
    snprintf(folder, sizeof folder, "%s/problems/native", tree != NULL ? tree : ".");
    if (kg_problem_list(suites, 1, &paths, &n, &err) != KG_OK) {
        printf("skip: no shipped problems: %s\n", err.message);
        skip();
    }
    for (size_t k = 0; k < n; k++) {
        struct kg_problem *p;
        struct kg_shape s;
        char file[256];
        if (kg_problem_load(paths[k], &p, &err) != KG_OK) {
            fail_msg("%s", err.message);
        }
        snprintf(file, sizeof file, "/%s.c", p->name);
        assert_string_equal(strrchr(paths[k], '/'), file);
        for (int v = 0; v < KG_VARIANT_COUNT; v++) {
            if (!shape_of(p, (enum kg_variant)v, 1, &s)) {
                fail_msg("%s has no shape %s", p->name, kg_variant_name((enum kg_variant)v));
            }
        }
        kg_problem_destroy(p);
        free(paths[k]);
    }
    free(paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(every_variant_is_a_valid_shape),
        cmocka_unit_test(random_variants_differ_between_keys),
        cmocka_unit_test(doubled),
        cmocka_unit_test(doubling_keeps_as_many_dims_doubled_as_the_cost_allows),
        cmocka_unit_test(doubling_stays_within_the_largest_data),
        cmocka_unit_test(larger),
        cmocka_unit_test(larger_of_small_dims),
        cmocka_unit_test(odd_and_no16),
        cmocka_unit_test(quarter_is_cheap_and_never_tiled),
        cmocka_unit_test(odd_of_odd_dims_is_smaller),
        cmocka_unit_test(tiny),
        cmocka_unit_test(tiny_where_the_constraints_are_in_the_way),
        cmocka_unit_test(ones),
        cmocka_unit_test(no_such_shape),
        cmocka_unit_test(random_variants_under_divisibility),
        cmocka_unit_test(shipped_problems_have_every_variant),
        cmocka_unit_test(a_cost_without_a_value_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
