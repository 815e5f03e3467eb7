/* C as gcc reads it in its gnu17 mode: phases 2 and 3 of translation (splices, comments, tokens) on
 * the text itself, with raw strings, which that mode accepts, and without trigraphs, which it
 * ignores. */
#include <string.h>

#include "gym/reply/lex_private.h"

/* Position of the next character that is not part of a line splice. */
static size_t over_splices(const struct kg_lexer *lx, size_t p)
{
    size_t n;
    while ((n = kg_lex_splice(lx->text, lx->len, p)) != 0) {
        p += n;
    }
    return p;
}

static int char_at(const struct kg_lexer *lx, size_t p)
{
    return p < lx->len ? (unsigned char)lx->text[p] : -1;
}

static void skip_blanks(struct kg_lexer *lx)
{
    while (lx->at < lx->len) {
        char c = lx->text[lx->at];
        if (c == '\n') {
            lx->bol = true;
            lx->line++;
            lx->at++;
        } else if (c == ' ' || (c >= '\t' && c <= '\r') || c == '\0') {
            lx->at++;
        } else if (c != '\\') {
            return;
        } else {
            size_t n = kg_lex_splice(lx->text, lx->len, lx->at);
            if (n == 0) {
                return;
            }
            lx->line++;
            lx->at += n;
        }
    }
}

static int count_lines(const char *text, size_t from, size_t to)
{
    int n = 0;
    for (size_t p = from; p < to; p++) {
        n += text[p] == '\n';
    }
    return n;
}

/* End of the line comment whose text begins at p: the newline is not part of it. */
static size_t line_comment(const struct kg_lexer *lx, size_t p)
{
    while (p < lx->len && lx->text[p] != '\n') {
        size_t n = kg_lex_splice(lx->text, lx->len, p);
        p += n != 0 ? n : 1;
    }
    return p;
}

/* End of the block comment whose text begins at p, 0 if it has none. */
static size_t block_comment(const struct kg_lexer *lx, size_t p)
{
    while (p < lx->len) {
        const char *star = memchr(lx->text + p, '*', lx->len - p);
        if (star == NULL) {
            return 0;
        }
        p = over_splices(lx, (size_t)(star - lx->text) + 1);
        if (char_at(lx, p) == '/') {
            return p + 1;
        }
    }
    return 0;
}

/* End of the quoted token whose opening quote stands before p. A raw newline ends it as broken. */
static size_t quoted(const struct kg_lexer *lx, size_t p, char quote, bool *broken)
{
    while (p < lx->len && lx->text[p] != '\n') {
        if (lx->text[p] == quote) {
            *broken = false;
            return p + 1;
        }
        size_t n = kg_lex_splice(lx->text, lx->len, p);
        if (n == 0 && lx->text[p] == '\\' && p + 1 < lx->len && lx->text[p + 1] != '\n') {
            n = 2;
        }
        p += n != 0 ? n : 1;
    }
    *broken = true;
    return p;
}

/* R"delimiter( ... )delimiter": p is behind the opening quote. */
static size_t raw_string(const struct kg_lexer *lx, size_t p, bool *broken)
{
    char close[20] = ")";
    size_t n = 1;
    *broken = true;
    while (p < lx->len && lx->text[p] != '(') {
        if (n > 16 || lx->text[p] == '"' || lx->text[p] == '\n' || lx->text[p] == '\\') {
            return p;
        }
        close[n++] = lx->text[p++];
    }
    close[n++] = '"';
    const char *end = p < lx->len ? memmem(lx->text + p, lx->len - p, close, n) : NULL;
    if (end == NULL) {
        return lx->len;
    }
    *broken = false;
    return (size_t)(end - lx->text) + n;
}

/* Length of the encoding prefix of a string or character constant at p; *raw for R. -1: none. */
static int quote_prefix(const struct kg_lexer *lx, size_t p, bool *raw)
{
    size_t q = p;
    *raw = false;
    if (char_at(lx, q) == 'u' && char_at(lx, q + 1) == '8') {
        q += 2;
    } else if (char_at(lx, q) == 'u' || char_at(lx, q) == 'U' || char_at(lx, q) == 'L') {
        q++;
    }
    if (char_at(lx, q) == 'R' && char_at(lx, q + 1) == '"') {
        *raw = true;
        q++;
    }
    int c = char_at(lx, q);
    return c == '"' || c == '\'' ? (int)(q - p) : -1;
}

/* End of the name whose first byte stands before p; *splices: it may hold newlines. */
static size_t name(const struct kg_lexer *lx, size_t p, bool *splices)
{
    while (p < lx->len && kg_lex_name_part((unsigned char)lx->text[p])) {
        p++;
    }
    *splices = char_at(lx, p) == '\\';
    while (*splices && p < lx->len) {
        unsigned char c = (unsigned char)lx->text[p];
        if (kg_lex_name_part(c)) {
            p++;
            continue;
        }
        size_t q = over_splices(lx, p);
        if (q != p && q < lx->len && kg_lex_name_part((unsigned char)lx->text[q])) {
            p = q;
        } else if (c == '\\' && (char_at(lx, p + 1) == 'u' || char_at(lx, p + 1) == 'U')) {
            p += 2;
        } else {
            break;
        }
    }
    return p;
}

static size_t number(const struct kg_lexer *lx, size_t p)
{
    while (p < lx->len) {
        char c = lx->text[p];
        char before = lx->text[p - 1];
        bool sign = (c == '+' || c == '-') &&
                    (before == 'e' || before == 'E' || before == 'p' || before == 'P');
        if (!kg_lex_name_part((unsigned char)c) && c != '.' && !sign) {
            break;
        }
        p++;
    }
    return p;
}

static size_t punct(const struct kg_lexer *lx, size_t p)
{
    static const char *const longer[] = {"%:%:", "...", "<<=", ">>=", "->", "++", "--", "<<",
                                         ">>",   "<=",  ">=",  "==",  "!=", "&&", "||", "+=",
                                         "-=",   "*=",  "/=",  "%=",  "&=", "|=", "^=", "##",
                                         "<%",   "%>",  "<:",  ":>",  "%:", "::", "??"};
    size_t left = lx->len - p;
    if (left < 2 || (kg_lex_bytes[(unsigned char)lx->text[p + 1]] & KG_BYTE_SECOND) == 0) {
        return p + 1; /* begins no longer one */
    }
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        if (longer[i][0] != lx->text[p]) {
            continue;
        }
        size_t n = strlen(longer[i]);
        if (n <= left && memcmp(lx->text + p, longer[i], n) == 0) {
            return p + n;
        }
    }
    return p + 1;
}

/* A directive: to the end of its logical line, comments included. A comment that never ends is left
 * for the next token, which is broken. */
static size_t directive(const struct kg_lexer *lx, size_t p)
{
    while (p < lx->len && lx->text[p] != '\n') {
        char c = lx->text[p];
        size_t n = kg_lex_splice(lx->text, lx->len, p);
        if (n != 0) {
            p += n;
        } else if (c == '"' || c == '\'') {
            bool broken;
            p = quoted(lx, p + 1, c, &broken);
        } else if (c == '/' && char_at(lx, p + 1) == '/') {
            return line_comment(lx, p);
        } else if (c == '/' && char_at(lx, p + 1) == '*') {
            size_t end = block_comment(lx, p + 2);
            if (end == 0) {
                return p;
            }
            p = end;
        } else {
            p++;
        }
    }
    return p;
}

static inline void take(struct kg_lexer *lx, enum kg_tok_kind kind, size_t end, bool may_span,
                        struct kg_tok *out)
{
    out->kind = kind;
    out->at = lx->at;
    out->line = lx->line;
    out->len = end - lx->at;
    if (may_span) {
        lx->line += count_lines(lx->text, lx->at, end);
    }
    if (kind != KG_TOK_COMMENT) {
        lx->bol = false;
    }
    lx->at = end;
}

static void take_quoted(struct kg_lexer *lx, int prefix, bool raw, struct kg_tok *out)
{
    size_t open = lx->at + (size_t)prefix;
    bool broken;
    size_t end =
        raw ? raw_string(lx, open + 1, &broken) : quoted(lx, open + 1, lx->text[open], &broken);
    enum kg_tok_kind kind = lx->text[open] == '"' ? KG_TOK_STRING : KG_TOK_CHAR;
    take(lx, broken ? KG_TOK_BROKEN : kind, end, true, out);
}

static void take_comment(struct kg_lexer *lx, size_t second, struct kg_tok *out)
{
    bool line = lx->text[second] == '/';
    size_t end = line ? line_comment(lx, second + 1) : block_comment(lx, second + 1);
    take(lx, end != 0 ? KG_TOK_COMMENT : KG_TOK_BROKEN, end != 0 ? end : lx->len, true, out);
}

void kg_lex_c_next(struct kg_lexer *lx, struct kg_tok *out)
{
    skip_blanks(lx);
    size_t p = lx->at;
    if (p >= lx->len) {
        *out = (struct kg_tok){KG_TOK_END, lx->len, lx->line, 0};
        return;
    }
    unsigned char c = (unsigned char)lx->text[p];
    bool raw;
    int prefix = c == '"' || c == '\'' || c == 'u' || c == 'U' || c == 'L' || c == 'R'
                     ? quote_prefix(lx, p, &raw)
                     : -1;
    if (prefix >= 0) {
        take_quoted(lx, prefix, raw, out);
        return;
    }
    if (kg_lex_name_start(c)) {
        bool splices;
        size_t end = name(lx, p + 1, &splices);
        take(lx, KG_TOK_NAME, end, splices, out);
        return;
    }
    int next = char_at(lx, p + 1);
    if ((c >= '0' && c <= '9') || (c == '.' && next >= '0' && next <= '9')) {
        take(lx, KG_TOK_NUMBER, number(lx, p + 1), false, out);
        return;
    }
    if (c == '/') {
        size_t q = over_splices(lx, p + 1);
        if (char_at(lx, q) == '/' || char_at(lx, q) == '*') {
            take_comment(lx, q, out);
            return;
        }
    }
    if (lx->bol && (c == '#' || (c == '%' && next == ':'))) {
        take(lx, KG_TOK_DIRECTIVE, directive(lx, p + 1), true, out);
        return;
    }
    take(lx, KG_TOK_PUNCT, punct(lx, p), false, out);
}
