#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "gym/problem/print.h"

static const char *const NAMES[] = {"h", "w", "kh", "zero", "big", "least"};
static const int64_t VALUES[] = {64, 7, 3, 0, INT64_MAX, INT64_MIN};
#define NNAMES   (sizeof NAMES / sizeof NAMES[0])
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct kg_arena arena;

static int setup(void **state)
{
    (void)state;
    kg_arena_init(&arena, "test", 4u << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kg_arena_deinit(&arena);
    return 0;
}

static const struct kg_expr *parse(const char *text, struct kg_err *err)
{
    const struct kg_expr *e = NULL;
    enum kg_code code = kg_expr_parse(text, NAMES, NNAMES, "t.c:7: dims.x", &arena, &e, err);
    assert_int_equal(code == KG_OK, e != NULL);
    return e;
}

static const struct kg_expr *must_parse(const char *text)
{
    struct kg_err err = KG_ERR_INIT;
    const struct kg_expr *e = parse(text, &err);
    if (e == NULL) {
        fail_msg("%s: %s", text, err.message);
    }
    return e;
}

static void integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t want;
    } CASES[] = {
        {"42", 42},
        {" ( h ) ", 64},
        {"h - kh + 1", 62},
        {"h-kh-1", 60},
        {"2+3*4", 14},
        {"(2+3)*4", 20},
        {"100/7/2", 7},
        {"7/2", 3},
        {"-7/2", -3},
        {"-7%3", -1},
        {"2*-3", -6},
        {"--3", 3},
        {"!0 + !h", 1},
        {"!!h", 1},
        {"h % w", 1},
        {"min(h,w)", 7},
        {"max(h, w) - 1", 63},
        {"min(max(1,2),3*2)", 2},
        {"ceil_div(h, w)", 10},
        {"ceil_div(63, 7)", 9},
        {"ceil_div(-7, 2)", -3},
        {"ceil_div(-7, -2)", 4},
        {"ceil_div(7, -2)", -3},
        {"h >= kh", 1},
        {"h < kh", 0},
        {"h <= 64 && w > 6", 1},
        {"h != 64 || w == 7", 1},
        {"1 || 0 && 0", 1},
        {"(1 || 0) && 0", 0},
        {"1 + 1 == 2", 1},
        {"1.5 < 2", 1},
        {"1.5 > 2 || 0.5", 1},
        {"!0.0", 1},
        {"9223372036854775807", INT64_MAX},
        {"big == 9223372036854775806", 0}, /* equal as doubles */
        {"zero != 0 && h / zero > 1", 0},  /* the right side is not looked at */
        {"zero == 0 || h / zero > 1", 1},
    };
    for (size_t k = 0; k < COUNT(CASES); k++) {
        int64_t got = -12345;
        const struct kg_expr *e = must_parse(CASES[k].text);
        if (kg_expr_is_real(e) || !kg_expr_int(e, VALUES, &got) || got != CASES[k].want) {
            fail_msg("%s: got %lld", CASES[k].text, (long long)got);
        }
    }
}

static void reals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double want;
    } CASES[] = {
        {"1e-5", 1e-5},
        {".5", 0.5},
        {"2.", 2.0},
        {"1E3", 1000.0},
        {"1.5e+2", 150.0},
        {"1/8.0", 0.125},
        {"1.0/sqrt(h)", 0.125},
        {"-0.5", -0.5},
        {"log2(h)", 6.0},
        {"sqrt(2*h+w-6)", sqrt(129.0)},
        {"min(0.5, h)", 0.5},
        {"max(0.5, h)", 64.0},
        {"h - 0.5", 63.5},
        {"0.5*h*2", 64.0},
    };
    for (size_t k = 0; k < COUNT(CASES); k++) {
        double got = NAN;
        int64_t i;
        const struct kg_expr *e = must_parse(CASES[k].text);
        if (!kg_expr_is_real(e) || !kg_expr_real(e, VALUES, &got) || got != CASES[k].want) {
            fail_msg("%s: got %.17g", CASES[k].text, got);
        }
        assert_false(kg_expr_int(e, VALUES, &i));
    }
}

static void an_integer_reads_as_real_too(void **state)
{
    (void)state;
    double d;
    struct kg_value v;
    assert_true(kg_expr_real(must_parse("h/2"), VALUES, &d));
    assert_true(d == 32.0);
    assert_true(kg_expr_eval(must_parse("h/2"), VALUES, &v));
    assert_false(v.real);
    assert_int_equal(v.i, 32);
    assert_true(kg_expr_eval(must_parse("h/2.0"), VALUES, &v));
    assert_true(v.real && v.d == 32.0);
}

static void without_a_value(void **state)
{
    (void)state;
    static const char *const CASES[] = {
        "h / zero",      "h % zero",       "ceil_div(h, zero)", "h / 0.0",
        "big + 1",       "least - 1",      "big * 2",           "-least",
        "least / -1",    "least % -1",     "sqrt(0 - h)",       "log2(zero)",
        "log2(-1.0)",    "1e308 * 1e308",  "1e308 + 1e308",     "zero / zero",
        "1 && h / zero", "0 || h / zero",  "!(h / zero)",       "min(h / zero, 1)",
        "-(big + 1)",    "sqrt(h / zero)",
    };
    for (size_t k = 0; k < COUNT(CASES); k++) {
        struct kg_value v;
        double d;
        const struct kg_expr *e = must_parse(CASES[k]);
        if (kg_expr_eval(e, VALUES, &v) || kg_expr_real(e, VALUES, &d)) {
            fail_msg("%s has a value", CASES[k]);
        }
    }
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } CASES[] = {
        {"", "expected a number, a name or '(' at column 1 of ''"},
        {"h -", "expected a number, a name or '(' at column 4 of 'h -'"},
        {"h h", "expected an operator or the end at column 3 of 'h h'"},
        {"(h", "expected ')' at column 3 of '(h'"},
        {"h)", "expected an operator or the end at column 2 of 'h)'"},
        {"2m", "a malformed number (multiply with '*') at column 1 of '2m'"},
        {"1.2.3", "a malformed number (multiply with '*') at column 1 of '1.2.3'"},
        {"0x10", "a malformed number (multiply with '*') at column 1 of '0x10'"},
        {"1e", "an exponent without digits at column 1 of '1e'"},
        {".", "expected digits around '.' at column 1 of '.'"},
        {"99999999999999999999", "a number out of range at column 1 of '99999999999999999999'"},
        {"1e999", "a number out of range at column 1 of '1e999'"},
        {"kw", "unknown name 'kw' (did you mean 'w'?)"},
        {"rows_per_block", "unknown name 'rows_per_block' (only dims may be named here)"},
        {"abs(h)", "unknown function (there are min, max, ceil_div, sqrt, log2) at column 1 of "
                   "'abs(h)'"},
        {"min(h)", "expected two arguments in parentheses at column 6 of 'min(h)'"},
        {"min(h,w,kh)", "expected two arguments in parentheses at column 8 of 'min(h,w,kh)'"},
        {"sqrt(h,w)", "expected one argument in parentheses at column 7 of 'sqrt(h,w)'"},
        {"1 <= h <= 5", "a chained comparison (join two with &&) at column 8 of '1 <= h <= 5'"},
        {"h == w < kh", "a chained comparison (join two with &&) at column 8 of 'h == w < kh'"},
        {"h % 2.0", "'%' and ceil_div need integers at column 3 of 'h % 2.0'"},
        {"ceil_div(h, 0.5)", "'%' and ceil_div need integers at column 1 of 'ceil_div(h, 0.5)'"},
        {"h = 2", "expected an operator or the end at column 3 of 'h = 2'"},
        {"h & 2", "expected an operator or the end at column 3 of 'h & 2'"},
        {"+h", "expected a number, a name or '(' at column 1 of '+h'"},
        {"h\033[2J", "expected an operator or the end at column 2 of 'h?[2J'"},
        {"\xc3\xa9", "expected a number, a name or '(' at column 1 of '?"
                     "?'"},
    };
    for (size_t k = 0; k < COUNT(CASES); k++) {
        struct kg_err err = KG_ERR_INIT;
        char want[300];
        if (parse(CASES[k].text, &err) != NULL) {
            fail_msg("accepted %s", CASES[k].text);
        }
        snprintf(want, sizeof want, "t.c:7: dims.x: %s", CASES[k].want);
        assert_string_equal(err.message, want);
        assert_int_equal(err.code, KG_E_PROBLEM);
        assert_int_equal(err.blame, KG_BLAME_PROBLEM);
    }
}

static void nodes_are_bounded(void **state)
{
    (void)state;
    char text[1024] = "1";
    struct kg_err err = KG_ERR_INIT;
    for (size_t n = 1; n < 32; n++) { /* 32 numbers, 31 signs */
        memcpy(text + 2 * n - 1, "+1", 3);
    }
    int64_t got;
    assert_true(kg_expr_int(must_parse(text), VALUES, &got));
    assert_int_equal(got, 32);
    memcpy(text + 63, "+1", 3);
    assert_null(parse(text, &err));
    assert_non_null(strstr(err.message, "more than 64 terms"));
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    static const char *const OPENERS[] = {"(", "-", "!", "sqrt(", "min(1,"};
    for (size_t k = 0; k < COUNT(OPENERS); k++) {
        char text[100000] = "";
        size_t step = strlen(OPENERS[k]);
        struct kg_err err = KG_ERR_INIT;
        for (size_t n = 0; n + step < sizeof text; n += step) {
            memcpy(text + n, OPENERS[k], step + 1);
        }
        assert_null(parse(text, &err));
        assert_non_null(strstr(err.message, "nested too deeply"));
    }
}

static void the_arena_may_be_too_small(void **state)
{
    (void)state;
    struct kg_arena small;
    struct kg_err err = KG_ERR_INIT;
    const struct kg_expr *e;
    kg_arena_init(&small, "small", 64);
    assert_int_equal(kg_expr_parse("h+w+h+w", NAMES, NNAMES, "x", &small, &e, &err), KG_E_LIMIT);
    assert_null(e);
    kg_arena_deinit(&small);
}

static void names_in_use(void **state)
{
    (void)state;
    assert_int_equal(kg_expr_uses(must_parse("3")), 0);
    assert_int_equal(kg_expr_uses(must_parse("h + min(kh, h)")), 1 | 4);
    assert_int_equal(kg_expr_uses(must_parse("-w")), 2);
}

static void a_name_may_look_like_a_function(void **state)
{
    (void)state;
    static const char *const ODD[] = {"min", "e"};
    int64_t values[] = {5, 2}, got;
    const struct kg_expr *e;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_expr_parse("min(min,e)+min*e", ODD, 2, "x", &arena, &e, &err), KG_OK);
    assert_true(kg_expr_int(e, values, &got));
    assert_int_equal(got, 12);
}

static void shown_text_is_printable_and_short(void **state)
{
    (void)state;
    char out[KG_EXPR_SHOW], text[200];
    memset(text, 'x', sizeof text);
    assert_string_equal(kg_expr_show("a\tb\x7f", 4, out), "a?b?");
    assert_string_equal(kg_expr_show("", 0, out), "");
    assert_int_equal(strlen(kg_expr_show(text, sizeof text, out)), KG_EXPR_SHOW - 1);
    assert_string_equal(out + KG_EXPR_SHOW - 4, "...");
    assert_int_equal(strlen(kg_expr_show(text, KG_EXPR_SHOW - 4, out)), KG_EXPR_SHOW - 4);
}

/* Random integer formulas, printed with full parentheses and computed beside; the parser must
 * agree whether or not there is a value. */
struct model {
    char text[2000];
    size_t len;
    bool ok;
};

static void put(struct model *m, const char *s)
{
    size_t n = strlen(s);
    assert_true(m->len + n < sizeof m->text);
    memcpy(m->text + m->len, s, n + 1);
    m->len += n;
}

static int64_t generate(struct model *m, struct kg_rng *rng, int depth)
{
    char number[32];
    if (depth == 0 || kg_rng_below(rng, 4) == 0) {
        size_t k = kg_rng_below(rng, 8);
        if (k < 4) {
            put(m, NAMES[k]);
            return VALUES[k];
        }
        snprintf(number, sizeof number, "%d", (int)k * 1000003);
        put(m, number);
        return (int64_t)k * 1000003;
    }
    static const char *const SIGNS[] = {"+", "-", "*", "/", "%", "<", "==", ">="};
    size_t sign = kg_rng_below(rng, COUNT(SIGNS));
    put(m, "(");
    int64_t a = generate(m, rng, depth - 1), r = 0;
    put(m, SIGNS[sign]);
    int64_t b = generate(m, rng, depth - 1);
    put(m, ")");
    switch (sign) {
    case 0:
        m->ok = !__builtin_add_overflow(a, b, &r) && m->ok;
        return r;
    case 1:
        m->ok = !__builtin_sub_overflow(a, b, &r) && m->ok;
        return r;
    case 2:
        m->ok = !__builtin_mul_overflow(a, b, &r) && m->ok;
        return r;
    case 3:
    case 4:
        if (b == 0 || (a == INT64_MIN && b == -1)) {
            m->ok = false;
            return 1;
        }
        return sign == 3 ? a / b : a % b;
    case 5:
        return a < b;
    case 6:
        return a == b;
    default:
        return a >= b;
    }
}

static void print(const struct kg_expr *e, struct kg_buf *out)
{
    kg_buf_reset(out);
    kg_expr_print(e, NAMES, out);
}

static void printed_for_readers(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {
        {"((h)-(kh))+1", "h - kh + 1"},
        {"h-(kh+1)", "h - (kh + 1)"},
        {"(h*w)/(kh%2)", "h * w / (kh % 2)"},
        {"1.0/sqrt(h*w)", "1.0 / sqrt(h * w)"},
        {"-(h+1)*0.5", "-(h + 1) * 0.5"},
        {"min(h,ceil_div((w),8))", "min(h, ceil_div(w, 8))"},
        {"h>=kh&&(w>=kh||!(h==w))", "h >= kh && (w >= kh || !(h == w))"},
        {"(h<w)==(w<kh)", "(h < w) == (w < kh)"},
        {"1e-5", "1e-05"},
    };
    struct kg_buf out;
    kg_buf_init(&out, 4096);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        print(must_parse(CASES[i][0]), &out);
        assert_string_equal(out.data, CASES[i][1]);
    }
    kg_buf_deinit(&out);
}

/* What is printed for readers is the same formula: it reads back with the same value. */
static bool reads_back(const struct kg_expr *e, struct kg_buf *out)
{
    int64_t a = 0, b = 0;
    print(e, out);
    bool had = kg_expr_int(e, VALUES, &a), has = kg_expr_int(must_parse(out->data), VALUES, &b);
    return had == has && a == b;
}

static void random_formulas_agree_with_a_model(void **state)
{
    (void)state;
    const struct kg_key key = {{0x6578707200000001u, 7}};
    char hex[33];
    struct kg_rng rng;
    kg_key_hex(key, hex);
    printf("seed %s\n", hex);
    kg_rng_init(&rng, key, 0);
    int valued = 0;
    struct kg_buf out;
    kg_buf_init(&out, 1 << 16);
    for (int n = 0; n < 5000; n++) {
        struct model m = {.ok = true};
        int64_t want = generate(&m, &rng, 5), got;
        kg_arena_reset(&arena);
        const struct kg_expr *e = must_parse(m.text);
        bool ok = kg_expr_int(e, VALUES, &got);
        if (ok != m.ok || (ok && got != want)) {
            fail_msg("%s: got %lld, want %lld", m.text, (long long)got, (long long)want);
        }
        if (!reads_back(e, &out)) {
            fail_msg("%s: printed as %s", m.text, out.data);
        }
        valued += ok;
    }
    kg_buf_deinit(&out);
    assert_true(valued > 1000 && valued < 5000);
    kg_rng_deinit(&rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(reals),
        cmocka_unit_test(an_integer_reads_as_real_too),
        cmocka_unit_test(without_a_value),
        cmocka_unit_test(refusals),
        cmocka_unit_test(nodes_are_bounded),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(the_arena_may_be_too_small),
        cmocka_unit_test(names_in_use),
        cmocka_unit_test(a_name_may_look_like_a_function),
        cmocka_unit_test(shown_text_is_printable_and_short),
        cmocka_unit_test(printed_for_readers),
        cmocka_unit_test(random_formulas_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
