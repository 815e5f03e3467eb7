/* The lexers: golden tokens, and who defines the entry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gym/reply/lex_private.h"

struct golden {
    const char *text, *tokens; /* one letter and the text of each token, | between them */
};

static void render(enum kg_lang lang, const char *text, char *out, size_t cap)
{
    static const char letters[] = {
        [KG_TOK_NAME] = 'n',      [KG_TOK_NUMBER] = '#',  [KG_TOK_STRING] = 's',
        [KG_TOK_CHAR] = 'c',      [KG_TOK_PUNCT] = 'p',   [KG_TOK_COMMENT] = '/',
        [KG_TOK_DIRECTIVE] = 'd', [KG_TOK_NEWLINE] = 'N', [KG_TOK_INDENT] = 'I',
        [KG_TOK_DEDENT] = 'D',    [KG_TOK_BROKEN] = '!'};
    struct kg_lexer lx;
    kg_lex_init(&lx, lang, text, strlen(text));
    size_t at = 0;
    out[0] = '\0';
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END; t = kg_lex_next(&lx)) {
        bool shown = t.kind != KG_TOK_NEWLINE && t.len > 0;
        at += (size_t)snprintf(out + at, cap - at, "%s%c%.*s", at > 0 ? "|" : "", letters[t.kind],
                               shown ? (int)t.len : 0, text + t.at);
        assert_true(at < cap);
    }
    assert_int_equal(kg_lex_next(&lx).kind, KG_TOK_END);
}

static void check_goldens(enum kg_lang lang, const struct golden *g, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char got[2048];
        render(lang, g[i].text, got, sizeof got);
        if (strcmp(got, g[i].tokens) != 0) {
            fail_msg("tokens of:\n%s\nare  %s\nwant %s", g[i].text, got, g[i].tokens);
        }
    }
}

static void test_c_tokens(void **state)
{
    (void)state;
    static const struct golden g[] = {
        {"int a=0x1fp-3;", "nint|na|p=|#0x1fp-3|p;"},
        {".5e+3f 1.0 x.y a->b ...", "#.5e+3f|#1.0|nx|p.|ny|na|p->|nb|p..."},
        {"a+++b<<=2", "na|p++|p+|nb|p<<=|#2"},
        {"/* a */ // b \\\n c\nd", "//* a */|/// b \\\n c|nd"},
        {"/\\\n* x *\\\n/ y", "//\\\n* x *\\\n/|ny"},
        {"\"a\\\"b\" 'c' '\\'' u8\"x\" L'y' U\"z\"",
         "s\"a\\\"b\"|c'c'|c'\\''|su8\"x\"|cL'y'|sU\"z\""},
        {"\"a\\\nb\" c", "s\"a\\\nb\"|nc"},
        {"\"a\nb", "!\"a|nb"},
        {"'a\nb", "!'a|nb"},
        {"R\"x(a\")\"\n)x\" b", "sR\"x(a\")\"\n)x\"|nb"},
        {"R\"(never", "!R\"(never"},
        {"L R u8x", "nL|nR|nu8x"},
        {"/* never", "!/* never"},
        {"/", "p/"},
        {"#define A \\\n 1 /* x\n y */ 2\nb", "d#define A \\\n 1 /* x\n y */ 2|nb"},
        {" /* c */ # include <a/*b>\nd", "//* c */|d# include <a|!/*b>\nd"},
        {"a # b", "na|p#|nb"},
        {"%:define B\n<% %> <: :> %:%:", "d%:define B|p<%|p%>|p<:|p:>|p%:%:"},
        {"#error don't\nx", "d#error don't|nx"},
        {"#if 1 // \"\nx", "d#if 1 // \"|nx"},
        {"na\\\nme $x \\u00e9 \xC3\xA9", "nna\\\nme|n$x|p\\|nu00e9|n\xC3\xA9"},
        {"a\\  \nb", "na\\  \nb"},
        {"@ ` \\ ?", "p@|p`|p\\|p?"},
        {"", ""},
        {"\"", "!\""},
        {"\"\\", "!\"\\"},
        {"#", "d#"},
    };
    check_goldens(KG_LANG_C, g, sizeof g / sizeof *g);
}

static void test_python_tokens(void **state)
{
    (void)state;
    static const struct golden g[] = {
        {"x = 1\n", "nx|p=|#1|N"},
        {"x", "nx|N"},
        {"if a:\n  b\nc\n", "nif|na|p:|N|I|nb|N|D|nc|N"},
        {"if a:\n  if b:\n    c\nd", "nif|na|p:|N|I|nif|nb|p:|N|I|nc|N|D|D|nd|N"},
        {"if a:\n\n  # c\n  b\n", "nif|na|p:|N|/# c|I|nb|N|D"},
        {"f(a,\n  b)\nc", "nf|p(|na|p,|nb|p)|N|nc|N"},
        {"a = \\\n  b\n", "na|p=|nb|N"},
        {"'a' \"b\" r'\\'' b\"x\" Rb'y'", "s'a'|s\"b\"|sr'\\''|sb\"x\"|sRb'y'|N"},
        {"'''a\n'b' ''' c", "s'''a\n'b' '''|nc|N"},
        {"\"\"\"never\n", "!\"\"\"never\n|N"},
        {"'a\nb", "!'a|N|nb|N"},
        {"'a\\\nb'", "s'a\\\nb'|N"},
        {"f'{x[\"a\"]}' y", "sf'{x[\"a\"]}'|ny|N"},
        {"f'{x['a']}' y", "sf'{x['a']}'|ny|N"},
        {"f'{{' y", "sf'{{'|ny|N"},
        {"f'''{a\n+ f\"{b}\"}''' y", "sf'''{a\n+ f\"{b}\"}'''|ny|N"},
        {"# only\n", "/# only"},
        {"a # b\nc", "na|/# b|N|nc|N"},
        {"\tx\n        y\n", "I|nx|N|ny|N|D"},
        {"1e-5 0xff 1_000.5j x.y", "#1e-5|#0xff|#1_000.5j|nx|p.|ny|N"},
        {"a := b ** c // d -> e", "na|p:=|nb|p**|nc|p//|nd|p->|ne|N"},
        {"(\n", "p(|N"},
        {"fr = rb", "nfr|p=|nrb|N"},
        {"", ""},
    };
    check_goldens(KG_LANG_PYTHON, g, sizeof g / sizeof *g);
}

static void test_lines(void **state)
{
    (void)state;
    struct kg_lexer lx;
    const char *text = "a\n/* x\n y */ b\n\"p\\\nq\" c\n#define D \\\n 1\ne";
    static const int lines[] = {1, 2, 3, 4, 5, 6, 8};
    kg_lex_init(&lx, KG_LANG_C, text, strlen(text));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(kg_lex_next(&lx).line, lines[i]);
    }
    text = "a\n'''x\ny''' b\n\n(\nc)\nd";
    static const int python[] = {1, 1, 2, 3, 3, 5, 6, 6, 6, 7};
    kg_lex_init(&lx, KG_LANG_PYTHON, text, strlen(text));
    for (size_t i = 0; i < sizeof python / sizeof *python; i++) {
        assert_int_equal(kg_lex_next(&lx).line, python[i]);
    }
}

static void test_spliced_names_compare(void **state)
{
    (void)state;
    struct kg_lexer lx;
    const char *text = "re\\\nl\\ \nu relux rel";
    kg_lex_init(&lx, KG_LANG_C, text, strlen(text));
    struct kg_tok t = kg_lex_next(&lx);
    assert_true(kg_tok_is(&lx, t, "relu"));
    assert_false(kg_tok_is(&lx, t, "rel"));
    assert_false(kg_tok_is(&lx, t, "relux"));
    assert_false(kg_tok_is(&lx, kg_lex_next(&lx), "relu"));
    assert_false(kg_tok_is(&lx, kg_lex_next(&lx), "relu"));
}

struct define_case {
    enum kg_defines want;
    const char *text;
};

static void check_defines(enum kg_lang lang, const char *entry, const struct define_case *c,
                          size_t n)
{
    static const char *const names[] = {"NONE", "PARTIAL", "STATIC", "WHOLE", "UNSURE"};
    for (size_t i = 0; i < n; i++) {
        enum kg_defines got = kg_lex_defines(lang, c[i].text, strlen(c[i].text), entry);
        if (got != c[i].want) {
            fail_msg("%s, expected %s, for:\n%s", names[got], names[c[i].want], c[i].text);
        }
    }
}

static const struct define_case c_cases[] = {
    {KG_DEF_WHOLE, "void relu(const float *restrict x, long n) { if (n) { } }"},
    {KG_DEF_WHOLE, "void\nrelu\n(\nvoid\n)\n{\n}\n"},
    {KG_DEF_WHOLE, "float *relu(void) { return 0; }"},
    {KG_DEF_WHOLE, "__attribute__((noinline)) void relu(int a) { }"},
    {KG_DEF_WHOLE, "void __attribute__((target(\"avx2\"))) relu(int a) { }"},
    {KG_DEF_WHOLE, "[[gnu::noinline]] void relu(int a) { }"},
    {KG_DEF_WHOLE, "static int a = 3; void relu(int a) { }"},
    {KG_DEF_WHOLE, "static void help(int a) { } void relu(int a) { }"},
    {KG_DEF_WHOLE, "struct s { int relu; }; void relu(int a) { }"},
    {KG_DEF_WHOLE, "int t[] = {1, 2}; void relu(int (*f)(int), int a[2]) { }"},
    {KG_DEF_WHOLE,
     "#include <a.h>\n#define N 4\nvoid relu(int a) {\n#ifdef X\n{\n#else\n{\n#endif\n}}"},
    {KG_DEF_WHOLE, "extern \"C\" {\nvoid relu(int a) { }\n}"},
    {KG_DEF_WHOLE, "#ifdef __cplusplus\nextern \"C\" {\n#endif\nvoid relu(int a) { }\n"
                   "#ifdef __cplusplus\n}\n#endif\n"},
    {KG_DEF_WHOLE, "void relu(int a);\nvoid relu(int a) { }\nvoid other(void) { relu(1); }"},
    {KG_DEF_WHOLE, "void relu(int a) { char c = '}'; const char *s = \"}\"; /* } */ }"},
    {KG_DEF_WHOLE, "#define relu_like(x) relu(x)\nvoid relu(int a) { }"},
    {KG_DEF_WHOLE, "#if 0\nstatic void relu(int b) {\n#endif\nvoid relu(int a) { }"},
    {KG_DEF_WHOLE, "KERNEL(1) void relu(int a) { }"},
    {KG_DEF_STATIC, "static void relu(int a) { }"},
    {KG_DEF_STATIC, "static inline void relu(int a) { }"},
    {KG_DEF_STATIC, "void static relu(int a) { }"},
    {KG_DEF_STATIC, "static __attribute__((noinline)) void relu(int a) { }"},
    {KG_DEF_STATIC, "static ROW(a); static void relu(int a) { }"},
    {KG_DEF_STATIC, "#ifdef X\nstatic int a;\n#endif\nstatic void relu(int a) { }"},
    {KG_DEF_PARTIAL, "void relu(int a) { if (a) {"},
    {KG_DEF_PARTIAL, "void relu(int a) { /* }"},
    {KG_DEF_PARTIAL, "void relu(int a"},
    {KG_DEF_PARTIAL, "void relu(int a)\n"},
    {KG_DEF_NONE, ""},
    {KG_DEF_NONE, "void relu(int a);"},
    {KG_DEF_NONE, "extern void relu(int a) __attribute__((nonnull));"},
    {KG_DEF_NONE, "void (*relu)(int) = 0;"},
    {KG_DEF_NONE, "int relu = 3;"},
    {KG_DEF_NONE, "int relu[3] = {1};"},
    {KG_DEF_NONE, "int main(void) { relu(3); }"},
    {KG_DEF_NONE, "int main(void) { void relu(int a) { } }"},
    {KG_DEF_NONE, "if (relu(3)) { }"},
    {KG_DEF_NONE, "int a = relu(3); int b[] = { 1 };"},
    {KG_DEF_NONE, "void help(int relu) { }"},
    {KG_DEF_NONE, "struct relu { int a; };"},
    {KG_DEF_NONE, "typedef void relu(int a);"},
    {KG_DEF_NONE, "// void relu(int a) { }\n/* void relu(int a) { } */"},
    {KG_DEF_NONE, "const char *s = \"void relu(int a) { }\";"},
    {KG_DEF_NONE, "#if 0\nvoid relu(int a) { }\n#endif"},
    {KG_DEF_NONE, "#define X void relu(int a)\nint b;"},
    {KG_DEF_NONE, "void relu_fast(int a) { } void xrelu(int a) { }"},
    {KG_DEF_UNSURE, "relu(int a) { }"},
    {KG_DEF_UNSURE, "inline void relu(int a) { }"},
    {KG_DEF_UNSURE, "void relu(a, b) int a; float *b; { }"},
    {KG_DEF_UNSURE, "void (relu)(int a) { }"},
    {KG_DEF_UNSURE, "int (*relu(int a))[3] { return 0; }"},
    {KG_DEF_UNSURE, "void relu(int a) NOTHROW { }"},
    {KG_DEF_UNSURE, "void relu(int a) __attribute__((cold)) { }"},
    {KG_DEF_UNSURE, "void relu(int a) <% %>"},
    {KG_DEF_UNSURE, "#ifdef X\nvoid relu(int a) { }\n#endif"},
    {KG_DEF_UNSURE, "#ifdef X\nvoid relu(int a) {\n#else\nvoid relu(long a) {\n#endif\n}"},
    {KG_DEF_UNSURE, "#define relu my_relu\nvoid relu(int a) { }"},
    {KG_DEF_UNSURE, "#define K(n) void n(int a) { }\nK(relu)"},
    {KG_DEF_UNSURE, "#define K(n) void re##n(int a) { }\nK(lu)"},
    {KG_DEF_UNSURE, "#define NAME relu\nvoid NAME(int a) { }"},
    {KG_DEF_UNSURE, "static void relu(int a); void relu(int a) { }"},
    {KG_DEF_UNSURE, "static ROW(a) void relu(int a) { }"},
    {KG_DEF_UNSURE, "#define ROW void row(void) { }\nstatic ROW void relu(int a) { }"},
    {KG_DEF_UNSURE, "static int row(int a) NOTHROW { } void relu(int a) { }"},
    {KG_DEF_UNSURE, "#ifdef X\nstatic\n#endif\nvoid relu(int a) { }"},
    {KG_DEF_UNSURE, "#ifndef X\n#define static\n#endif\nstatic void relu(int a) { }"},
    {KG_DEF_UNSURE, "extern \"C\" void relu(int a) { }"},
    {KG_DEF_UNSURE, "void relu(int a) __attribute__((alias(\"impl\")));"},
    {KG_DEF_UNSURE, "void impl(int a) __asm__(\"relu\");"},
    {KG_DEF_UNSURE, "__asm__(\".globl relu\\nrelu: ret\");"},
    {KG_DEF_UNSURE, "#pragma weak relu = impl\nvoid impl(int a) { }"},
};

static void test_c_defines(void **state)
{
    (void)state;
    check_defines(KG_LANG_C, "relu", c_cases, sizeof c_cases / sizeof *c_cases);
}

static void test_python_defines(void **state)
{
    (void)state;
    static const struct define_case c[] = {
        {KG_DEF_WHOLE, "class ModelNew:\n  pass\n"},
        {KG_DEF_WHOLE, "class ModelNew: ...\n"},
        {KG_DEF_WHOLE, "class  ModelNew (nn.Module) :\n\tdef f(self): pass\n"},
        {KG_DEF_WHOLE, "@a\n@b(c,\n  d)\nclass ModelNew(A,\n    B):\n  x = 1\n"},
        {KG_DEF_WHOLE, "import torch\n\n\ndef ModelNew(x) -> int:\n    return 1"},
        {KG_DEF_WHOLE, "async def ModelNew(): pass"},
        {KG_DEF_WHOLE, "class ModelNew:\n  '''\nclass Other:\n  '''\n"},
        {KG_DEF_WHOLE, "class ModelNew:\n  pass\nprint(1)\n"},
        {KG_DEF_WHOLE, "x = 1; y = 2\nclass ModelNew:\n  # c\n\n  pass"},
        {KG_DEF_WHOLE, "class ModelNew: pass\nif 1:\n  class ModelNew: pass\n"},
        {KG_DEF_PARTIAL, "class ModelNew"},
        {KG_DEF_PARTIAL, "class ModelNew(nn.Module"},
        {KG_DEF_PARTIAL, "class ModelNew:\n"},
        {KG_DEF_PARTIAL, "class ModelNew:\nx = 1\n"},
        {KG_DEF_PARTIAL, "class ModelNew:\n  def f(self):\n    return g(1,\n"},
        {KG_DEF_PARTIAL, "class ModelNew:\n  '''doc\n"},
        {KG_DEF_NONE, ""},
        {KG_DEF_NONE, "class Model:\n  pass\n"},
        {KG_DEF_NONE, "# class ModelNew: pass\n"},
        {KG_DEF_NONE, "s = '''\nclass ModelNew:\n  pass\n'''\n"},
        {KG_DEF_NONE, "m = ModelNew()\nModelNew()\nModelNew == 1\n"},
        {KG_DEF_NONE, "import ModelNew\nfrom a import ModelNew\n"},
        {KG_DEF_NONE, "class A:\n  class ModelNew:\n    pass\n"},
        {KG_DEF_NONE, "def f():\n  if 1:\n    class ModelNew: pass\n"},
        {KG_DEF_NONE, "  class ModelNew:\n    pass\n"},
        {KG_DEF_NONE, "f(\nclass ModelNew:\n  pass\n"},
        {KG_DEF_UNSURE, "if x:\n  class ModelNew:\n    pass\n"},
        {KG_DEF_UNSURE, "try:\n  import t\nexcept E:\n  class ModelNew:\n    pass\n"},
        {KG_DEF_UNSURE, "ModelNew = Fast\n"},
    };
    check_defines(KG_LANG_PYTHON, "ModelNew", c, sizeof c / sizeof *c);
}

/* Tokens never overlap, never go back, and cover everything that is no blank. */
static void test_tokens_partition_any_text(void **state)
{
    (void)state;
    static const char alphabet[] = "abR\"'\\\n\t #/*(){}[]fu8%:<>.0e+-x_;\xC3\x80";
    uint32_t seed = 12345;
    for (int round = 0; round < 4000; round++) {
        char text[64];
        size_t n = (size_t)round % sizeof text;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
        }
        for (int lang = 0; lang < 2; lang++) {
            struct kg_lexer lx;
            kg_lex_init(&lx, (enum kg_lang)lang, text, n);
            size_t end = 0;
            int tokens = 0;
            struct kg_tok t;
            while ((t = kg_lex_next(&lx)).kind != KG_TOK_END) {
                assert_true(t.at >= end && t.at + t.len <= n);
                for (size_t i = end; i < t.at; i++) {
                    assert_non_null(strchr(" \t\n\\", text[i]));
                }
                end = t.at + t.len;
                assert_true(++tokens < 1000);
            }
        }
    }
}

static void test_deep_nesting(void **state)
{
    (void)state;
    size_t n = 200000;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, '{', n);
    assert_int_equal(kg_lex_defines(KG_LANG_C, text, n, "relu"), KG_DEF_NONE);
    for (size_t i = 0, column = 0; i < n; column++) { /* each line deeper than the last */
        for (size_t k = 0; k < column && i < n; k++) {
            text[i++] = ' ';
        }
        i += i < n ? (text[i] = 'x', 1) : 0;
        i += i < n ? (text[i] = '\n', 1) : 0;
    }
    struct kg_lexer lx;
    kg_lex_init(&lx, KG_LANG_PYTHON, text, n);
    int indents = 0, dedents = 0;
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END; t = kg_lex_next(&lx)) {
        indents += t.kind == KG_TOK_INDENT;
        dedents += t.kind == KG_TOK_DEDENT;
    }
    assert_int_equal(indents, dedents);
    assert_int_equal(indents, 64);
    free(text);
}

/* Against memmem, on texts of few letters, so that beginnings of the word are everywhere. */
static void test_find_is_memmem(void **state)
{
    (void)state;
    static const char *const words[] = {"", "a", "ab", "aab", "aaaa", "abab"};
    for (unsigned n = 0; n < 4096; n++) {
        char text[16];
        size_t len = n % 13;
        for (size_t i = 0; i < len; i++) {
            text[i] = (char)('a' + ((n * 2654435761u) >> (8 + i) & 1));
        }
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            assert_ptr_equal(kg_lex_find(text, len, words[w]),
                             memmem(text, len, words[w], strlen(words[w])));
        }
    }
}

/* Who takes no dirty text learns the same of it, and all of any other. */
static void test_clean_survey(void **state)
{
    (void)state;
    static const char *const texts[] = {"void relu(int a) { }", "`void relu(int a) { }",
                                        "void relu(int a) { @ }", "// `\nvoid relu(int a) {",
                                        "char *s = \"@\"; void relu(int a) { }"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct kg_survey all, clean;
        kg_survey_c(texts[i], strlen(texts[i]), "relu", &all);
        kg_survey_c_clean(texts[i], strlen(texts[i]), "relu", &clean);
        assert_int_equal(all.dirty, clean.dirty);
        assert_int_equal(all.dirty, i == 1 || i == 2);
        assert_true(all.dirty || (all.kind == clean.kind && all.bodies == clean.bodies));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c_tokens),
        cmocka_unit_test(test_python_tokens),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_spliced_names_compare),
        cmocka_unit_test(test_c_defines),
        cmocka_unit_test(test_python_defines),
        cmocka_unit_test(test_tokens_partition_any_text),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_find_is_memmem),
        cmocka_unit_test(test_clean_survey),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
