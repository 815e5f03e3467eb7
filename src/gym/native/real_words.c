/* Finds words of one float width, such as `float` and `sqrtf`, where a reference needs `real`. */
#include "gym/native/real_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/native/real_literals.h"
#include "gym/reply/lex.h"

#define SHOWN    8
#define MARK     "not real:"
#define WORD_CAP 64

/* Of <math.h>, those that <tgmath.h> makes follow the type of their argument. */
static const char *const functions[] = {
    "acos",      "acosh",     "asin", "asinh",     "atan",  "atan2", "atanh",  "cbrt",  "ceil",
    "cos",       "cosh",      "erf",  "erfc",      "exp",   "exp2",  "expm1",  "fabs",  "fdim",
    "floor",     "fma",       "fmax", "fmin",      "fmod",  "frexp", "hypot",  "ldexp", "lgamma",
    "llrint",    "llround",   "log",  "log10",     "log1p", "log2",  "logb",   "lrint", "lround",
    "nearbyint", "nextafter", "pow",  "remainder", "rint",  "round", "scalbn", "sin",   "sinh",
    "sqrt",      "tan",       "tanh", "tgamma",    "trunc"};

struct found {
    int line;
    char word[WORD_CAP];
    char remedy[160];
};

struct search {
    const struct kg_problem *p;
    struct found first[SHOWN];
    int n;
    int marked;         /* line that a comment excuses */
    int line;           /* of the words in said */
    struct kg_buf said; /* "\nWORD\n..." of this line */
};

static bool has_f32(const struct kg_problem *p)
{
    for (int i = 0; i < p->nargs; i++) {
        if (p->args[i].dtype == KG_F32) {
            return true;
        }
    }
    return false;
}

/* The function that `word` is the float form of: "sqrt" of "sqrtf" and of "__builtin_sqrtf"; NULL:
 * of none. */
static const char *function_of(const char *word)
{
    static const char builtin[] = "__builtin_";
    if (strncmp(word, builtin, sizeof builtin - 1) == 0) {
        word += sizeof builtin - 1;
    }
    size_t len = strlen(word);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (len == strlen(functions[i]) + 1 && word[len - 1] == 'f' &&
            strncmp(word, functions[i], len - 1) == 0) {
            return functions[i];
        }
    }
    return NULL;
}

/* False: the name says nothing of a width. */
static bool judge_name(const char *word, char *remedy, size_t cap)
{
    size_t len = strlen(word);
    const char *function = function_of(word);
    if (strcmp(word, "float") == 0 || strcmp(word, "_Float32") == 0) {
        snprintf(remedy, cap, "write `real`");
        return true;
    }
    if (function != NULL) {
        snprintf(remedy, cap, "write `%s` with #include <tgmath.h>", function);
        return true;
    }
    if (strncmp(word, "kgops_", 6) == 0 && len > 10 && strcmp(word + len - 4, "_f32") == 0) {
        snprintf(remedy, cap, "write `%.*s`", (int)(len - 4), word);
        return true;
    }
    return false;
}

/* A constant with the suffix f whose value a double would have otherwise: 0.1f, not 0.5f. In a
 * hexadecimal one f is a digit unless there is an exponent. */
static bool judge_number(const char *word, char *remedy, size_t cap)
{
    size_t len = strlen(word);
    bool hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
    if ((word[len - 1] != 'f' && word[len - 1] != 'F') || (hex && strpbrk(word, "pP") == NULL)) {
        return false;
    }
    if (strtod(word, NULL) == (double)strtof(word, NULL)) {
        return false;
    }
    snprintf(remedy, cap, "write `(real)%.*s`", (int)(len - 1), word);
    return true;
}

/* The remedy is the same for all occurrences in one line: it is said and counted once. Lines come
 * in order. */
static bool is_known(struct search *s, const struct found *f)
{
    char word[WORD_CAP + 2];
    int n = snprintf(word, sizeof word, "\n%s\n", f->word);
    if (s->line != f->line) {
        s->line = f->line;
        kg_buf_reset(&s->said);
    }
    if (s->said.len > 0 && memmem(s->said.data, s->said.len, word, (size_t)n) != NULL) {
        return true;
    }
    kg_buf_add(&s->said, word, (size_t)n);
    return false;
}

static void add(struct search *s, const struct found *f)
{
    if (is_known(s, f)) {
        return;
    }
    if (s->n < SHOWN) {
        s->first[s->n] = *f;
    }
    s->n++;
}

static void look_at(struct search *s, int line, const char *text, size_t len, bool number)
{
    struct found f = {.line = line};
    if (len == 0 || len >= sizeof f.word || line == s->marked) {
        return;
    }
    memcpy(f.word, text, len);
    if (number ? judge_number(f.word, f.remedy, sizeof f.remedy)
               : judge_name(f.word, f.remedy, sizeof f.remedy)) {
        add(s, &f);
    }
}

static bool mentions(const char *text, size_t len, const char *what)
{
    return memmem(text, len, what, strlen(what)) != NULL;
}

/* Does the rest of the line that begins at `at` hold the mark? Looked for ahead: the comment comes
 * last. */
static bool line_is_marked(const char *text, size_t len, size_t at)
{
    size_t from = at, to = at;
    while (from > 0 && text[from - 1] != '\n') {
        from--;
    }
    while (to < len && text[to] != '\n') {
        to++;
    }
    const char *comment = memmem(text + from, to - from, "/*", 2);
    comment = comment != NULL ? comment : memmem(text + from, to - from, "//", 2);
    return comment != NULL && mentions(comment, (size_t)(text + to - comment), MARK);
}

/* The words of a directive, which is one token: macros hide as much as anything else. */
static void look_inside(struct search *s, const char *text, size_t len, int line)
{
    struct kg_lexer lx;
    size_t skip = 0;
    while (skip < len && text[skip] != '#') {
        skip++;
    }
    if (skip >= len || mentions(text, len, "include")) {
        return;
    }
    kg_lex_init(&lx, KG_LANG_C, text + skip + 1, len - skip - 1);
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END; t = kg_lex_next(&lx)) {
        if (t.kind == KG_TOK_NAME || t.kind == KG_TOK_NUMBER) {
            look_at(s, line + t.line - 1, lx.text + t.at, t.len, t.kind == KG_TOK_NUMBER);
        }
    }
}

static void search(struct search *s, const char *text, size_t len)
{
    struct kg_lexer lx;
    kg_lex_init(&lx, KG_LANG_C, text, len);
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END; t = kg_lex_next(&lx)) {
        if (t.kind != KG_TOK_NAME && t.kind != KG_TOK_NUMBER && t.kind != KG_TOK_DIRECTIVE) {
            continue;
        }
        if (line_is_marked(text, len, t.at)) {
            s->marked = t.line;
        }
        if (t.kind == KG_TOK_DIRECTIVE) {
            look_inside(s, text + t.at, t.len, t.line);
        } else {
            look_at(s, t.line, text + t.at, t.len, t.kind == KG_TOK_NUMBER);
        }
    }
}

static bool is_function(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strlen(functions[i]) == n && memcmp(functions[i], word, n) == 0) {
            return true;
        }
    }
    return false;
}

/* For kg_real_literals. */
static void add_literal(void *self, int line, const char *word, size_t n)
{
    struct search *s = self;
    struct found f = {.line = line};
    if (!line_is_marked(s->p->source, s->p->source_len, (size_t)(word - s->p->source))) {
        snprintf(f.word, sizeof f.word, "%.*s", (int)n, word);
        snprintf(f.remedy, sizeof f.remedy, "write `(real)%s` (it computes in double)", f.word);
        add(s, &f);
    }
}

int kg_real_words(const struct kg_problem *p, struct kg_buf *out)
{
    struct search s = {.p = p};
    if (!has_f32(p)) {
        return 0;
    }
    kg_buf_init(&s.said, 3 * p->source_len + 1); /* a word, and two line breaks */
    search(&s, p->source, p->source_len);
    kg_real_literals(p->source, p->source_len, is_function, add_literal, &s);
    kg_buf_deinit(&s.said);
    for (int i = 0; i < s.n && i < SHOWN; i++) {
        kg_buf_addf(out, "%sline %d: `%s`: %s", i > 0 ? "; " : "", s.first[i].line, s.first[i].word,
                    s.first[i].remedy);
    }
    if (s.n > SHOWN) {
        kg_buf_addf(out, " and %d more", s.n - SHOWN);
    }
    return s.n;
}
