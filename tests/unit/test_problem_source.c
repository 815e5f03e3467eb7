/* What `kgym problems check` says of the source of a C problem: words of one width, the sanitizers,
 * times that are too short. Words and reports alone; then the command as a person runs it. */
#include "kgym_rig.h"

#include "gym/native/real_words.h"
#include "gym/native/sanitized_reference.h"

#define BLOCK(name, args)                                                                          \
    "/*---kgym\nname: " name "\nlevel: 1\nentry: " name "\ndims: {n: 60000}\nargs:\n"              \
    "  - {name: x, type: \"f32[n]\", role: in}\n  - {name: y, type: \"f32[n]\", role: out}\n" args \
    "  - {name: n, type: i64, role: dim}\n---*/\n#include <math.h>\n#include <stdint.h>\n"         \
    "#include <stdlib.h>\n"
#define BODY(name, before, at)                                                                     \
    "void " name "(const real *x, real *y, int64_t n)\n{\n" before                                 \
    "    for (int64_t i = 0; i < n; i++) {\n        y[i] = " at ";\n    }\n}\n"
#define PLAIN(name, before, at) BLOCK(name, "") BODY(name, before, at)

static struct kg_problem *parsed(const char *text)
{
    struct kg_problem *p = NULL;
    struct kg_err err = KG_ERR_INIT;
    if (kg_problem_parse(text, strlen(text), "p.c", &p, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return p;
}

#define IN_DOUBLE "` (it computes in double)"

/* The body begins on line 14. */
static const struct {
    const char *body, *found;
} words[] = {
    {"real f(real x) { return sqrt(x); }\n", ""},
    {"float f(void);\n", "line 14: `float`: write `real`"},
    {"// float\n/* sqrtf */ const char *s = \"float\";\n", ""},
    {"real a = sqrtf(2), b = __builtin_expf(3);\n",
     "line 14: `sqrtf`: write `sqrt` with #include <tgmath.h>; "
     "line 14: `__builtin_expf`: write `exp` with #include <tgmath.h>"},
    {"real a = 0.5f, b = 1.f, c = 0x1p-3f, d = 1e3;\n", ""}, /* the same in both widths */
    {"real a = 0.1f, b = 1e-5F;\n",
     "line 14: `0.1f`: write `(real)0.1`; line 14: `1e-5F`: write `(real)1e-5`"},
    {"int a = 0xff, halff, printf_;\n", ""},
    {"#define STEP 0.1f\n#define T \\\n    float\n",
     "line 14: `0.1f`: write `(real)0.1`; line 16: `float`: write `real`"},
    {"#include <float.h>\n", ""},
    {"float f(float x, float y, real z) { return sqrtf(x) + sqrtf(y); }\n", /* once for a line */
     "line 14: `float`: write `real`; line 14: `sqrtf`: write `sqrt` with #include <tgmath.h>"},
    {"void g(real *x) { kgops_gelu_f32(x, x, 1); }\n",
     "line 14: `kgops_gelu_f32`: write `kgops_gelu`"},
    {"union { float f; int i; } u; /* not real: rounds to bfloat16 in both widths */\n", ""},
    {"/* not real: this line only */\nfloat f;\n", "line 15: `float`: write `real`"},
    {"real f(real x) { return x * 0.01; }\n", "line 14: `0.01`: write `(real)0.01" IN_DOUBLE},
    {"real f(real x) { return x > 0. ? x : 1e-2 * x; }\n",
     "line 14: `0.`: write `(real)0." IN_DOUBLE "; line 14: `1e-2`: write `(real)1e-2" IN_DOUBLE},
    {"real f(real x) { x *= 0.5; return fmax(x, 0.0); }\n",
     "line 14: `0.5`: write `(real)0.5" IN_DOUBLE "; line 14: `0.0`: write `(real)0.0" IN_DOUBLE},
    {"#define SLOPE (-0.01)\nreal f(const real *x) { return SLOPE * x[0]; }\n",
     "line 15: `SLOPE`: write `(real)SLOPE" IN_DOUBLE},
    {"#define SLOPE 0.01\nreal f(real x) { return (real)SLOPE * x; }\n", ""},
    {"real f(real x) { return x * (real)0.01 - (real)-1e-3; }\n", ""},
    {"real f(real x, int n) { real s = 0.0, t = -1.5; real u = 1.0 / n; return s * t + u * x; }\n",
     ""},
    {"void f(real *x, int n) { x[0] = 0.25; g(x, n, 0.01); }\n", ""},
    {"void f(real *x) { double s = x[0] * 0.5, t; t = 0.1 * x[0]; s = s * 0.9; x[0] = s + t; }\n",
     ""},
    {"real f(real x) { return x * 0.01; /* not real: in double on purpose */\n}\n", ""},
    {"const char *f(real x) { return x > 1 ? \"0.5\" : \"x * 0.01\"; }\n", ""},
    {"int f(real x, double y) { return y > 0.5; }\n", ""},
    {"float a;\nfloat b;\nfloat c;\nfloat d;\nfloat e;\nfloat f;\nfloat g;\nfloat h;\nfloat i;\n",
     "line 14: `float`: write `real`; line 15: `float`: write `real`; line 16: `float`: write "
     "`real`; "
     "line 17: `float`: write `real`; line 18: `float`: write `real`; line 19: `float`: write "
     "`real`; "
     "line 20: `float`: write `real`; line 21: `float`: write `real` and 1 more"},
    {"float a;\nfloat b;\nfloat c;\nfloat d;\nfloat e;\nfloat f;\nfloat g;\nfloat h;\n"
     "float i, *j = (float *)k; float l = (float)sqrtf(sqrtf(m));\n", /* and those that only count
                                                                       */
     "line 14: `float`: write `real`; line 15: `float`: write `real`; line 16: `float`: write "
     "`real`; "
     "line 17: `float`: write `real`; line 18: `float`: write `real`; line 19: `float`: write "
     "`real`; "
     "line 20: `float`: write `real`; line 21: `float`: write `real` and 2 more"},
};

static void words_of_one_width_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[4096];
        struct kg_buf out;
        snprintf(text, sizeof text, "%s%s", BLOCK("p", ""), words[i].body);
        struct kg_problem *p = parsed(text);
        kg_buf_init(&out, 4096);
        int n = kg_real_words(p, &out);
        assert_string_equal(out.data, words[i].found);
        assert_int_equal(n == 0, words[i].found[0] == '\0');
        kg_buf_deinit(&out);
        kg_problem_destroy(p);
    }
}

#define ARRAYS                                                                                     \
    "kgym: array 0 at 0x602000000010 bytes 40\nkgym: array 1 at 0x602000000050 bytes 40\nkgym: "   \
    "case 3\n"
#define ERROR "==1==ERROR: AddressSanitizer: "

static const struct {
    const char *text, *line; /* NULL: nothing that is known */
} reports[] = {
    {ARRAYS ERROR "heap-buffer-overflow on address 0x602000000038 at pc 0x1 bp 0x2 sp 0x3\n"
                  "READ of size 4 at 0x602000000038 thread T0\n"
                  "    #0 0x4 in g /x/other.c:9\n    #1 0x4 in f /scratch/reference.c:12\n",
     "line 12 reads outside an array: at byte 40 of `x`, which has 40"},
    {ARRAYS ERROR "heap-buffer-overflow on address 0x60200000004c at pc 0x1 bp 0x2 sp 0x3\n"
                  "WRITE of size 4 at 0x60200000004c thread T0\n",
     "it writes outside an array: 4 bytes before the start of `y`"},
    {ARRAYS ERROR "SEGV on unknown address 0x7f0000000000 (pc 0x1)\n"
                  "The signal is caused by a READ memory access.\n    #1 f reference.c:3\n",
     "line 3 reads memory that is not its own (SEGV)"},
    {ARRAYS ERROR "stack-overflow on address 0x7ffc00000000 (pc 0x1)\n",
     "it touches memory that is not its own (stack-overflow)"},
    {ARRAYS "reference.c:17:9: runtime error: shift exponent 32 is too large\n",
     "line 17: undefined behaviour: shift exponent 32 is too large"},
    {"kgym: array 1 at 0x602000000030 bytes 8\nkgym: case 2\n" ARRAYS ERROR
     "heap-buffer-overflow on address 0x602000000038 at pc 0x1\n",
     "it touches outside an array: at byte 40 of `x`, which has 40"}, /* not of the case before */
    {"kgym: array 77 at 0x1 bytes 4\n" ERROR "SEGV on unknown address 0x1 (pc 0x1)\n",
     "it touches memory that is not its own (SEGV)"},
    {ARRAYS "Aborted\n", NULL},
    {"", NULL},
};

static void what_the_sanitizers_say_is_a_line(void **state)
{
    (void)state;
    struct kg_problem *p = parsed(PLAIN("p", "", "x[i]"));
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        char line[300] = "";
        bool known = kg_sanitized_report(p, reports[i].text, line, sizeof line);
        assert_int_equal(known, reports[i].line != NULL);
        assert_string_equal(line, reports[i].line ? reports[i].line : "");
    }
    kg_problem_destroy(p);
}

/* --- the command --- */

static void expect_defect(const char *name, const char *text, const char *says)
{
    char file[64];
    snprintf(file, sizeof file, "%s.c", name);
    rig_text(file, text);
    rig_expect(1, "$K problems check ./%s", file);
    rig_shows("DEFECT");
    rig_shows(says);
}

/* The same file must fare alike. */
static void a_reference_that_leaves_its_arrays_is_a_defect(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        expect_defect(
            "past", PLAIN("past", "", "x[i] + x[i + 1]"),
            "sanitizers: line 17 reads outside an array: at byte 240000 of `x`, which has "
            "240000, at shape `default` (n 60000), law `own`");
    }
    expect_defect("before", PLAIN("before", "", "x[(i ^ 1) - 1]"),
                  "4 bytes before the start of `x`");
    expect_defect("writes", PLAIN("writes", "    y[n] = 0;\n", "x[i]"),
                  "line 16 writes outside an array: at byte 240000 of `y`, which has 240000");
    expect_defect(
        "freed",
        PLAIN("freed", "    real *t = malloc(8);\n    *t = 1;\n    free(t);\n", "x[i] * (*t != 0)"),
        "sanitizers: line 20 reads memory that is not its own (heap-use-after-free)");
    expect_defect("shifts", PLAIN("shifts", "    int s = (int)(n % 7) + 40;\n", "x[i] * (1 << s)"),
                  "sanitizers: line 18: undefined behaviour: shift exponent");
}

/* What the operator library reads for it: only the pages around its arrays show that. */
static void the_operator_library_is_watched_too(void **state)
{
    (void)state;
    static const char text[] =
        "/*---kgym\nname: lib\nlevel: 1\nentry: lib\ndims: {rows: 60, cols: 1000}\nargs:\n"
        "  - {name: x, type: \"f32[rows,cols]\", role: in}\n"
        "  - {name: y, type: \"f32[rows]\", role: out}\n"
        "  - {name: rows, type: i64, role: dim}\n  - {name: cols, type: i64, role: dim}\n---*/\n"
        "#include \"kgops.h\"\nvoid lib(const real *x, real *y, int64_t rows, int64_t cols)\n"
        "{\n    kgops_row_mean(x + 1, y, rows, cols);\n}\n";
    expect_defect("lib", text, "sanitizers: line 15 reads outside an array: at byte 240000 of `x`");
}

static void float_where_real_belongs_is_a_defect_each_time(void **state)
{
    (void)state;
    static const char text[] = BLOCK("rms", "  - {name: eps, type: f32, role: param, value: "
                                            "1e-5}\n") "void rms(const real *x, real *y, float "
                                                       "eps, int64_t n)\n{\n    real s = 0;\n"
                                                       "    for (int64_t i = 0; i < n; i++) {\n    "
                                                       "    s += x[i] * x[i];\n    }\n"
                                                       "    for (int64_t i = 0; i < n; i++) {\n    "
                                                       "    y[i] = x[i] / sqrtf(s / n + eps);\n    "
                                                       "}\n}\n";
    for (int i = 0; i < 3; i++) {
        expect_defect("rms", text,
                      "real: line 15: `float`: write `real`; line 22: `sqrtf`: write `sqrt` with "
                      "#include <tgmath.h>");
    }
}

/* A compiler without the sanitizers' runtime: the check says so, and is not passed in silence. */
static void without_a_runtime_the_check_says_so(void **state)
{
    (void)state;
    rig_text("gcc-plain", "#!/bin/sh\ngcc \"$@\" 2>&1 | sed 's/\"-lasan\"/\"-lno_such_asan\"/; "
                          "s/ -lasan / -lno_such_asan /' >&2\n");
    rig_expect(0, "chmod +x gcc-plain");
    rig_text("twice.c", PLAIN("twice", "", "2 * x[i]"));
    rig_expect(0, "$K problems check ./twice.c --set compiler=$PWD/gcc-plain");
    rig_shows("note, sanitizers: not checked: the compiler has no sanitizers here");
    rig_expect(0, "$K problems check ./twice.c --json --set compiler=$PWD/gcc-plain | jq -c "
                  "'.checks[] | select(.check == \"sanitizers\") | [.pass, .note]'");
    assert_string_equal(rig.out.data, "[true,true]\n");
}

/* y = 2 x on ten elements took 1 ns, and an honest copy of it was below half of the floor. */
static void a_problem_too_short_to_time_is_told_and_never_timed(void **state)
{
    (void)state;
    rig_text("ten.c", "/*---kgym\nname: ten\nlevel: 1\nentry: ten\ndims: {n: 10}\nargs:\n"
                      "  - {name: x, type: \"f32[n]\", role: in}\n"
                      "  - {name: y, type: \"f32[n]\", role: out}\n"
                      "  - {name: n, type: i64, role: dim}\n---*/\n#include <stdint.h>\n" BODY(
                          "ten", "", "2 * x[i]"));
    rig_text("copy.c", "#include <stdint.h>\n#define real float\n" BODY("ten", "", "2 * x[i]"));
    rig_expect(0, "$K problems check ./ten.c");
    rig_shows("UNTIMED ten ");
    rig_shows("note, long enough: too short to time: the reference takes ");
    rig_shows("Candidates are judged but never timed, and earn no reward for speed; larger `dims` "
              "mend that (0.2 to 5 ms a call)");
    rig_expect(1, "$K problems check ./ten.c | grep '  reference '"); /* one time is shown */
    rig_expect(0, "$K problems check ./ten.c silu");
    rig_shows("ok      silu ");
    rig_shows("2 of 2 problems are fit to judge with, 1 of them without speed");
    int untimed = 0;
    for (int i = 0; i < 12 && untimed < 4; i++) { /* a host that is disturbed may find it longer */
        rig_expect(0, "$K eval ./ten.c copy.c --json > r.json; jq -c '[.verdict, .timing.status, "
                      ".speedup, (.stages[] | select(.name == \"timing\").status), "
                      ".rewards[\"dr-kernel\"].why]' r.json");
        if (strstr(rig.out.data, "not_trusted") != NULL) {
            continue;
        }
        assert_string_equal(rig.out.data,
                            "[\"ok\",\"not_measured\",null,\"off\",\"its time was not "
                            "measured\"]\n");
        rig_expect(0, "jq -r .timing.why r.json");
        rig_shows("too short to time: the reference takes ");
        untimed++;
    }
    assert_int_equal(untimed, 4);
}

/* The time in the first line is the one that is compared with T. */
static void one_time_of_the_reference_is_told(void **state)
{
    (void)state;
    rig_expect(0, "$K problems check silu --json | jq -r '[(.checks[] | select(.check == "
                  "\"long enough\").detail | capture(\"takes (?<us>[0-9.]+) us\").us | tonumber), "
                  ".reference_ns / 1000, .untimed] | \"\\((.[0] - .[1]) | fabs < 0.06) "
                  "\\(.[2])\"'");
    assert_string_equal(rig.out.data, "true false\n");
}

static void a_block_that_is_wrong_does_not_parse(void **state)
{
    (void)state;
    static const struct {
        const char *edit, *says;
    } edits[] = {
        {"s/\"f32.n.\"/f32[n,n]/", "parses: ./p.c:7: not valid YAML"},
        {"s/f32.n./f32[m]/", "parses: ./p.c:7: args.x.type: unknown name 'm'"},
        {"s/60000/0/", "parses: ./p.c:5: dims.n: must be an integer"},
        {"s/x.i.;/z;/", "builds: ./p.c:17: the reference does not build with real = float: "},
    };
    rig_text("whole.c", PLAIN("p", "", "x[i]"));
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        rig_expect(0, "sed '%s' whole.c > p.c", edits[i].edit);
        rig_expect(1, "$K problems check ./p.c");
        rig_shows(edits[i].says);
    }
}

/* What the bound may refuse of honest kernels is said where the problem's author sees it. */
static void sums_that_the_bound_cannot_cover_are_told(void **state)
{
    (void)state;
    rig_expect(0,
               "sed 's/dims: .*/dims: {rows: 4, cols: 40000}/' $T/tests/orders/problems/row_sum.c "
               "> few.c");
    rig_expect(0, "$K problems check ./few.c");
    rig_shows(
        "note, bound: `y` has 4 elements, each a sum of 40000 terms: errors are measured against "
        "the rms of all of them, so where these few cancel an honest kernel may be wrong; 64 "
        "elements or more mend that");
    rig_expect(0, "sed 's/^args:/reduce: 200000\\nargs:/' "
                  "$T/tests/orders/problems/row_sum.c > long.c");
    rig_expect(0, "$K problems check ./long.c");
    rig_shows(
        "note, bound: sums of 200000 terms: an honest kernel that adds more than 131072 in one");
    rig_expect(0,
               "$K problems check $T/tests/orders/problems/row_sum.c --json | jq -c '.checks[] | "
               "select(.check == \"bound\")'");
    assert_string_equal(rig.out.data,
                        "{\"check\":\"bound\",\"pass\":true,\"note\":false,\"detail\":"
                        "\"sums of 1024 terms, in any order\"}\n");
}

static void a_signature_that_does_not_fit_the_block_is_a_defect(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "void p(const real *x, real *y, int n)",    "void p(const real *x, real *y, int16_t n)",
        "void p(const real *x, real *y, real n)",   "void p(real x, real *y, int64_t n)",
        "int p(const real *x, real *y, int64_t n)", "void p(const real *x, real *y)"};
    char text[2000];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%s%s\n{\n    (void)x;\n    y[0] = 1;\n}\n", BLOCK("p", ""),
                 wrong[i]);
        expect_defect("p", text,
                      "signature: ./p.c:14: `p` does not fit `args`; write `void p(const real *x, "
                      "real *y, int64_t n)`");
    }
    rig_text("p.c", BLOCK("p", "") "void p(real *restrict x, real *const y, const int64_t n)\n{\n"
                                   "    for (int64_t i = 0; i < n; i++) {\n"
                                   "        y[i] = 2 * x[i];\n    }\n}\n");
    rig_expect(0, "$K problems check ./p.c");
}

static void a_reference_that_leaves_elements_out_is_told_in_one_clause(void **state)
{
    (void)state;
    expect_defect("forgot", PLAIN("forgot", "    n--;\n", "x[i]"),
                  "        reference: ./forgot.c: the float reference does not write all of `y`");
}

/* What a frozen `bias` changes here is near the error bound: fresh draws would find it in every
 * second check only. */
static void the_same_file_gets_the_same_answer(void **state)
{
    (void)state;
    rig_text("near.c",
             "/*---kgym\nname: near\nlevel: 1\nentry: near\ndims: {rows: 30, cols: 200}\nargs:\n"
             "  - {name: x, type: \"f32[rows,cols]\", role: in}\n"
             "  - {name: bias, type: \"f32[cols]\", role: in}\n"
             "  - {name: y, type: \"f32[rows,cols]\", role: out}\n"
             "  - {name: rows, type: i64, role: dim}\n  - {name: cols, type: i64, role: dim}\n"
             "---*/\n#include <stdint.h>\nvoid near(const real *x, const real *bias, real *y, "
             "int64_t rows, int64_t cols)\n{\n    for (int64_t i = 0; i < rows * cols; i++) {\n"
             "        y[i] = x[i] + (real)1e-9 * bias[i % cols];\n    }\n}\n");
    char first[8192] = "";
    for (int i = 0; i < 20; i++) {
        rig_expect(0,
                   "$K problems check ./near.c --json --set seed=%032x | jq -c '[.pass, (.checks[] "
                   "| select(.check != \"long enough\") | [.check, .pass, .detail])]'",
                   i);
        if (i == 0) {
            snprintf(first, sizeof first, "%s", rig.out.data);
        }
        assert_string_equal(rig.out.data, first);
    }
    assert_non_null(strstr(first, "frozen bias"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_one_width_are_named),
        cmocka_unit_test(what_the_sanitizers_say_is_a_line),
        cmocka_unit_test(a_reference_that_leaves_its_arrays_is_a_defect),
        cmocka_unit_test(the_operator_library_is_watched_too),
        cmocka_unit_test(float_where_real_belongs_is_a_defect_each_time),
        cmocka_unit_test(without_a_runtime_the_check_says_so),
        cmocka_unit_test(a_problem_too_short_to_time_is_told_and_never_timed),
        cmocka_unit_test(one_time_of_the_reference_is_told),
        cmocka_unit_test(a_block_that_is_wrong_does_not_parse),
        cmocka_unit_test(sums_that_the_bound_cannot_cover_are_told),
        cmocka_unit_test(a_signature_that_does_not_fit_the_block_is_a_defect),
        cmocka_unit_test(a_reference_that_leaves_elements_out_is_told_in_one_clause),
        cmocka_unit_test(the_same_file_gets_the_same_answer),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
