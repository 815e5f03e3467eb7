/* Reads facts of a Python module from its tokens, without running it. */
#include "gym/torch/problem/module.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "gym/reply/lex.h"

#define DOC_BYTES 240
/* Lines round a `raise` that may say what it is about. */
#define BEFORE 3
#define AFTER  2

bool kg_module_defines(const char *text, size_t len, const char *name)
{
    enum kg_defines d = kg_lex_defines(KG_LANG_PYTHON, text, len, name);
    return d == KG_DEF_WHOLE || d == KG_DEF_UNSURE;
}

bool kg_module_is_problem(const char *text, size_t len)
{
    return kg_module_defines(text, len, "Model") && kg_module_defines(text, len, "get_inputs");
}

/* Where a statement begins, and whether the next name is that of a package. */
struct imports {
    bool begins, import, package;
};

static void step(struct imports *s, const struct kg_lexer *lx, struct kg_tok t)
{
    bool block = kg_tok_is(lx, t, ":") || t.kind == KG_TOK_INDENT || t.kind == KG_TOK_DEDENT;
    if (block || t.kind == KG_TOK_NEWLINE || kg_tok_is(lx, t, ";")) {
        *s = (struct imports){.begins = true};
    } else if (s->begins) {
        s->import = kg_tok_is(lx, t, "import");
        s->package = s->import || kg_tok_is(lx, t, "from");
        s->begins = false;
    } else {
        s->package = s->import && kg_tok_is(lx, t, ","); /* `import a.b as c, triton` */
    }
}

bool kg_module_imports(const char *text, size_t len, const char *package)
{
    struct kg_lexer lx;
    struct imports s = {.begins = true};
    kg_lex_init(&lx, KG_LANG_PYTHON, text, len);
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END; t = kg_lex_next(&lx)) {
        if (s.package && t.kind == KG_TOK_NAME && kg_tok_is(&lx, t, package)) {
            return true;
        }
        if (t.kind != KG_TOK_COMMENT) {
            step(&s, &lx, t);
        }
    }
    return false;
}

/* Is there a name or a string that holds the word, in any case? Comments do not count. */
static bool mentions(const char *text, size_t len, const char *word)
{
    struct kg_lexer lx;
    size_t n = strlen(word);
    kg_lex_init(&lx, KG_LANG_PYTHON, text, len);
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END; t = kg_lex_next(&lx)) {
        bool looked_at = t.kind == KG_TOK_NAME || t.kind == KG_TOK_STRING;
        for (size_t i = 0; looked_at && i + n <= t.len; i++) {
            if (strncasecmp(text + t.at + i, word, n) == 0) {
                return true;
            }
        }
    }
    return false;
}

bool kg_module_needs_gpu(const char *text, size_t len)
{
    return mentions(text, len, "cuda") || mentions(text, len, "cpp_extension") ||
           kg_module_imports(text, len, "triton");
}

unsigned kg_module_kernels(const char *text, size_t len)
{
    bool triton = kg_module_imports(text, len, "triton") && mentions(text, len, "jit");
    return (triton ? KG_KERNELS_TRITON : 0u) |
           (mentions(text, len, "__global__") ? KG_KERNELS_CUDA : 0u);
}

bool kg_module_asks_device(const char *text, size_t len, int64_t line)
{
    static const char *const words[] = {"cuda", "device", "is_cpu", "gpu"};
    size_t from = 0, to = 0;
    int64_t at = 1;
    for (size_t i = 0; i < len && at <= line + AFTER; i++) {
        bool ends = text[i] == '\n';
        at += ends;
        from = ends && at <= line - BEFORE ? i + 1 : from;
        to = i + 1;
    }
    bool asks = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && line > 0 && at >= line; i++) {
        asks = asks || mentions(text + from, to - from, words[i]);
    }
    return asks;
}

bool kg_module_has_number(const char *text, size_t len, int64_t number)
{
    struct kg_lexer lx;
    char want[24];
    snprintf(want, sizeof want, "%lld", (long long)number);
    kg_lex_init(&lx, KG_LANG_PYTHON, text, len);
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END; t = kg_lex_next(&lx)) {
        if (t.kind == KG_TOK_NUMBER && kg_tok_is(&lx, t, want)) {
            return true;
        }
    }
    return false;
}

bool kg_module_unmasked(const char *text, size_t len)
{
    return !mentions(text, len, "mask") && !mentions(text, len, "boundary_check") &&
           !mentions(text, len, "descriptor");
}

/* What stands between the quotes. */
static const char *docstring(const char *text, size_t len, size_t *n)
{
    struct kg_lexer lx;
    kg_lex_init(&lx, KG_LANG_PYTHON, text, len);
    struct kg_tok t = kg_lex_next(&lx);
    while (t.kind == KG_TOK_COMMENT || t.kind == KG_TOK_NEWLINE) {
        t = kg_lex_next(&lx);
    }
    const char *s = text + t.at;
    *n = t.kind == KG_TOK_STRING ? t.len : 0;
    while (*n > 0 && strchr("rRuUbB", *s) && *s) {
        s++, --*n;
    }
    while (*n > 0 && (*s == '"' || *s == '\'')) {
        s++, --*n;
    }
    while (*n > 0 && (s[*n - 1] == '"' || s[*n - 1] == '\'')) {
        --*n;
    }
    return s;
}

const char *kg_module_doc(const char *text, size_t len, struct kg_arena *arena, struct kg_err *err)
{
    char line[DOC_BYTES];
    size_t n, used = 0;
    const char *s = docstring(text, len, &n);
    for (size_t i = 0; i < n && used < sizeof line; i++) {
        bool blank = isspace((unsigned char)s[i]) != 0;
        if (used > 0 && s[i] == '\n' && i + 1 < n && s[i + 1] == '\n') {
            break;
        }
        if (!blank && (unsigned char)s[i] >= ' ' && s[i] != 127) {
            line[used++] = s[i];
        } else if (blank && used > 0 && line[used - 1] != ' ') {
            line[used++] = ' ';
        }
    }
    while (used > 0 && line[used - 1] == ' ') {
        used--;
    }
    return kg_arena_dup(arena, line, used, err);
}
