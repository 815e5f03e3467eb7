#include "problem_text.h"

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
        {3, "entry: __init\n", "4: entry: '__init' has a reserved prefix (choose another name)"},
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
         "args.x.range: only inputs and params have a range"},
        {"- {name: x, type: f32, role: param}", "args.x: a param needs a value"},
        {"- {name: x, type: f32, role: param, value: 2, range: [0, 2]}",
         "args.x.value: 2 is outside the range, 0 to below 2"},
        {"- {name: x, type: f32, role: param, value: 2, range: [3, 3]}",
         "args.x.range: is empty: 3 is not below 3 (hi is excluded)"},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_no_problem),
        cmocka_unit_test(nul_bytes_and_size),
        cmocka_unit_test(one_bad_line),
        cmocka_unit_test(one_bad_argument),
        cmocka_unit_test(a_problem_needs_an_input_and_an_output),
        cmocka_unit_test(too_many),
        cmocka_unit_test(long_things_are_cut_in_messages),
        cmocka_unit_test(every_prefix_and_every_lost_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
