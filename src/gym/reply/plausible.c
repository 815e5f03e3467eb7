/* Could a text without any block be a source file? Prose is recognised by what no file has: three
 * ordinary names in a row, punctuation of sentences between declarations, quotes that never close.
 */
#include <string.h>

#include "gym/reply/lex_private.h"

#define MAX_PLAIN_NAMES 3 /* type, macro, declarator; prose soon has more */

static const char *const c_words[] = {
    "void",          "char",     "short",         "int",      "long",       "float",
    "double",        "signed",   "unsigned",      "_Bool",    "bool",       "struct",
    "union",         "enum",     "const",         "volatile", "restrict",   "__restrict",
    "static",        "extern",   "inline",        "typedef",  "register",   "_Atomic",
    "_Noreturn",     "_Alignas", "__restrict__",  "__inline", "__inline__", "__extension__",
    "_Thread_local", "__thread", "__attribute__", NULL};

static bool plausible_c(const char *text, size_t len)
{
    struct kg_cwalk w;
    kg_cwalk_init(&w, text, len);
    int names = 0, tokens = 0;
    bool assigned = false;
    while (kg_cwalk_next(&w)) {
        const struct kg_tok t = w.tok;
        if (t.kind == KG_TOK_BROKEN || (t.kind == KG_TOK_PUNCT && strchr("`@\\", text[t.at]))) {
            return false;
        }
        if (w.brace > 0 || w.paren > 0) {
            continue;
        }
        bool plain = t.kind == KG_TOK_NAME && !kg_tok_in(&w.lx, t, c_words);
        bool punct = t.kind == KG_TOK_PUNCT;
        assigned = punct && strchr("=", text[t.at]) != NULL ? true : assigned;
        if (punct && !assigned && strchr("*()[]{},;=<%:", text[t.at]) == NULL) {
            return false;
        }
        if (punct && !assigned && text[t.at] == ':' && t.len == 1) {
            return false;
        }
        names = plain ? names + 1 : (t.kind == KG_TOK_NAME ? names : 0);
        if (names > MAX_PLAIN_NAMES) {
            return false;
        }
        assigned = punct && text[t.at] == ';' ? false : assigned;
        tokens++;
    }
    return tokens > 0 && w.stray_line == 0 && w.brace == 0 && w.step == 0;
}

static const char *const python_words[] = {
    "False",   "None",     "True",     "and",    "as",   "assert", "async",  "await",
    "break",   "class",    "continue", "def",    "del",  "elif",   "else",   "except",
    "finally", "for",      "from",     "global", "if",   "import", "in",     "is",
    "lambda",  "nonlocal", "not",      "or",     "pass", "raise",  "return", "try",
    "while",   "with",     "yield",    "match",  "case", "type",   NULL};

static bool operand(const struct kg_lexer *lx, struct kg_tok t)
{
    return t.kind == KG_TOK_NUMBER || t.kind == KG_TOK_STRING ||
           (t.kind == KG_TOK_NAME && !kg_tok_in(lx, t, python_words));
}

static bool plausible_python(const char *text, size_t len)
{
    struct kg_lexer lx;
    kg_lex_init(&lx, KG_LANG_PYTHON, text, len);
    struct kg_tok prev = {.kind = KG_TOK_NEWLINE};
    bool first = true;
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END; t = kg_lex_next(&lx)) {
        if (t.kind == KG_TOK_COMMENT) {
            continue;
        }
        bool odd = t.kind == KG_TOK_PUNCT && t.len == 1 && strchr("`?$!\\", text[t.at]) != NULL;
        bool strings = t.kind == KG_TOK_STRING && prev.kind == KG_TOK_STRING;
        bool tag = first && kg_tok_is(&lx, t, "<"); /* <name> around what a model wrote */
        if (t.kind == KG_TOK_BROKEN || odd || tag || (first && t.kind == KG_TOK_INDENT) ||
            (operand(&lx, t) && operand(&lx, prev) && !strings)) {
            return false;
        }
        first = false;
        prev = t;
    }
    return !first && lx.depth == 0;
}

bool kg_lex_plausible(enum kg_lang lang, const char *text, size_t len)
{
    return lang == KG_LANG_C ? plausible_c(text, len) : plausible_python(text, len);
}
