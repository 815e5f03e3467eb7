/* Python: logical lines by brackets and backslashes, indentation as tokens, strings with every
 * prefix, f-strings with the nested quotes that 3.12 allows (older code never has them, so one
 * reading serves both). */
#include <string.h>

#include "gym/reply/lex_private.h"

#define MAX_INDENT   ((int)(sizeof((struct kg_lexer *)0)->indent / sizeof(int)))
#define MAX_FSTRINGS 8 /* deeper nesting reads as plain text of the string */

static int char_at(const struct kg_lexer *lx, size_t p)
{
    return p < lx->len ? (unsigned char)lx->text[p] : -1;
}

static struct kg_tok take(struct kg_lexer *lx, enum kg_tok_kind kind, size_t end)
{
    struct kg_tok t = {kind, lx->at, lx->line, end - lx->at};
    for (size_t p = lx->at; p < end; p++) {
        lx->line += lx->text[p] == '\n';
    }
    lx->at = end;
    return t;
}

static size_t line_end(const struct kg_lexer *lx, size_t p)
{
    const char *nl = memchr(lx->text + p, '\n', lx->len - p);
    return nl != NULL ? (size_t)(nl - lx->text) : lx->len;
}

struct quote {
    char mark;
    bool triple, fstring;
};

/* Length of a string's prefix at p (0 for a bare quote), -1 when no string begins there. */
static int string_prefix(const struct kg_lexer *lx, size_t p, struct quote *q)
{
    size_t n = 0;
    q->fstring = false;
    while (n < 3) {
        int c = char_at(lx, p + n);
        if (c == '"' || c == '\'') {
            q->mark = (char)c;
            q->triple = char_at(lx, p + n + 1) == c && char_at(lx, p + n + 2) == c;
            return (int)n;
        }
        if (c < 0 || strchr("rRbBuUfF", c) == NULL || c == '\0') {
            return -1;
        }
        q->fstring |= c == 'f' || c == 'F';
        n++;
    }
    return -1;
}

/* End of the string whose text begins at p; broken when a raw newline (or the end) comes first.
 * What a nested string consumed stays consumed, so the cost is linear. */
static size_t string_end(const struct kg_lexer *lx, size_t p, struct quote q, int nested,
                         bool *broken)
{
    int braces = 0;
    while (p < lx->len) {
        char c = lx->text[p];
        if (c == '\\') {
            p += 2;
            continue;
        }
        if (c == '\n' && !q.triple) {
            break;
        }
        struct quote inner;
        int prefix = braces > 0 && nested < MAX_FSTRINGS ? string_prefix(lx, p, &inner) : -1;
        if (prefix >= 0 && !(q.triple && inner.triple && inner.mark == q.mark)) {
            bool cut;
            p = string_end(lx, p + (size_t)prefix + (inner.triple ? 3 : 1), inner, nested + 1,
                           &cut);
            if (cut && !q.triple) {
                break;
            }
            continue;
        }
        if (c == q.mark) {
            bool closes = !q.triple || (char_at(lx, p + 1) == c && char_at(lx, p + 2) == c);
            if (closes) {
                *broken = false;
                return p + (q.triple ? 3 : 1);
            }
        } else if (q.fstring && c == '{') {
            bool literal = braces == 0 && char_at(lx, p + 1) == '{';
            p += literal ? 1 : 0;
            braces += literal ? 0 : 1;
        } else if (q.fstring && c == '}' && braces > 0) {
            braces--;
        }
        p++;
    }
    *broken = true;
    return p < lx->len ? p : lx->len;
}

/* Begin a logical line: skip blank lines, then compare the indentation. True if t was filled. */
static bool begin_line(struct kg_lexer *lx, struct kg_tok *t)
{
    int column = 0;
    for (; lx->at < lx->len; lx->at++) {
        char c = lx->text[lx->at];
        if (c == '\n') {
            lx->line++;
            column = 0;
        } else if (c == '\t') {
            column = (column / 8 + 1) * 8;
        } else if (c == ' ') {
            column++;
        } else if (c == '\f') {
            column = 0;
        } else if (c != '\r' && c != '\v' && c != '\0') {
            break;
        }
    }
    if (lx->at >= lx->len) {
        return false;
    }
    if (lx->text[lx->at] == '#') {
        *t = take(lx, KG_TOK_COMMENT, line_end(lx, lx->at));
        return true;
    }
    lx->bol = false;
    int top = lx->nindent > 0 ? lx->indent[lx->nindent - 1] : 0;
    if (column > top && lx->nindent < MAX_INDENT) {
        lx->indent[lx->nindent++] = column;
        *t = take(lx, KG_TOK_INDENT, lx->at);
        return true;
    }
    while (lx->nindent > 0 && lx->indent[lx->nindent - 1] > column) {
        lx->nindent--;
        lx->pending++;
    }
    return false;
}

/* Blanks, joined lines, and, inside brackets, newlines. */
static void skip_blanks(struct kg_lexer *lx)
{
    while (lx->at < lx->len) {
        char c = lx->text[lx->at];
        size_t splice = kg_lex_splice(lx->text, lx->len, lx->at);
        if (splice != 0) {
            lx->line++;
            lx->at += splice;
        } else if (c == '\n' && lx->depth > 0) {
            lx->line++;
            lx->at++;
        } else if (c == ' ' || c == '\0' || (c >= '\t' && c <= '\r' && c != '\n')) {
            lx->at++;
        } else {
            return;
        }
    }
}

static struct kg_tok at_end(struct kg_lexer *lx)
{
    struct kg_tok t = {KG_TOK_END, lx->len, lx->line, 0};
    if (!lx->bol) {
        lx->bol = true;
        t.kind = KG_TOK_NEWLINE;
    } else if (lx->nindent > 0) {
        lx->nindent--;
        t.kind = KG_TOK_DEDENT;
    }
    return t;
}

static struct kg_tok punct(struct kg_lexer *lx)
{
    static const char *const longer[] = {"...", "**=", "//=", "<<=", ">>=", "->", ":=", "**",
                                         "//",  "==",  "!=",  "<=",  ">=",  "<<", ">>", "+=",
                                         "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "@="};
    char c = lx->text[lx->at];
    if (c == '(' || c == '[' || c == '{') {
        lx->depth++;
    } else if ((c == ')' || c == ']' || c == '}') && lx->depth > 0) {
        lx->depth--;
    }
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        size_t n = strlen(longer[i]);
        if (longer[i][0] == c && n <= lx->len - lx->at &&
            memcmp(lx->text + lx->at, longer[i], n) == 0) {
            return take(lx, KG_TOK_PUNCT, lx->at + n);
        }
    }
    return take(lx, KG_TOK_PUNCT, lx->at + 1);
}

static struct kg_tok word(struct kg_lexer *lx)
{
    unsigned char c = (unsigned char)lx->text[lx->at];
    struct quote q;
    int prefix = string_prefix(lx, lx->at, &q);
    if (prefix >= 0) {
        bool broken;
        size_t end = string_end(lx, lx->at + (size_t)prefix + (q.triple ? 3 : 1), q, 0, &broken);
        return take(lx, broken ? KG_TOK_BROKEN : KG_TOK_STRING, end);
    }
    size_t p = lx->at;
    bool digit = (c >= '0' && c <= '9') ||
                 (c == '.' && char_at(lx, p + 1) >= '0' && char_at(lx, p + 1) <= '9');
    if (!digit && !kg_lex_name_start(c)) {
        return punct(lx);
    }
    do {
        p++;
        if (digit && (char_at(lx, p) == '+' || char_at(lx, p) == '-') &&
            (lx->text[p - 1] == 'e' || lx->text[p - 1] == 'E') && char_at(lx, lx->at + 1) != 'x' &&
            char_at(lx, lx->at + 1) != 'X') {
            p++;
        }
    } while (p < lx->len &&
             (kg_lex_name_part((unsigned char)lx->text[p]) || (digit && lx->text[p] == '.')));
    return take(lx, digit ? KG_TOK_NUMBER : KG_TOK_NAME, p);
}

struct kg_tok kg_lex_python_next(struct kg_lexer *lx)
{
    struct kg_tok t;
    if (lx->pending == 0 && lx->bol && lx->depth == 0 && begin_line(lx, &t)) {
        return t;
    }
    if (lx->pending > 0) {
        lx->pending--;
        return take(lx, KG_TOK_DEDENT, lx->at);
    }
    skip_blanks(lx);
    if (lx->at >= lx->len) {
        return at_end(lx);
    }
    char c = lx->text[lx->at];
    if (c == '\n') {
        lx->bol = true;
        return take(lx, KG_TOK_NEWLINE, lx->at + 1);
    }
    if (c == '#') {
        return take(lx, KG_TOK_COMMENT, line_end(lx, lx->at));
    }
    return word(lx);
}
