#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "gym/problem/problem.h"
#include "gym/values/law.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A whole problem with every key; the refusals below change one line of it. */
static const char *const CONV[] = {
    "/*---kgym\n",
    "name: conv_bias\n",
    "level: 2\n",
    "entry: conv_bias\n",
    "desc: convolution, then a bias\n",
    "dims: {n: 2, c: 8, groups: 4, h: 20, w: 21, kh: 3, kw: 5, y: 6,\n",
    "       oh: h - kh + 1, ow: w - kw + 1}\n",
    "where: [h >= kh, w >= kw, c % groups == 0]\n",
    "args:\n",
    "  - {name: x,     type: \"f32[n,c,h,w]\", role: in}\n",
    "  - {name: k,     type: \"f32[y,c/groups,kh,kw]\", role: in, range: [-0.5, 0.5]}\n",
    "  - {name: pick,  type: \"i32[y]\", role: in, range: [0, c]}\n",
    "  - {name: out,   type: \"f32[n,y,oh,ow]\", role: out}\n",
    "  - {name: h,     type: i64, role: dim}\n",
    "  - {name: eps,   type: f32, role: param, value: 1e-5}\n",
    "  - {name: scale, type: f64, role: param, value: 1.0 / sqrt(c)}\n",
    "  - {name: half,  type: i32, role: param, value: h / 2}\n",
    "reduce: c / groups * kh * kw\n",
    "cost: {flops: 2*n*y*oh*ow*(c/groups)*kh*kw, bytes: 4*n*c*h*w}\n",
    "laws: [-offset, -large, +heavy, bf16]\n",
    "---*/\n",
    "#include \"kgops.h\"\n",
    "void conv_bias(void) {}\n",
};

/* CONV with line `at` (-1: none) replaced; joined into out. */
static void compose(char *out, size_t cap, int at, const char *line)
{
    size_t len = 0;
    for (size_t k = 0; k < COUNT(CONV); k++) {
        const char *s = (int)k == at ? line : CONV[k];
        size_t n = strlen(s);
        assert_true(len + n < cap);
        memcpy(out + len, s, n + 1);
        len += n;
    }
}

static enum kg_code parse(const char *text, struct kg_problem **p, struct kg_err *err)
{
    return kg_problem_parse(text, strlen(text), "suites/level2/conv_bias.c", p, err);
}

static struct kg_problem *must_parse(const char *text)
{
    struct kg_problem *p = NULL;
    struct kg_err err = KG_ERR_INIT;
    if (parse(text, &p, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return p;
}

static struct kg_problem *conv(void)
{
    char text[8192];
    compose(text, sizeof text, -1, "");
    return must_parse(text);
}

static void refuse(const char *text, const char *want)
{
    struct kg_problem *p = NULL;
    struct kg_err err = KG_ERR_INIT;
    if (parse(text, &p, &err) == KG_OK) {
        fail_msg("accepted what should read '%s'", want);
    }
    assert_null(p);
    assert_string_equal(err.message, want);
    assert_int_equal(err.code, KG_E_PROBLEM);
    assert_int_equal(err.blame, KG_BLAME_PROBLEM);
}

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

#define HEAD "/*---kgym\nname: t\nlevel: 1\nentry: t\n"
#define MATMUL                                                                                     \
    HEAD "dims: {m: 3, n: 4, k: 5}\nargs:\n"                                                       \
         "  - {name: a, type: \"f32[m,k]\", role: in}\n"                                           \
         "  - {name: b, type: \"f64[k,n]\", role: in}\n"                                           \
         "  - {name: c, type: \"i64[m,n]\", role: out}\n---*/\n"

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

static void files_that_are_no_problem(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } CASES[] = {
        {"", "1: file: is empty (expected '/*---kgym' first)"},
        {"\n\nint x;\n",
         "3: file: does not begin with '/*---kgym' (a problem opens with its YAML block)"},
        {"/*---kgym name: x\n---*/", "1: file: text follows '/*---kgym' on its line"},
        {"/*---kgym\nname: x\n", "1: file: the block is never closed (expected a line '---*/')"},
        {"/*---kgym\nname: x\ndesc: a */ b\n---*/\n",
         "3: file: '*/' ends the block here (close it with a line '---*/')"},
        {"/*---kgym\nname: x ---*/\n",
         "2: file: '*/' ends the block here (close it with a line '---*/')"},
        {"/*---kgym\n*/\n", "2: file: '*/' ends the block here (close it with a line '---*/')"},
        {"/*---kgym\n---*/\n", "2: name: is missing (it is required)"},
        {"/*---kgym\n- a\n---*/\n", "2: file: must be a map, not a list"},
        {"/*---kgym\nname: t\nint x;\n\xff\n---*/\n", "4: file: is not valid UTF-8 (byte 0xff)"},
        {"/*---kgym\nname: \xc3\n---*/\n", "2: file: is not valid UTF-8 (byte 0xc3)"},
        {"/*---kgym\nname: t\nname: u\n---*/\n", "3: duplicate key `name` (first on line 2)"},
    };
    for (size_t k = 0; k < COUNT(CASES); k++) {
        char want[400];
        snprintf(want, sizeof want, "suites/level2/conv_bias.c:%s", CASES[k].want);
        refuse(CASES[k].text, want);
    }
}

static void nul_bytes_and_size(void **state)
{
    (void)state;
    static const char NUL[] = "/*---kgym\nname: t\0\n---*/\n";
    struct kg_problem *p = NULL;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_problem_parse(NUL, sizeof NUL - 1, "a.c", &p, &err), KG_E_PROBLEM);
    assert_string_equal(err.message, "a.c:2: file: holds a NUL byte (remove it)");
    size_t n = KG_MAX_SOURCE_BYTES + 1;
    char *large = malloc(n);
    memset(large, ' ', n);
    assert_int_equal(kg_problem_parse(large, n, "a.c", &p, &err), KG_E_PROBLEM);
    assert_string_equal(err.message, "a.c:1: file: has 262145 bytes (at most 262144)");
    memcpy(large, "/*---kgym\n#", 11);
    memcpy(large + n - 8, "\n---*/\n", 7);
    assert_int_equal(kg_problem_parse(large, n - 1, "a.c", &p, &err), KG_E_PROBLEM);
    assert_string_equal(err.message, "a.c:2: file: the block has 262128 bytes (at most 65536)");
    free(large);
}

static void one_bad_line(void **state)
{
    (void)state;
    static const struct {
        int line; /* of CONV, 0-based */
        const char *text, *want;
    } CASES[] = {
        {1, "nam: conv\n", "2: nam: unknown key (did you mean 'name'?)"},
        {1, "\n", "3: name: is missing (it is required)"},
        {1, "name: [a]\n", "2: name: must be a single value, not a list"},
        {1, "name: 2d\n", "2: name: '2d' is no name (a C identifier of at most 63 characters)"},
        {1, "name: \"\"\n", "2: name: '' is no name (a C identifier of at most 63 characters)"},
        {1, "name: conv\ncolour: red\n", "3: colour: unknown key (docs/problems.md lists them)"},
        {1, "name: \"a\\e[2J\"\n",
         "2: name: 'a?[2J' is no name (a C identifier of at most 63 characters)"},
        {2, "level: two\n", "3: level: must be an integer from 1 to 9"},
        {2, "level: 0\n", "3: level: must be an integer from 1 to 9"},
        {2, "level: 10\n", "3: level: must be an integer from 1 to 9"},
        {2, "level: {}\n", "3: level: must be a single value, not a map"},
        {2, "level: 99999999999999999999999\n", "3: level: must be an integer from 1 to 9"},
        {3, "entry: int\n", "4: entry: 'int' means something in C (choose another name)"},
        {3, "entry: real\n", "4: entry: 'real' means something in C (choose another name)"},
        {3, "entry: kgops_relu\n",
         "4: entry: 'kgops_relu' has a reserved prefix (choose another name)"},
        {3, "entry: f x\n", "4: entry: 'f x' is no name (a C identifier of at most 63 characters)"},
        {4, "desc: {a: b}\n", "5: desc: must be a single value, not a map"},
        {6, "       oh: h - kk + 1}\n", "7: dims.oh: unknown name 'kk' (did you mean 'kh'?)"},
        {6, "       oh: h - ow, ow: 2}\n",
         "7: dims.oh: uses 'ow', which is not an earlier dim (dims are read in order)"},
        {6, "       oh: oh + 1, ow: 2}\n",
         "7: dims.oh: uses 'oh', which is not an earlier dim (dims are read in order)"},
        {6, "       oh: h / 2.0, ow: 2}\n",
         "7: dims.oh: must be an integer (this is a real number)"},
        {6, "       oh: h - 20, ow: 2}\n",
         "7: dims.oh: is 0 at the default dims (must be 1 to 2147483647)"},
        {6, "       oh: h * 1000000000, ow: 2}\n",
         "7: dims.oh: is 20000000000 at the default dims (must be 1 to 2147483647)"},
        {6, "       oh: h / (c - 8), ow: 2}\n",
         "7: dims.oh: has no value at the default dims (division by zero, overflow, or the root "
         "or logarithm of a negative number)"},
        {6, "       oh: 0, ow: 2}\n", "7: dims.oh: must be an integer from 1 to 2147483647"},
        {6, "       oh: [1], ow: 2}\n", "7: dims.oh: must be a single value, not a list"},
        {6, "       oh: -3, ow: 2}\n",
         "7: dims.oh: is -3 at the default dims (must be 1 to 2147483647)"},
        {6, "       while: 3, oh: 1, ow: 2}\n",
         "7: dims: 'while' means something in C (choose another name)"},
        {6, "       h: 3}\n", "7: duplicate key `h` (first on line 6)"},
        {7, "where: h >= kh\n", "8: where: must be a list, not a single value"},
        {7, "where: [h >= kh, kh >= h]\n",
         "8: where[1]: 'kh >= h' does not hold at the default dims"},
        {7, "where: [[h]]\n", "8: where[0]: must be a single value, not a list"},
        {7, "where: [1 <= h <= 5]\n",
         "8: where[0]: a chained comparison (join two with &&) at "
         "column 8 of '1 <= h <= 5'"},
        {7, "where: [h / 2.0]\n", "8: where[0]: must be an integer (this is a real number)"},
        {7, "where: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\n", "8: where: more than 16 constraints"},
        {8, "args: {\n",
         "10: not valid YAML: did not find expected node content while parsing a flow node"},
        {17, "reduce: c - 8\n", "18: reduce: is 0 at the default dims (at least 1)"},
        {17, "reduce: c * 0.5\n", "18: reduce: must be an integer (this is a real number)"},
        {17, "reduce: [c]\n", "18: reduce: must be a single value, not a list"},
        {18, "cost: {flop: 3}\n", "19: cost.flop: unknown key (did you mean 'flops'?)"},
        {18, "cost: {flops: c - 8}\n", "19: cost.flops: is 0 at the default dims (more than 0)"},
        {18, "cost: {bytes: log2(0)}\n",
         "19: cost.bytes: has no value at the default dims (division by zero, overflow, or the "
         "root or logarithm of a negative number)"},
        {18, "cost: 12\n", "19: cost: must be a map, not a single value"},
        {18, "cost: {flops: {}}\n", "19: cost.flops: must be a single value, not a map"},
        {19, "laws: [-ofset]\n", "20: laws: unknown law 'ofset' (did you mean 'offset'?)"},
        {19, "laws: [gaussian_mixture]\n",
         "20: laws: unknown law 'gaussian_mixture' (docs/problems.md lists them)"},
        {19, "laws: [-own]\n", "20: laws: 'own' cannot be left out (change the ranges)"},
        {19, "laws: [-heavy, +heavy]\n", "20: laws: 'heavy' is named twice"},
        {19, "laws: heavy\n", "20: laws: must be a list, not a single value"},
    };
    for (size_t k = 0; k < COUNT(CASES); k++) {
        char text[8192], want[480];
        compose(text, sizeof text, CASES[k].line, CASES[k].text);
        snprintf(want, sizeof want, "suites/level2/conv_bias.c:%s", CASES[k].want);
        refuse(text, want);
    }
}

static void one_bad_argument(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want; /* of line 10, the first argument */
    } CASES[] = {
        {"- {type: \"f32[n]\", role: in}", "args[0]: has no name"},
        {"- {name: [a], type: \"f32[n]\", role: in}",
         "args[0].name: must be a single value, not a list"},
        {"- {name: 1a, type: \"f32[n]\", role: in}",
         "args[0]: '1a' is no name (a C identifier of at most 63 characters)"},
        {"- {name: x, role: in}", "args.x: has no type"},
        {"- {name: x, type: i64}", "args.x: has no role"},
        {"- x", "args[0]: must be a map, not a single value"},
        {"- {name: x, type: \"f32[n]\", rol: in}",
         "args.x.rol: unknown key (did you mean 'role'?)"},
        {"- {name: x, type: \"f16[n]\", role: in}",
         "args.x.type: 'f16[n]' is no type (f32, f64, i32 or i64, then [extents])"},
        {"- {name: x, type: \"f32[n\", role: in}", "args.x.type: 'f32[n' lacks its ']'"},
        {"- {name: x, type: \"f32[n]x\", role: in}", "args.x.type: text follows ']' in 'f32[n]x'"},
        {"- {name: x, type: \"f32[]\", role: in}",
         "args.x.type: expected a number, a name or '(' at column 1 of ''"},
        {"- {name: x, type: \"f32[n,]\", role: in}",
         "args.x.type: expected a number, a name or '(' at column 1 of ''"},
        {"- {name: x, type: \"f32[n,m]\", role: in}",
         "args.x.type: unknown name 'm' (only dims may be named here)"},
        {"- {name: x, type: \"f32[c-8]\", role: in}",
         "args.x.type: extent 'c-8' is 0 at the default dims (at least 1)"},
        {"- {name: x, type: \"f32[n*1.0]\", role: in}",
         "args.x.type: must be an integer (this is a real number)"},
        {"- {name: x, type: \"f32[n,n,n,n,n,n,n]\", role: in}", "args.x.type: more than 6 extents"},
        {"- {name: x, type: \"f32[n]\", role: inout}",
         "args.x.role: 'inout' is no role (in, out, dim or param)"},
        {"- {name: x, type: f32, role: in}",
         "args.x.type: role in needs an array such as f32[n] (scalars are dim or param)"},
        {"- {name: x, type: i32, role: out}",
         "args.x.type: role out needs an array such as i32[n] (scalars are dim or param)"},
        {"- {name: x, type: \"f32[n]\", role: param, value: 1}",
         "args.x.type: role param needs a scalar (arrays are in or out)"},
        {"- {name: n, type: \"i64[n]\", role: dim}",
         "args.n.type: role dim needs a scalar (arrays are in or out)"},
        {"- {name: n, type: i32, role: dim}", "args.n.type: a dim is passed as i64"},
        {"- {name: group, type: i64, role: dim}",
         "args.group.name: role dim, but there is no dim 'group' (did you mean 'groups'?)"},
        {"- {name: batch_size, type: i64, role: dim}",
         "args.batch_size.name: role dim, but there is no dim 'batch_size' (declare it in dims)"},
        {"- {name: n, type: \"f32[n]\", role: in}",
         "args.n.role: 'n' is a dim (make the role dim, or rename it)"},
        {"- {name: x, type: \"f32[n]\", role: in, value: 3}",
         "args.x.value: only params have a value"},
        {"- {name: x, type: \"f32[n]\", role: out, range: [0, 1]}",
         "args.x.range: only inputs have a range"},
        {"- {name: x, type: f32, role: param}", "args.x: a param needs a value"},
        {"- {name: x, type: f32, role: param, value: [1]}",
         "args.x.value: must be a single value, not a list"},
        {"- {name: x, type: f32, role: param, value: 1e39}",
         "args.x.value: 1e+39 does not fit f32"},
        {"- {name: x, type: i32, role: param, value: 3000000000}",
         "args.x.value: 3e+09 does not fit i32"},
        {"- {name: x, type: i32, role: param, value: 1.5}",
         "args.x.value: must be an integer (this is a real number)"},
        {"- {name: x, type: f32, role: param, value: 1 / (n - 2)}",
         "args.x.value: has no value at the default dims (division by zero, overflow, or the root "
         "or logarithm of a negative number)"},
        {"- {name: x, type: \"f32[n]\", role: in, range: 3}",
         "args.x.range: must be a list, not a single value"},
        {"- {name: x, type: \"f32[n]\", role: in, range: [3]}",
         "args.x.range: must be two values, [lo, hi], hi excluded"},
        {"- {name: x, type: \"f32[n]\", role: in, range: [1, 2, 3]}",
         "args.x.range: must be two values, [lo, hi], hi excluded"},
        {"- {name: x, type: \"f32[n]\", role: in, range: [3, 3]}",
         "args.x.range: is empty: 3 is not below 3 (hi is excluded)"},
        {"- {name: x, type: \"i32[n]\", role: in, range: [0, 1.5]}",
         "args.x.range: must be an integer (this is a real number)"},
        {"- {name: x, type: \"i32[n]\", role: in, range: [0, 5000000000]}",
         "args.x.range: 5e+09 does not fit i32"},
        {"- {name: x, type: \"i32[n]\", role: in, range: [0, vocab]}",
         "args.x.range: unknown name 'vocab' (only dims may be named here)"},
        {"- {name: out, type: \"f32[n]\", role: in}", NULL},
        {"- {name: x, type: \"f32[n*100000000]\", role: in}",
         "args: all arrays together take 762 MB at the default dims (at most 256)"},
        {"- {name: x, type: \"f32[1000000000,1000000000,1000000000]\", role: in}",
         "args: 'x' is too large at the default dims"},
    };
    for (size_t k = 0; k < COUNT(CASES); k++) {
        char text[8192], line[300], want[480];
        snprintf(line, sizeof line, "  %s\n", CASES[k].text);
        compose(text, sizeof text, 9, line);
        if (CASES[k].want != NULL) {
            snprintf(want, sizeof want, "suites/level2/conv_bias.c:10: %s", CASES[k].want);
        } else { /* the second of the two is at fault */
            snprintf(want, sizeof want,
                     "suites/level2/conv_bias.c:13: args[3]: 'out' is already "
                     "the name of an argument");
        }
        refuse(text, want);
    }
}

static void a_problem_needs_an_input_and_an_output(void **state)
{
    (void)state;
    refuse(HEAD "dims: {n: 4}\nargs:\n  - {name: x, type: \"f32[n]\", role: in}\n---*/\n",
           "suites/level2/conv_bias.c:6: args: no argument has role out (a problem needs one)");
    refuse(HEAD "dims: {n: 4}\nargs:\n  - {name: x, type: \"f32[n]\", role: out}\n---*/\n",
           "suites/level2/conv_bias.c:6: args: no argument has role in (a problem needs one)");
    refuse(HEAD "dims: {n: 4}\nargs: []\n---*/\n",
           "suites/level2/conv_bias.c:6: args: no argument has role out (a problem needs one)");
    refuse(HEAD "dims: {n: 4}\n---*/\n",
           "suites/level2/conv_bias.c:2: args: is missing (it is required)");
    refuse(HEAD "args: []\n---*/\n",
           "suites/level2/conv_bias.c:2: dims: is missing (it is required)");
}

static void too_many(void **state)
{
    (void)state;
    char text[8192];
    size_t n = (size_t)snprintf(text, sizeof text, "%sdims:\n", HEAD);
    for (int k = 0; k <= KG_MAX_DIMS; k++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "  d%d: 1\n", k);
    }
    snprintf(text + n, sizeof text - n, "args: []\n---*/\n");
    refuse(text, "suites/level2/conv_bias.c:22: dims: more than 16 dims");
    n = (size_t)snprintf(text, sizeof text, "%sdims: {}\nargs:\n", HEAD);
    for (int k = 0; k <= KG_MAX_ARGS; k++) {
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "  - {name: a%d, type: f32, role: param, value: 1}\n", k);
    }
    snprintf(text + n, sizeof text - n, "---*/\n");
    refuse(text, "suites/level2/conv_bias.c:39: args: more than 32 arguments");
}

static void long_things_are_cut_in_messages(void **state)
{
    (void)state;
    char path[3000], text[8192], word[600];
    struct kg_problem *p;
    struct kg_err err = KG_ERR_INIT;
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    snprintf(text, sizeof text, "%sdims: {%s: 3}\nargs: []\n---*/\n", HEAD, word);
    assert_int_equal(kg_problem_parse(text, strlen(text), path, &p, &err), KG_E_PROBLEM);
    assert_non_null(strstr(err.message, "www...' is no name"));
    snprintf(text, sizeof text, "%sdims: {n: n+%s}\nargs: []\n---*/\n", HEAD, word);
    assert_int_equal(kg_problem_parse(text, strlen(text), path, &p, &err), KG_E_PROBLEM);
    assert_non_null(strstr(err.message, "longer than 256 characters"));
    snprintf(text, sizeof text, "%s%.500s: 3\n---*/\n", HEAD, word);
    assert_int_equal(kg_problem_parse(text, strlen(text), path, &p, &err), KG_E_PROBLEM);
    assert_non_null(strstr(err.message, "www...: unknown key"));
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

/* Every prefix of a good file ends in an error or in a problem, never in a crash. */
static void every_prefix_and_every_lost_byte(void **state)
{
    (void)state;
    char text[8192], cut[8192];
    compose(text, sizeof text, -1, "");
    size_t len = strlen(text);
    for (size_t n = 0; n < 2 * len; n++) {
        struct kg_problem *p = NULL;
        struct kg_err err = KG_ERR_INIT;
        size_t at = n < len ? n : n - len, keep = n < len ? 0 : len - at - 1;
        memcpy(cut, text, at);
        memcpy(cut + at, text + len - keep, keep);
        enum kg_code code = kg_problem_parse(cut, at + keep, "x/y.c", &p, &err);
        assert_int_equal(code == KG_OK, p != NULL);
        assert_true(code == KG_OK || strncmp(err.message, "x/y.c:", 6) == 0);
        kg_problem_destroy(p);
    }
}

static char root[64];

static void write_file(const char *path, const char *text)
{
    char whole[256];
    struct kg_err err = KG_ERR_INIT;
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    char *slash = strrchr(whole, '/');
    *slash = '\0';
    assert_int_equal(kg_file_mkdirs(whole, 0755, &err), KG_OK);
    *slash = '/';
    assert_int_equal(kg_file_write_atomic(whole, text, strlen(text), &err), KG_OK);
}

static int make_suites(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/kgym-test-problem-XXXXXX");
    assert_non_null(mkdtemp(root));
    write_file("one/level1/relu.c", MATMUL);
    write_file("one/level1/softmax.c", MATMUL);
    write_file("one/level2/relu6.c", MATMUL);
    write_file("one/level2/notes.txt", "no problem");
    write_file("one/.hidden/ghost.c", MATMUL);
    write_file("two/softmax.c", MATMUL);
    write_file("two/scan.c", MATMUL);
    write_file("twice/a/scan.c", MATMUL);
    write_file("twice/b/scan.c", MATMUL);
    write_file("a.c/b.c", "not a problem");
    char loop[128];
    snprintf(loop, sizeof loop, "%s/two/loop", root);
    assert_int_equal(symlink("..", loop), 0);
    return 0;
}

static int remove_suites(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return kg_file_remove_tree(root, &err) == KG_OK ? 0 : -1;
}

static const char *suite(const char *name, char out[128])
{
    snprintf(out, 128, "%s/%s", root, name);
    return out;
}

static void load_reads_a_file(void **state)
{
    (void)state;
    char path[128];
    struct kg_problem *p;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_problem_load(suite("one/level1/relu.c", path), &p, &err), KG_OK);
    assert_string_equal(p->suite, "level1");
    assert_string_equal(p->path, path);
    kg_problem_destroy(p);
    assert_int_equal(kg_problem_load(suite("one/level1/../level2/relu6.c", path), &p, &err), KG_OK);
    assert_string_equal(p->suite, "level2");
    kg_problem_destroy(p);
    assert_int_equal(kg_problem_load(suite("one/level1/none.c", path), &p, &err), KG_E_NOT_FOUND);
    assert_null(p);
    assert_non_null(strstr(err.message, "one/level1/none.c"));
    assert_int_equal(kg_problem_load(suite("one", path), &p, &err), KG_E_IO);
    assert_null(p);
}

static void suite_of_a_bare_name(void **state)
{
    (void)state;
    char folder[128], back[4096];
    struct kg_problem *p;
    struct kg_err err = KG_ERR_INIT;
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(suite("one/level1", folder)), 0);
    assert_int_equal(kg_problem_load("relu.c", &p, &err), KG_OK);
    assert_string_equal(p->suite, "level1");
    kg_problem_destroy(p);
    assert_int_equal(kg_problem_load("../level2/relu6.c", &p, &err), KG_OK);
    assert_string_equal(p->suite, "level2");
    kg_problem_destroy(p);
    assert_int_equal(kg_problem_load("../relu6.c", &p, &err), KG_E_NOT_FOUND);
    assert_int_equal(kg_problem_parse(MATMUL, strlen(MATMUL), "/t.c", &p, &err), KG_OK);
    assert_string_equal(p->suite, "");
    kg_problem_destroy(p);
    assert_int_equal(chdir(back), 0);
}

static void a_file_too_large_is_the_problems_defect(void **state)
{
    (void)state;
    char path[128];
    struct kg_problem *p;
    struct kg_err err = KG_ERR_INIT;
    char *large = calloc(1, KG_MAX_SOURCE_BYTES + 2);
    memset(large, ' ', KG_MAX_SOURCE_BYTES + 1);
    write_file("large/x.c", large);
    free(large);
    assert_int_equal(kg_problem_load(suite("large/x.c", path), &p, &err), KG_E_PROBLEM);
    assert_int_equal(err.blame, KG_BLAME_PROBLEM);
    assert_non_null(strstr(err.message, "limit of 262144 bytes"));
}

static void find(void **state)
{
    (void)state;
    char one[128], two[128], want[256], path[256];
    const char *suites[] = {suite("one", one), suite("two", two)};
    static const struct {
        const char *name, *want;
    } CASES[] = {{"relu", "one/level1/relu.c"},
                 {"relu6", "one/level2/relu6.c"},
                 {"softmax", "one/level1/softmax.c"}, /* the first suite wins */
                 {"scan", "two/scan.c"}};
    for (size_t k = 0; k < COUNT(CASES); k++) {
        struct kg_err err = KG_ERR_INIT;
        if (kg_problem_find(CASES[k].name, suites, 2, path, sizeof path, &err) != KG_OK) {
            fail_msg("%s", err.message);
        }
        assert_string_equal(path, suite(CASES[k].want, want));
    }
    struct kg_err err = KG_ERR_INIT;
    suite("two/scan.c", want);
    assert_int_equal(kg_problem_find(want, suites, 2, path, sizeof path, &err), KG_OK);
    assert_string_equal(path, want);
}

static void find_refuses(void **state)
{
    (void)state;
    char one[128], two[128], twice[128], none[128], want[480], path[256];
    const char *suites[] = {suite("one", one), suite("two", two)};
    static const struct {
        const char *name, *want;
        enum kg_code code;
    } CASES[] = {
        {"rleu", "no problem 'rleu' in the suites (did you mean 'relu'?)", KG_E_NOT_FOUND},
        {"ghost", "no problem 'ghost' in the suites (they hold 5; `kgym problems` lists them)",
         KG_E_NOT_FOUND},
        {"x\033[2J", "no problem 'x?[2J' in the suites (they hold 5; `kgym problems` lists them)",
         KG_E_NOT_FOUND},
        {"none.c", "none.c: no such problem file", KG_E_NOT_FOUND},
        {"./none", "./none: no such problem file", KG_E_NOT_FOUND},
        {"", "problem '': not a name or a path", KG_E_USAGE},
        {"rows.jsonl#3",
         "rows.jsonl#3: PyTorch problems are not built yet (native problems are .c files)",
         KG_E_USAGE},
        {"dir/rows.jsonl",
         "dir/rows.jsonl: PyTorch problems are not built yet (native problems are .c files)",
         KG_E_USAGE},
        {"relu.py", "relu.py: PyTorch problems are not built yet (native problems are .c files)",
         KG_E_USAGE},
    };
    struct kg_err err = KG_ERR_INIT;
    for (size_t k = 0; k < COUNT(CASES); k++) {
        assert_int_equal(kg_problem_find(CASES[k].name, suites, 2, path, sizeof path, &err),
                         CASES[k].code);
        assert_string_equal(err.message, CASES[k].want);
    }
    suites[0] = suite("twice", twice);
    assert_int_equal(kg_problem_find("scan", suites, 1, path, sizeof path, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "problem 'scan' is ambiguous: "));
    suites[0] = suite("none", none);
    assert_int_equal(kg_problem_find("scan", suites, 1, path, sizeof path, &err), KG_E_NOT_FOUND);
    snprintf(want, sizeof want,
             "%s: cannot read this folder of problems: No such file or directory", none);
    assert_string_equal(err.message, want);
    assert_int_equal(kg_problem_find("relu", (const char *const[]){one}, 1, path, 8, &err),
                     KG_E_LIMIT);
}

static void list(void **state)
{
    (void)state;
    char one[128], two[128], want[128];
    const char *suites[] = {suite("two", two), suite("one", one)};
    static const char *const WANT[] = {"one/level1/relu.c", "one/level2/relu6.c", "two/scan.c",
                                       "one/level1/softmax.c", "two/softmax.c"};
    char **paths;
    size_t n;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_problem_list(suites, 2, &paths, &n, &err), KG_OK);
    assert_int_equal(n, COUNT(WANT));
    for (size_t k = 0; k < n; k++) {
        assert_string_equal(paths[k], suite(WANT[k], want));
        free(paths[k]);
    }
    free(paths);
    suites[1] = "/nonexistent";
    assert_int_equal(kg_problem_list(suites, 2, &paths, &n, &err), KG_E_NOT_FOUND);
    assert_null(paths);
    assert_int_equal(kg_problem_list(suites, 0, &paths, &n, &err), KG_OK);
    assert_int_equal(n, 0);
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
    assert_int_equal(kg_problem_reduce(p, &s), 4 * 3 * 3);
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
        cmocka_unit_test(ranges_at_a_shape),
        cmocka_unit_test(costs_and_laws),
        cmocka_unit_test(costs_that_are_not_declared),
        cmocka_unit_test(reduce_of_an_elementwise_problem_is_one),
        cmocka_unit_test(a_shape_is_complete),
        cmocka_unit_test(a_shape_is_refused),
        cmocka_unit_test(a_shape_with_an_empty_array_or_range_is_refused),
        cmocka_unit_test(crlf_bom_and_spaces_are_fine),
        cmocka_unit_test(files_that_are_no_problem),
        cmocka_unit_test(nul_bytes_and_size),
        cmocka_unit_test(one_bad_line),
        cmocka_unit_test(one_bad_argument),
        cmocka_unit_test(a_problem_needs_an_input_and_an_output),
        cmocka_unit_test(too_many),
        cmocka_unit_test(long_things_are_cut_in_messages),
        cmocka_unit_test(y_and_n_are_names),
        cmocka_unit_test(names_of_types_and_roles),
        cmocka_unit_test(every_prefix_and_every_lost_byte),
        cmocka_unit_test(load_reads_a_file),
        cmocka_unit_test(suite_of_a_bare_name),
        cmocka_unit_test(a_file_too_large_is_the_problems_defect),
        cmocka_unit_test(find),
        cmocka_unit_test(find_refuses),
        cmocka_unit_test(list),
        cmocka_unit_test(the_documented_example_parses),
    };
    return cmocka_run_group_tests(tests, make_suites, remove_suites);
}
