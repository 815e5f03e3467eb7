#include "problem_text.h"

#include "base/file.h"
#include "gym/values/law.h"

static void identity(void **state)
{
    (void)state;
    char text[8192], digest[KG_SHA256_HEX];
    compose(text, sizeof text, -1, "");
    struct kg_problem *p = must_parse(text);
    assert_string_equal(p->name, "conv_bias");
    assert_string_equal(p->entry, "conv_bias");
    assert_string_equal(p->desc, "convolution, then a bias");
    assert_string_equal(p->suite, "level2");
    assert_string_equal(p->path, "suites/level2/conv_bias.c");
    assert_int_equal(p->level, 2);
    assert_string_equal(p->source, text);
    assert_int_equal(p->source_len, strlen(text));
    kg_sha256_hex(text, strlen(text), digest);
    assert_string_equal(p->sha256, digest);
    kg_problem_destroy(p);
    kg_problem_destroy(NULL);
}

static void dims(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t def;
        bool derived;
    } WANT[] = {{"n", 2, false},  {"c", 8, false},  {"groups", 4, false}, {"h", 20, false},
                {"w", 21, false}, {"kh", 3, false}, {"kw", 5, false},     {"y", 6, false},
                {"oh", 18, true}, {"ow", 17, true}};
    struct kg_problem *p = conv();
    assert_int_equal(p->ndims, COUNT(WANT));
    for (int k = 0; k < p->ndims; k++) {
        assert_string_equal(p->dims[k].name, WANT[k].name);
        assert_int_equal(p->dims[k].def, WANT[k].def);
        assert_int_equal(p->dims[k].by != NULL, WANT[k].derived);
    }
    kg_problem_destroy(p);
}

static void arguments(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum kg_dtype dtype;
        enum kg_role role;
        int rank;
        int64_t count;
    } WANT[] = {
        {"x", KG_F32, KG_ROLE_IN, 4, 2 * 8 * 20 * 21},
        {"k", KG_F32, KG_ROLE_IN, 4, 6 * 2 * 3 * 5},
        {"pick", KG_I32, KG_ROLE_IN, 1, 6},
        {"out", KG_F32, KG_ROLE_OUT, 4, 2 * 6 * 18 * 17},
        {"h", KG_I64, KG_ROLE_DIM, 0, 1},
        {"eps", KG_F32, KG_ROLE_PARAM, 0, 1},
        {"scale", KG_F64, KG_ROLE_PARAM, 0, 1},
        {"half", KG_I32, KG_ROLE_PARAM, 0, 1},
    };
    struct kg_problem *p = conv();
    struct kg_shape s;
    kg_shape_default(p, &s);
    assert_int_equal(p->nargs, COUNT(WANT));
    for (int k = 0; k < p->nargs; k++) {
        assert_string_equal(p->args[k].name, WANT[k].name);
        assert_int_equal(p->args[k].dtype, WANT[k].dtype);
        assert_int_equal(p->args[k].role, WANT[k].role);
        assert_int_equal(p->args[k].rank, WANT[k].rank);
        assert_int_equal(p->args[k].line, 10 + k);
        assert_int_equal(kg_arg_count(p, k, &s), WANT[k].count);
    }
    assert_int_equal(p->args[4].dim, 3);
    kg_problem_destroy(p);
}

/* A param with a range is drawn from the key of a case; the others are what they are. */
static void params_with_a_range_are_drawn(void **state)
{
    (void)state;
    static const char text[] =
        "/*---kgym\nname: p\nlevel: 1\nentry: p\ndims: {n: 8}\nargs:\n"
        "  - {name: x, type: \"f32[n]\", role: in}\n"
        "  - {name: y, type: \"f32[n]\", role: out}\n"
        "  - {name: a, type: f32, role: param, value: 1.25, range: [-2, 2]}\n"
        "  - {name: k, type: i32, role: param, value: n, range: [2, n + 3]}\n"
        "  - {name: c, type: f64, role: param, value: 0.5}\n"
        "---*/\nvoid p(void) {}\n";
    enum { A = 2, K, C, KEYS = 800 };
    struct kg_problem *p;
    struct kg_err err = KG_ERR_INIT;
    struct kg_shape s;
    int64_t i;
    double f;
    int declared = 0, zero = 0, one = 0, below = 0, seen[12] = {0};
    assert_int_equal(kg_problem_parse(text, sizeof text - 1, "p.c", &p, &err), KG_OK);
    kg_shape_default(p, &s);
    for (uint64_t key = 1; key <= KEYS; key++) {
        struct kg_key of = {{7, key}};
        assert_true(kg_arg_scalar_of(p, A, &s, of, &i, &f));
        assert_true(f >= -2 && f < 2 && f == (double)(float)f);
        declared += f == 1.25;
        zero += f == 0;
        one += f == 1;
        below += f < 0;
        assert_true(kg_arg_scalar_of(p, K, &s, of, &i, &f));
        assert_true(i >= 2 && i <= 10 && f == (double)i);
        seen[i]++;
        assert_true(kg_arg_scalar_of(p, C, &s, of, &i, &f) && f == 0.5);
    }
    assert_in_range(declared, KEYS / 6, KEYS / 3);
    assert_true(zero > KEYS / 16 && one > KEYS / 16 && below > KEYS / 6);
    assert_true(seen[2] > 0 && seen[8] > KEYS / 3 && seen[10] > 0); /* 0 and 1 are outside */
    assert_true(kg_arg_scalar_of(p, A, &s, (struct kg_key){{0, 0}}, &i, &f) && f == 1.25);
    assert_false(kg_arg_scalar_of(p, 0, &s, (struct kg_key){{7, 1}}, &i, &f));
    kg_problem_destroy(p);
}

static void scalars_at_a_shape(void **state)
{
    (void)state;
    struct kg_problem *p = conv();
    struct kg_shape s;
    int64_t i;
    double f;
    kg_shape_default(p, &s);
    s.dim[3] = 41;
    assert_true(kg_arg_scalar(p, 4, &s, &i, &f));
    assert_true(i == 41 && f == 41.0);
    assert_true(kg_arg_scalar(p, 5, &s, &i, &f));
    assert_true(i == 0 && f == (double)1e-5f && f != 1e-5); /* as the float reference sees it */
    s.dim[1] = 16;
    assert_true(kg_arg_scalar(p, 6, &s, &i, &f));
    assert_true(i == 0 && f == 0.25);
    assert_true(kg_arg_scalar(p, 7, &s, &i, &f));
    assert_true(i == 20 && f == 20.0);
    assert_false(kg_arg_scalar(p, 0, &s, &i, &f));
    assert_false(kg_arg_scalar(p, 3, &s, &i, &f));
    kg_problem_destroy(p);
}

static void ranges_at_a_shape(void **state)
{
    (void)state;
    struct kg_problem *p = conv();
    struct kg_shape s;
    double lo, hi;
    kg_shape_default(p, &s);
    assert_false(kg_arg_range(p, 0, &s, &lo, &hi));
    assert_true(kg_arg_range(p, 1, &s, &lo, &hi));
    assert_true(lo == -0.5 && hi == 0.5);
    s.dim[1] = 12;
    assert_true(kg_arg_range(p, 2, &s, &lo, &hi));
    assert_true(lo == 0 && hi == 12);
    kg_problem_destroy(p);
}

static void costs_and_laws(void **state)
{
    (void)state;
    struct kg_problem *p = conv();
    struct kg_shape s;
    kg_shape_default(p, &s);
    assert_int_equal(kg_problem_reduce(p, &s), 2 * 3 * 5);
    assert_true(kg_problem_flops(p, &s) == 2.0 * 2 * 6 * 18 * 17 * 2 * 3 * 5);
    assert_true(kg_problem_bytes(p, &s) == 4.0 * 2 * 8 * 20 * 21);
    assert_int_equal(p->laws_off, 1u << KG_LAW_OFFSET | 1u << KG_LAW_LARGE);
    assert_int_equal(p->laws_on, 1u << KG_LAW_HEAVY | 1u << KG_LAW_BF16);
    kg_problem_destroy(p);
}

static void costs_that_are_not_declared(void **state)
{
    (void)state;
    struct kg_problem *p = must_parse(MATMUL);
    struct kg_shape s;
    kg_shape_default(p, &s);
    assert_int_equal(kg_problem_reduce(p, &s), 5);
    assert_true(kg_problem_flops(p, &s) == -1);
    assert_true(kg_problem_bytes(p, &s) == 4 * 15 + 8 * 20 + 8 * 12);
    assert_string_equal(p->desc, "");
    kg_problem_destroy(p);
}

static void reduce_of_an_elementwise_problem_is_one(void **state)
{
    (void)state;
    struct kg_problem *p =
        must_parse(HEAD "dims: {n: 4}\nargs:\n  - {name: x, type: \"f32[n]\", role: in}\n"
                        "  - {name: y, type: \"f32[2*n]\", role: out}\n---*/\n");
    struct kg_shape s;
    kg_shape_default(p, &s);
    assert_int_equal(kg_problem_reduce(p, &s), 1);
    kg_problem_destroy(p);
}

static void a_shape_is_complete(void **state)
{
    (void)state;
    struct kg_problem *p = conv();
    struct kg_shape s;
    kg_shape_default(p, &s);
    s.dim[3] = 40;
    s.dim[8] = s.dim[9] = -1;
    assert_true(kg_shape_complete(p, &s));
    assert_int_equal(s.dim[8], 38);
    assert_int_equal(s.dim[9], 17);
    kg_problem_destroy(p);
}

static void a_shape_is_refused(void **state)
{
    (void)state;
    static const struct {
        int dim;
        int64_t value;
    } CASES[] = {
        {0, 0},                /* a free dim below 1 */
        {3, 2},                /* h >= kh fails, and oh is 0 */
        {2, 3},                /* c % groups */
        {1, 2},                /* c / groups is 0 */
        {0, (int64_t)1 << 40}, /* larger than a dim may be */
        {0, 300000},           /* more than 256 MB */
        {0, INT64_MAX},        /* overflow */
    };
    struct kg_problem *p = conv();
    for (size_t k = 0; k < COUNT(CASES); k++) {
        struct kg_shape s;
        kg_shape_default(p, &s);
        s.dim[CASES[k].dim] = CASES[k].value;
        assert_false(kg_shape_complete(p, &s));
    }
    kg_problem_destroy(p);
}

static void a_shape_with_an_empty_array_or_range_is_refused(void **state)
{
    (void)state;
    struct kg_problem *p =
        must_parse(HEAD "dims: {n: 8, v: 9}\nargs:\n"
                        "  - {name: x, type: \"i32[n]\", role: in, range: [3, v]}\n"
                        "  - {name: d, type: i64, role: param, value: 12 / (n - 5)}\n"
                        "  - {name: y, type: \"f32[n-1]\", role: out}\n---*/\n");
    struct kg_shape s = {{8, 3}};
    assert_false(kg_shape_complete(p, &s)); /* [3, 3) */
    s = (struct kg_shape){{1, 9}};
    assert_false(kg_shape_complete(p, &s)); /* n - 1 == 0 */
    s = (struct kg_shape){{5, 9}};
    assert_false(kg_shape_complete(p, &s)); /* the param has no value */
    s = (struct kg_shape){{2, 9}};
    assert_true(kg_shape_complete(p, &s));
    assert_int_equal(kg_arg_count(p, 2, &(struct kg_shape){{1, 9}}), -1);
    kg_problem_destroy(p);
}

static void a_dim_is_bounded_even_where_no_array_has_it(void **state)
{
    (void)state;
    struct kg_problem *p = must_parse(HEAD "dims: {n: 8, step: 1, twice: 2*step}\nargs:\n"
                                           "  - {name: x, type: \"f32[n]\", role: in}\n"
                                           "  - {name: y, type: \"f32[n]\", role: out}\n---*/\n");
    struct kg_shape s = {{8, KG_MAX_DIM / 2}};
    assert_true(kg_shape_complete(p, &s));
    s.dim[1]++; /* twice is too large now */
    assert_false(kg_shape_complete(p, &s));
    s.dim[1] = (int64_t)KG_MAX_DIM + 1;
    assert_false(kg_shape_complete(p, &s));
    kg_problem_destroy(p);
}

static void crlf_bom_and_spaces_are_fine(void **state)
{
    (void)state;
    struct kg_problem *p =
        must_parse("\xef\xbb\xbf\r\n /*---kgym \r\nname: t\r\nlevel: 1\r\nentry: t\r\n"
                   "desc: \"\xce\xb1 and `code`\"\r\ndims: {}\r\nargs:\r\n"
                   "  - {name: x, type: \"f32[4, 5]\", role: in}\r\n"
                   "  - {name: y, type: \"f32[min(3,4)]\", role: out}\r\n---*/\r\nint t;\r\n");
    struct kg_shape s;
    kg_shape_default(p, &s);
    assert_int_equal(kg_arg_count(p, 0, &s), 20);
    assert_int_equal(kg_arg_count(p, 1, &s), 3);
    assert_string_equal(p->desc, "\xce\xb1 and `code`");
    assert_int_equal(p->ndims, 0);
    kg_problem_destroy(p);
}

static void y_and_n_are_names(void **state)
{
    (void)state;
    struct kg_problem *p =
        must_parse(HEAD "dims: {y: 4, n: y}\nargs:\n  - {name: on, type: \"f32[y]\", role: in}\n"
                        "  - {name: no, type: \"f32[n]\", role: out}\n---*/\n");
    assert_string_equal(p->dims[0].name, "y");
    assert_string_equal(p->dims[1].name, "n");
    assert_non_null(p->dims[1].by);
    assert_string_equal(p->args[0].name, "on");
    kg_problem_destroy(p);
}

static void names_of_types_and_roles(void **state)
{
    (void)state;
    static const char *const TYPES[] = {"f32", "f64", "i32", "i64"};
    static const size_t BYTES[] = {4, 8, 4, 8};
    for (int k = 0; k < 4; k++) {
        assert_string_equal(kg_dtype_name((enum kg_dtype)k), TYPES[k]);
        assert_int_equal(kg_dtype_bytes((enum kg_dtype)k), BYTES[k]);
    }
    assert_string_equal(kg_role_name(KG_ROLE_PARAM), "param");
}

/* The example of docs/problems.md is a problem, so the page cannot drift from the parser. */
static void the_documented_example_parses(void **state)
{
    (void)state;
    const char *tree = getenv("KGYM_TREE");
    char path[4096];
    struct kg_buf page;
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/docs/problems.md", tree != NULL ? tree : ".");
    kg_buf_init(&page, 1u << 20);
    assert_int_equal(kg_file_read(path, &page, &err), KG_OK);
    char *start = strstr(page.data, "```c\n"),
         *end = start != NULL ? strstr(start, "\n```\n") : NULL;
    assert_non_null(end);
    end[1] = '\0';
    struct kg_problem *p = must_parse(start + 5);
    struct kg_shape s;
    kg_shape_default(p, &s);
    assert_int_equal(kg_problem_reduce(p, &s), 2 * 3 * 3);
    kg_problem_destroy(p);
    kg_buf_deinit(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity),
        cmocka_unit_test(dims),
        cmocka_unit_test(arguments),
        cmocka_unit_test(scalars_at_a_shape),
        cmocka_unit_test(params_with_a_range_are_drawn),
        cmocka_unit_test(ranges_at_a_shape),
        cmocka_unit_test(costs_and_laws),
        cmocka_unit_test(costs_that_are_not_declared),
        cmocka_unit_test(reduce_of_an_elementwise_problem_is_one),
        cmocka_unit_test(a_shape_is_complete),
        cmocka_unit_test(a_shape_is_refused),
        cmocka_unit_test(a_shape_with_an_empty_array_or_range_is_refused),
        cmocka_unit_test(a_dim_is_bounded_even_where_no_array_has_it),
        cmocka_unit_test(crlf_bom_and_spaces_are_fine),
        cmocka_unit_test(y_and_n_are_names),
        cmocka_unit_test(names_of_types_and_roles),
        cmocka_unit_test(the_documented_example_parses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
