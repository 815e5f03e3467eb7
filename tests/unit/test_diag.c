/* Compiler messages: paths, first error, and words taken apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gym/build/diag.h"
#include "gym/build/toolchain.h"

struct pair {
    const char *in, *out;
};

static void test_paths_become_base_names(void **state)
{
    (void)state;
    static const struct pair table[] = {
        {"/scratch/candidate.c:3:1: error: x\n", "candidate.c:3:1: error: x\n"},
        {"In file included from /usr/include/a/b.h:3,", "In file included from b.h:3,"},
        {"cannot find /a/b-c/d+e.so: No", "cannot find d+e.so: No"},
        {"'/a/b' and \"/c/d\" (/e/f)", "'b' and \"d\" (f)"},
        {"   12 | x = a /b/c;\n", "   12 | x = a /b/c;\n"},
        {"      | /a/b\n", "      | /a/b\n"},
        {"and/or, 1/2, a / b, /", "and/or, 1/2, a / b, /"},
        {"/top", "/top"},
        {"/a/b/", "/a/b/"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_buf b;
        kg_buf_init(&b, 1000);
        kg_diag_clean(table[i].in, strlen(table[i].in), &b);
        assert_string_equal(b.data, table[i].out);
        kg_buf_deinit(&b);
    }
}

struct first {
    const char *text;
    int line;
    const char *want;
};

static void test_the_first_error_is_found(void **state)
{
    (void)state;
    static const struct first table[] = {
        {"candidate.c:9:2: warning: w\ncandidate.c:12:3: error: bad thing\nx: error: y\n", 12,
         "bad thing"},
        {"candidate.c:1:10: fatal error: a.h: No such file\n", 1, "a.h: No such file"},
        {"other.h:7:1: error: in a header\n", 0, "in a header"},
        {"candidate.cc:7:1: error: another file\n", 0, "another file"},
        {"candidate.s:4: Error: no such instruction\n", 0, "no such instruction"},
        {"ld: in `f':\ncandidate.c:(.text+0x1): undefined reference to `g'\n", 0,
         "undefined reference to `g'"},
        {"ld: cannot find -lnosuch: No such file\ncollect2: error: ld returned 1\n", 0,
         "cannot find -lnosuch: No such file"},
        {"ld: b.o: multiple definition of `f'; a.o: first defined here\n", 0,
         "multiple definition of `f'; a.o: first "},
        {"   3 | error: in an excerpt\ncandidate.c:5:1: error: real\n", 5, "real"},
        {"candidate.c:99999999999999999999:1: error: far\n", 0, "far"},
        {"candidate.c:-4: error: odd\n", 0, "odd"},
        {"nothing of the kind\nmore\n", 0, "nothing of the kind"},
        {"", 0, ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int line = -1;
        char first[40];
        kg_diag_first(table[i].text, "candidate.c", &line, first, sizeof first);
        assert_int_equal(line, table[i].line);
        assert_string_equal(first, table[i].want);
    }
    int line;
    char tiny[6];
    kg_diag_first("candidate.c:1: error: a long message", "candidate.c", &line, tiny, sizeof tiny);
    assert_string_equal(tiny, "a lon");
}

static void test_exhaustion_is_recognised(void **state)
{
    (void)state;
    assert_true(kg_diag_exhausted("cc1: out of memory allocating 65536 bytes"));
    assert_true(kg_diag_exhausted("x: error writing to /a: No space left on device"));
    assert_false(kg_diag_exhausted("candidate.c:1: error: expected ';'"));
    assert_false(kg_diag_exhausted(""));
}

static void test_words_are_split_and_quoted_back(void **state)
{
    (void)state;
    struct kg_arena arena;
    struct kg_err err = KG_ERR_INIT;
    struct kg_args words;
    struct kg_buf b;
    kg_arena_init(&arena, "test", 1 << 16);
    const char *line =
        " /x/cc1 \"-march=a b\" -D\\\"q\\\" '$HOME `id` it\\'s  " KG_CC_HERE "/NAME.c";
    assert_int_equal(kg_cc_split(&arena, line, strlen(line), &words, &err), KG_OK);
    static const char *const want[] = {"/x/cc1", "-march=a b", "-D\"q\"",           "'$HOME",
                                       "`id`",   "it's",       KG_CC_HERE "/NAME.c"};
    assert_int_equal(words.n, sizeof want / sizeof *want);
    for (size_t i = 0; i < words.n; i++) {
        assert_string_equal(words.at[i], want[i]);
    }
    kg_buf_init(&b, 1000);
    kg_cc_quote(&words, &b);
    assert_string_equal(b.data, "'/x/cc1' '-march=a b' '-D\"q\"' ''\\''$HOME' '`id`' 'it'\\''s' "
                                "\"$d\"'/NAME.c'");
    kg_buf_deinit(&b);
    char many[4096];
    memset(many, ' ', sizeof many);
    for (size_t i = 0; i < sizeof many; i += 2) {
        many[i] = 'x';
    }
    assert_int_equal(kg_cc_split(&arena, many, sizeof many, &words, &err), KG_E_LIMIT);
    kg_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_become_base_names),
        cmocka_unit_test(test_the_first_error_is_found),
        cmocka_unit_test(test_exhaustion_is_recognised),
        cmocka_unit_test(test_words_are_split_and_quoted_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
