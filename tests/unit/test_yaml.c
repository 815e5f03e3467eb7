#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/yaml.h"

static struct kg_arena arena;

static int setup(void **state)
{
    (void)state;
    kg_arena_init(&arena, "yaml test", 8 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kg_arena_deinit(&arena);
    return 0;
}

static struct kg_yaml *parse(const char *text)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_yaml *y = NULL;
    enum kg_code code = kg_yaml_parse(text, strlen(text), "f.yaml", 1, &arena, &y, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(code, KG_OK);
    return y;
}

static void every_scalar_is_text(void **state)
{
    (void)state;
    static const char *const words[] = {"y", "n", "yes", "no", "true", "null", "~", "012", "1e3"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[40];
        snprintf(text, sizeof text, "%s: %s\n", words[i], words[i]);
        struct kg_yaml *y = parse(text);
        assert_string_equal(y->child->key, words[i]);
        assert_string_equal(y->child->text, words[i]);
    }
    struct kg_yaml *y = parse("a: 'q: r'\nb: \"x\\ty\"\nc:\nd: two words\ne: |\n  l1\n  l2\n");
    assert_string_equal(kg_yaml_get(y, "a")->text, "q: r");
    assert_string_equal(kg_yaml_get(y, "b")->text, "x\ty");
    assert_string_equal(kg_yaml_get(y, "c")->text, "");
    assert_string_equal(kg_yaml_get(y, "d")->text, "two words");
    assert_string_equal(kg_yaml_get(y, "e")->text, "l1\nl2\n");
    assert_null(kg_yaml_get(y, "f"));
}

static void tree_and_lines(void **state)
{
    (void)state;
    struct kg_yaml *y = parse("# comment\n"
                              "name: relu\n"
                              "dims: {rows: 512,\n"
                              "       cols: 4}\n"
                              "args:\n"
                              "  - {name: x, role: in}\n"
                              "\n"
                              "  - plain\n"
                              "  - [1, 2]\n");
    assert_int_equal(y->kind, KG_YAML_MAP);
    const struct kg_yaml *dims = kg_yaml_get(y, "dims"), *args = kg_yaml_get(y, "args");
    assert_int_equal(kg_yaml_get(y, "name")->line, 2);
    assert_int_equal(dims->line, 3);
    assert_int_equal(kg_yaml_get(dims, "cols")->line, 4);
    assert_int_equal(args->kind, KG_YAML_LIST);
    assert_int_equal(args->line, 5);
    assert_int_equal(args->child->line, 6);
    assert_null(args->child->key);
    assert_string_equal(kg_yaml_get(args->child, "role")->text, "in");
    assert_int_equal(args->child->next->line, 8);
    assert_int_equal(args->child->next->next->kind, KG_YAML_LIST);
    assert_null(args->child->next->next->next);
}

static void first_line_places_the_text(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_yaml *y;
    assert_int_equal(kg_yaml_parse("a: 1\nb: 2\n", 10, "p.c", 2, &arena, &y, &err), KG_OK);
    assert_int_equal(kg_yaml_get(y, "b")->line, 3);
    assert_int_equal(kg_yaml_parse("a: 1\na: 2\n", 10, "p.c", 2, &arena, &y, &err), KG_E_INPUT);
    assert_string_equal(err.message, "p.c:3: duplicate key `a` (first on line 2)");
    assert_null(y);
}

static void empty_is_an_empty_map(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n\n", "# only a comment\n", "\xEF\xBB\xBF# mark\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct kg_yaml *y = parse(texts[i]);
        assert_int_equal(y->kind, KG_YAML_MAP);
        assert_null(y->child);
    }
}

static void accepted_forms(void **state)
{
    (void)state;
    assert_string_equal(kg_yaml_get(parse("---\na: 1\n...\n"), "a")->text, "1");
    assert_string_equal(kg_yaml_get(parse("\xEF\xBB\xBF"
                                          "a: 1\r\nb: 2\r\n"),
                                    "b")
                            ->text,
                        "2");
    assert_string_equal(parse("word")->text, "word");
    assert_string_equal(kg_yaml_get(parse("\xc3\xa9: \xe2\x82\xac\n"), "\xc3\xa9")->text,
                        "\xe2\x82\xac");
}

static void refusals_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a: 1\nb: 2\na: 3\n", "f.yaml:3: duplicate key `a` (first on line 1)"},
        {"x: {b: 1, b: 2}", "f.yaml:1: duplicate key `b` (first on line 1)"},
        {"a: &x 1", "f.yaml:1: anchors (&name) are not supported"},
        {"a:\n  - &x [1]", "f.yaml:2: anchors (&name) are not supported"},
        {"&x a: 1", "f.yaml:1: anchors (&name) are not supported"},
        {"a: *x", "f.yaml:1: aliases (*name) are not supported"},
        {"a: !!int 1", "f.yaml:1: tags (!name) are not supported"},
        {"a: ! 1", "f.yaml:1: tags (!name) are not supported"},
        {"!m {a: 1}", "f.yaml:1: tags (!name) are not supported"},
        {"- 1\n- !s [1]", "f.yaml:2: tags (!name) are not supported"},
        {"--- a\n--- b\n", "f.yaml:2: a second document (---) is not supported"},
        {"%YAML 1.1\n--- a\n", "f.yaml:1: directives (%NAME) are not supported"},
        {"a: 1\n\tb: 2\n", "f.yaml:2: a tab; use spaces"},
        {"a: 1\nb: \xff\n", "f.yaml:2: not valid UTF-8"},
        {"a: \xed\xa0\x80", "f.yaml:1: not valid UTF-8"},
        {"a: \x01", "f.yaml:1: character U+0001 is not allowed"},
        {"# \xe2\x80\xa8 a: 1", "f.yaml:1: character U+2028 is not allowed"},
        {"a: \"x\\0y\"", "f.yaml:1: a NUL character in text"},
        {"\"\\0\": y", "f.yaml:1: a NUL character in text"},
        {"? [a]\n: b\n", "f.yaml:1: a key must be plain text"},
        {"{a: 1, \"\": 2}", "f.yaml:1: a key must be plain text"},
        {"a: b: c", "f.yaml:1: not valid YAML: mapping values are not allowed in this context"},
        {"a: [1,\n", "f.yaml:2: not valid YAML: did not find expected node content while parsing "
                     "a flow node"},
        {"a: 1\n b: 2\n", "f.yaml:2: not valid YAML: mapping values are not allowed in this "
                          "context"},
        {"a: 'x\n", "f.yaml:2: not valid YAML: found unexpected end of stream while scanning a "
                    "quoted scalar"},
        {"- 1\nb: 2\n", "f.yaml:2: not valid YAML: did not find expected '-' indicator while "
                        "parsing a block collection"},
        {"- {t: f32[r,c], u: 1}\n",
         "f.yaml:1: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping; "
         "quote a value that holds brackets: \"f32[r,c]\""},
        {"a:\n  - {t: f32[r], u: 1}\n",
         "f.yaml:2: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping; "
         "quote a value that holds brackets: \"f32[r]\""},
        {"- {t: \"f32[r]\", u: [1}\n", /* quoted already: something else is wrong */
         "f.yaml:1: not valid YAML: did not find expected ',' or ']' while parsing a flow "
         "sequence"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_err err = KG_ERR_INIT;
        struct kg_yaml *y = (struct kg_yaml *)1;
        assert_int_equal(
            kg_yaml_parse(cases[i].text, strlen(cases[i].text), "f.yaml", 1, &arena, &y, &err),
            KG_E_INPUT);
        assert_string_equal(err.message, cases[i].message);
        assert_null(y);
    }
}

static void raw_nul_is_refused(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_yaml *y;
    assert_int_equal(kg_yaml_parse("a: 1\n\0b: 2\n", 11, "f", 1, &arena, &y, &err), KG_E_INPUT);
    assert_string_equal(err.message, "f:2: character U+0000 is not allowed");
}

static enum kg_code parse_nested(int levels, struct kg_err *err)
{
    char text[64];
    struct kg_yaml *y;
    memset(text, '[', (size_t)levels);
    memset(text + levels, ']', (size_t)levels);
    return kg_yaml_parse(text, (size_t)levels * 2, "f", 1, &arena, &y, err);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(parse_nested(16, &err), KG_OK);
    assert_int_equal(parse_nested(17, &err), KG_E_LIMIT);
    assert_string_equal(err.message, "f:1: more than 16 levels of nesting");
}

static void size_is_bounded(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_yaml *y;
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    for (int i = 0; i < 9999; i++) {
        kg_buf_adds(&b, "- a\n");
    }
    assert_int_equal(kg_yaml_parse(b.data, b.len, "f", 1, &arena, &y, &err), KG_OK);
    kg_buf_adds(&b, "- a\n");
    assert_int_equal(kg_yaml_parse(b.data, b.len, "f", 1, &arena, &y, &err), KG_E_LIMIT);
    assert_string_equal(err.message, "f:10000: more than 10000 values");
    kg_buf_deinit(&b);
}

static void small_arena_is_an_error(void **state)
{
    (void)state;
    static const char text[] = "a: {b: [1, 2, 3], c: some text}\nd: e\n";
    struct kg_err err = KG_ERR_INIT;
    struct kg_yaml *y;
    size_t cap = 0;
    enum kg_code code;
    do {
        struct kg_arena small;
        kg_arena_init(&small, "small", cap);
        code = kg_yaml_parse(text, sizeof text - 1, "f", 1, &small, &y, &err);
        assert_true(code == KG_OK ? y != NULL : code == KG_E_LIMIT && y == NULL);
        kg_arena_deinit(&small);
        cap += 16;
    } while (code != KG_OK);
    assert_true(cap > 200);
}

static void nearest_name(void **state)
{
    (void)state;
    static const char *const names[] = {"name", "role", "range", "timing.pairs", "timing.trials"};
    static const struct {
        const char *word, *near;
    } cases[] = {
        {"rol", "role"},
        {"nmae", "name"},
        {"role", "role"},
        {"rang", "range"},
        {"xyz", NULL},
        {"timing.pars", "timing.pairs"},
        {"tming.par", "timing.pairs"},
        {"q", NULL},
        {"", NULL},
        {"timing_pairs_number", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *near = kg_nearest(cases[i].word, names, 5);
        if (cases[i].near == NULL) {
            assert_null(near);
        } else {
            assert_non_null(near);
            assert_string_equal(near, cases[i].near);
        }
    }
    char longest[500];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const char *list[] = {longest};
    assert_null(kg_nearest(longest, names, 5));
    assert_null(kg_nearest("aaa", list, 1));
    assert_null(kg_nearest("aaa", list, 0));
}

int main(void)
{
#define WITH_ARENA(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_ARENA(every_scalar_is_text),
        WITH_ARENA(tree_and_lines),
        WITH_ARENA(first_line_places_the_text),
        WITH_ARENA(empty_is_an_empty_map),
        WITH_ARENA(accepted_forms),
        WITH_ARENA(refusals_name_the_line),
        WITH_ARENA(raw_nul_is_refused),
        WITH_ARENA(depth_is_bounded),
        WITH_ARENA(size_is_bounded),
        WITH_ARENA(small_arena_is_an_error),
        cmocka_unit_test(nearest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
