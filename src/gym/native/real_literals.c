/* Finds constants that make a float reference compute in double. */
#include "gym/native/real_literals.h"

#include <string.h>

#include "gym/reply/lex.h"

#define NAMES    128 /* declared ones of a width, and macros; the rest is not known */
#define BRACKETS 64
#define BEFORE   4 /* tokens before the current one */

struct names {
    struct kg_tok name[NAMES];
    int n;
};

struct walk {
    struct kg_lexer lx;
    struct names reals, doubles, macros;
    struct kg_lexer statement;     /* where the current one begins */
    struct kg_tok before[BEFORE];  /* the latest first */
    struct kg_tok owner[BRACKETS]; /* of each open bracket: the token before it */
    int depth;
    bool (*is_function)(const char *word, size_t n);
};

static struct kg_tok next_code(struct kg_lexer *lx)
{
    struct kg_tok t = kg_lex_next(lx);
    while (t.kind == KG_TOK_COMMENT || t.kind == KG_TOK_DIRECTIVE) {
        t = kg_lex_next(lx);
    }
    return t;
}

static bool is(const struct walk *w, struct kg_tok t, const char *s)
{
    return kg_tok_is(&w->lx, t, s);
}

static bool same(const struct walk *w, struct kg_tok a, struct kg_tok b)
{
    return a.len == b.len && memcmp(w->lx.text + a.at, w->lx.text + b.at, a.len) == 0;
}

static bool among(const struct walk *w, const struct names *set, struct kg_tok t)
{
    for (int i = 0; i < set->n; i++) {
        if (same(w, set->name[i], t)) {
            return true;
        }
    }
    return false;
}

static void remember(struct names *set, struct kg_tok t)
{
    if (set->n < NAMES) {
        set->name[set->n++] = t;
    }
}

/* A floating constant without a suffix. */
static bool is_bare(const char *word, size_t n)
{
    bool hex = n > 1 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
    if (n == 0 || (hex ? !memchr(word, 'p', n) && !memchr(word, 'P', n)
                       : !memchr(word, '.', n) && !memchr(word, 'e', n) && !memchr(word, 'E', n))) {
        return false;
    }
    return strchr("fFlLdDqQwW", word[n - 1]) == NULL;
}

/* `#define NAME 0.01`, with or without brackets and a sign. */
static void read_macro(struct walk *w, struct kg_tok directive)
{
    struct kg_lexer lx;
    size_t from = directive.at;
    struct kg_tok name, t;
    bool bare = false;
    while (w->lx.text[from] != '#') {
        if (++from >= directive.at + directive.len) {
            return;
        }
    }
    kg_lex_init(&lx, KG_LANG_C, w->lx.text, directive.at + directive.len);
    lx.at = from + 1;
    lx.bol = false;
    if (!kg_tok_is(&lx, next_code(&lx), "define")) {
        return;
    }
    name = next_code(&lx);
    for (t = next_code(&lx); t.kind != KG_TOK_END; t = next_code(&lx)) {
        if (t.kind == KG_TOK_NUMBER && !bare) {
            bare = is_bare(lx.text + t.at, t.len);
        } else if (t.kind != KG_TOK_PUNCT || strchr("()-+", lx.text[t.at]) == NULL) {
            return;
        }
    }
    if (bare && name.kind == KG_TOK_NAME) {
        remember(&w->macros, name);
    }
}

/* The names of `real *x`, `const double a, b`: those after the word of the type. */
static void read_declaration(struct walk *w, struct kg_lexer lx, struct names *set)
{
    bool parameter = w->depth > 0;
    int depth = 0;
    bool expected = true;
    for (struct kg_tok t = next_code(&lx); t.kind != KG_TOK_END; t = next_code(&lx)) {
        if (depth == 0 && expected && t.kind == KG_TOK_NAME) {
            if (!is(w, t, "const") && !is(w, t, "restrict")) {
                remember(set, t);
                expected = false;
            }
            continue;
        }
        bool opens = is(w, t, "(") || is(w, t, "["), closes = is(w, t, ")") || is(w, t, "]");
        depth += opens - closes;
        if (depth < 0 || is(w, t, ";") || is(w, t, "{") ||
            (depth == 0 && parameter && is(w, t, ","))) {
            return;
        }
        expected = depth == 0 && (is(w, t, ",") || (expected && is(w, t, "*")));
    }
}

/* Declarations and macros may stand behind what uses them. */
static void read_names(struct walk *w)
{
    for (struct kg_tok t = kg_lex_next(&w->lx); t.kind != KG_TOK_END; t = kg_lex_next(&w->lx)) {
        w->depth += is(w, t, "(") - is(w, t, ")");
        if (t.kind == KG_TOK_DIRECTIVE) {
            read_macro(w, t);
        } else if (is(w, t, "real")) {
            read_declaration(w, w->lx, &w->reals);
        } else if (is(w, t, "double")) {
            read_declaration(w, w->lx, &w->doubles);
        }
    }
}

static bool assigns(const struct walk *w, struct kg_tok t)
{
    return is(w, t, "=");
}

/* Does the constant at `at` meet a `real`, with no double in its statement? Names before the
 * assignment that it is part of do not count: their value is converted at the end. */
static bool meets_real(const struct walk *w, size_t at)
{
    struct kg_lexer lx = w->statement;
    bool real = false;
    for (struct kg_tok t = next_code(&lx); t.kind != KG_TOK_END; t = next_code(&lx)) {
        if (is(w, t, ";") || is(w, t, "{") || is(w, t, "}")) {
            break;
        }
        if (is(w, t, "double") || (t.kind == KG_TOK_NAME && among(w, &w->doubles, t))) {
            return false;
        }
        if (t.at < at && assigns(w, t)) {
            real = false;
        }
        real = real || (t.kind == KG_TOK_NAME && among(w, &w->reals, t));
    }
    return real;
}

/* The whole of a value that the compiler converts: `= 0.5;`, `return -0.5;`, `f(x, 0.5)`. */
static bool stands_alone(const struct walk *w, struct kg_tok after)
{
    int sign = is(w, w->before[0], "-") || is(w, w->before[0], "+");
    struct kg_tok b = w->before[sign];
    bool ends = is(w, after, ";") || is(w, after, ",") || is(w, after, ")") || is(w, after, "}");
    if (!ends || !(assigns(w, b) || is(w, b, "return") || is(w, b, ",") || is(w, b, "("))) {
        return false;
    }
    if (assigns(w, b) || is(w, b, "return") || w->depth == 0 || w->depth > BRACKETS) {
        return true;
    }
    struct kg_tok owner = w->owner[w->depth - 1];
    return owner.kind == KG_TOK_NAME && !w->is_function(w->lx.text + owner.at, owner.len);
}

static bool is_cast(const struct walk *w)
{
    int sign = is(w, w->before[0], "-") || is(w, w->before[0], "+");
    return is(w, w->before[sign], ")") && is(w, w->before[sign + 2], "(") &&
           (is(w, w->before[sign + 1], "real") || is(w, w->before[sign + 1], "double"));
}

static bool counts(const struct walk *w, struct kg_tok t)
{
    struct kg_lexer ahead = w->lx;
    bool bare = t.kind == KG_TOK_NUMBER ? is_bare(w->lx.text + t.at, t.len)
                                        : t.kind == KG_TOK_NAME && among(w, &w->macros, t);
    return bare && !is_cast(w) && !stands_alone(w, next_code(&ahead)) && meets_real(w, t.at);
}

static void step(struct walk *w, struct kg_tok t)
{
    if (is(w, t, "(") || is(w, t, "[")) {
        if (w->depth < BRACKETS) {
            w->owner[w->depth] = w->before[0];
        }
        w->depth++;
    } else if ((is(w, t, ")") || is(w, t, "]")) && w->depth > 0) {
        w->depth--;
    } else if (is(w, t, ";") || is(w, t, "{") || is(w, t, "}")) {
        w->statement = w->lx;
    }
    memmove(w->before + 1, w->before, (BEFORE - 1) * sizeof *w->before);
    w->before[0] = t;
}

void kg_real_literals(const char *text, size_t len, bool (*is_function)(const char *word, size_t n),
                      void (*found)(void *self, int line, const char *word, size_t n), void *self)
{
    struct walk w = {.is_function = is_function};
    kg_lex_init(&w.lx, KG_LANG_C, text, len);
    read_names(&w);
    kg_lex_init(&w.lx, KG_LANG_C, text, len);
    w.statement = w.lx;
    w.depth = 0;
    for (struct kg_tok t = next_code(&w.lx); t.kind != KG_TOK_END; t = next_code(&w.lx)) {
        if (counts(&w, t)) {
            found(self, t.line, text + t.at, t.len);
        }
        step(&w, t);
    }
}
