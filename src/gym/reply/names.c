/* Which names a block of a reply uses, and which it makes: does it stand alone, or does it need
 * another block? A guess from tokens, good enough to choose between blocks of one reply. */
#include <string.h>

#include "gym/reply/extract_private.h"
#include "gym/reply/lex_private.h"

#define MOST (KG_NAMES_SLOTS / 4 * 3) /* more names than these, and nothing is said */
#define LINE 16                       /* targets of one assignment */

static uint32_t hash_of(const char *at, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ (unsigned char)at[i]) * 16777619u;
    }
    return h != 0 ? h : 1;
}

/* Where the name is, or the free slot where it would be: there is always one. */
static size_t place_of(const struct kg_names *n, uint32_t hash)
{
    size_t i = hash % KG_NAMES_SLOTS;
    while (n->hash[i] != 0 && n->hash[i] != hash) {
        i = (i + 1) % KG_NAMES_SLOTS;
    }
    return i;
}

static uint8_t *slot_of(struct kg_names *n, uint32_t hash)
{
    size_t i = place_of(n, hash);
    if (n->hash[i] == 0) {
        if (n->n == MOST) {
            n->many = true;
            return NULL;
        }
        n->hash[i] = hash;
        n->n++;
    }
    return &n->how[i];
}

static void note(struct kg_names *n, uint32_t hash, int how)
{
    uint8_t *slot = slot_of(n, hash);
    if (slot != NULL) {
        *slot |= (uint8_t)how;
    }
}

/* --- Python --- */

enum part { PART_BODY, PART_IMPORTS, PART_FROM, PART_TARGETS /* for .. in */, PART_LAMBDA };

struct python {
    struct kg_names *n;
    struct kg_lexer lx;
    struct kg_tok prev;
    enum part part;
    int level;  /* of indentation */
    int tokens; /* of the line so far */
    bool def;
    bool plain; /* the line so far could be the targets of an assignment */
    uint32_t target[LINE];
    int ntargets;
    uint32_t pending; /* a name that is used, unless it turns out to be a keyword; 0: none */
};

static bool is(const struct python *p, struct kg_tok t, const char *word)
{
    return t.kind != KG_TOK_END && kg_tok_is(&p->lx, t, word);
}

static void name_of_python(struct python *p, struct kg_tok t)
{
    static const char *const makers[] = {"def", "class", "as", NULL};
    uint32_t h = hash_of(p->lx.text + t.at, t.len);
    bool opens =
        is(p, p->prev, "(") || is(p, p->prev, ",") || is(p, p->prev, "*") || is(p, p->prev, "**");
    bool parameter = p->def && p->lx.depth > 0 && opens;
    if (is(p, p->prev, ".") || p->part == PART_FROM) {
        return;
    }
    if (p->part == PART_IMPORTS || kg_tok_in(&p->lx, p->prev, makers)) {
        note(p->n, h, KG_NAME_MADE | (p->level == 0 ? KG_NAME_TOP : 0));
    } else if (p->part == PART_TARGETS || p->part == PART_LAMBDA || parameter) {
        note(p->n, h, KG_NAME_MADE);
    } else {
        p->pending = h;
        if (p->ntargets < LINE) {
            p->target[p->ntargets++] = h;
        }
    }
}

/* `f(a=1)`: the keyword is no name of the block. */
static void settle(struct python *p, bool keyword)
{
    if (p->pending != 0 && !keyword) {
        note(p->n, p->pending, KG_NAME_USED);
    }
    p->pending = 0;
}

/* `a = `, `a, b = `, `a: int = `, `(a := 1)`: what stands before is made. */
static void assign(struct python *p, struct kg_tok t)
{
    int top = p->level == 0 && p->lx.depth == 0 ? KG_NAME_TOP : 0;
    bool whole = p->lx.depth == 0 && is(p, t, "=") && p->plain;
    for (int i = 0; i < p->ntargets && whole; i++) {
        note(p->n, p->target[i], KG_NAME_MADE | top);
    }
    bool keyword = p->lx.depth > 0 && is(p, t, "=");
    if (!whole && !keyword && p->prev.kind == KG_TOK_NAME && p->ntargets > 0) {
        note(p->n, p->target[p->ntargets - 1], KG_NAME_MADE | top);
    }
    p->ntargets = 0;
}

static void token_of_python(struct python *p, struct kg_tok t)
{
    static const char *const words[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    NULL};
    settle(p, p->lx.depth > 0 && is(p, t, "="));
    if (t.kind == KG_TOK_NAME && kg_tok_in(&p->lx, t, words)) {
        p->def = p->def || is(p, t, "def");
        p->part = is(p, t, "from") && p->tokens == 0          ? PART_FROM
                  : is(p, t, "import")                        ? PART_IMPORTS
                  : is(p, t, "for")                           ? PART_TARGETS
                  : is(p, t, "lambda")                        ? PART_LAMBDA
                  : is(p, t, "in") && p->part == PART_TARGETS ? PART_BODY
                                                              : p->part;
        p->plain = false;
    } else if (t.kind == KG_TOK_NAME) {
        name_of_python(p, t);
    } else if (t.kind == KG_TOK_PUNCT) {
        bool colon = is(p, t, ":");
        p->part = colon && p->part == PART_LAMBDA ? PART_BODY : p->part;
        if (is(p, t, "=") || is(p, t, ":=") || (colon && p->tokens == 1)) {
            assign(p, t);
        }
        bool target = is(p, t, ",") || is(p, t, "(") || is(p, t, ")") || is(p, t, "*") ||
                      is(p, t, "[") || is(p, t, "]") || is(p, t, "=");
        p->plain = p->plain && target && !(is(p, t, "[") && p->prev.kind == KG_TOK_NAME);
    } else {
        p->plain = false;
    }
    p->prev = t;
    p->tokens++;
}

static void read_python(struct kg_names *n, struct kg_slice code)
{
    struct python p;
    memset(&p, 0, sizeof p);
    p.n = n;
    p.plain = true;
    kg_lex_init(&p.lx, KG_LANG_PYTHON, code.at, code.len);
    for (struct kg_tok t = kg_lex_next(&p.lx); t.kind != KG_TOK_END && !n->many;
         t = kg_lex_next(&p.lx)) {
        p.level += t.kind == KG_TOK_INDENT;
        p.level -= t.kind == KG_TOK_DEDENT;
        if (t.kind == KG_TOK_NEWLINE) {
            settle(&p, false);
            p.tokens = p.ntargets = 0;
            p.def = false;
            p.plain = true;
            p.part = PART_BODY;
            p.prev = t;
        } else if (t.kind != KG_TOK_INDENT && t.kind != KG_TOK_DEDENT && t.kind != KG_TOK_COMMENT) {
            token_of_python(&p, t);
        }
    }
    settle(&p, false);
}

/* --- C --- */

static void directive(struct kg_names *n, const char *text, struct kg_tok t)
{
    struct kg_directive d;
    kg_directive_open(&d, text, t);
    if (kg_directive_is(&d, "define")) {
        struct kg_tok name = kg_lex_next(&d.lx);
        if (name.kind == KG_TOK_NAME) {
            note(n, hash_of(d.lx.text + name.at, name.len), KG_NAME_MADE | KG_NAME_TOP);
        }
    } else if (kg_directive_is(&d, "include")) {
        n->includes = true;
        n->headers = n->headers || kg_tok_is(&d.lx, kg_lex_next(&d.lx), "<");
    }
}

static const char *const c_before_type[] = {"const",    "volatile", "static",  "inline",
                                            "register", "typedef",  "extern",  "struct",
                                            "union",    "enum",     "_Atomic", NULL};

/* Never a name of the block, though types among them seem to be declared behind `static`. */
static const char *const c_keywords[] = {
    "void",     "char",     "short",  "int",    "long",    "float",    "double",        "signed",
    "unsigned", "_Bool",    "bool",   "struct", "union",   "enum",     "const",         "volatile",
    "restrict", "static",   "extern", "inline", "typedef", "register", "__attribute__", "return",
    "if",       "else",     "for",    "while",  "do",      "switch",   "case",          "default",
    "break",    "continue", "goto",   "sizeof", NULL};

/* Where a token stands in its statement. */
struct place {
    bool start;   /* it is the first one */
    bool decl;    /* the statement declares */
    bool value;   /* behind the `=` of a declarator */
    bool enums;   /* behind `enum` */
    bool listing; /* between the braces of an enum */
    int nest;     /* brackets that are open in the statement */
};

static void step(struct place *p, const struct kg_lexer *lx, struct kg_tok t, struct kg_tok before)
{
    static const char *const onward[] = {"else", "do", NULL};
    if (t.kind != KG_TOK_PUNCT || t.len != 1) {
        p->start = p->start && kg_tok_in(lx, t, onward);
        p->enums = p->enums || kg_tok_is(lx, t, "enum");
        return;
    }
    char c = lx->text[t.at];
    bool inner = p->nest > 0 || (c == '{' && p->value);
    bool loop = c == '(' && kg_tok_is(lx, before, "for");
    p->start = false;
    if (c == '{' && p->enums) {
        *p = (struct place){.listing = true};
    } else if (c == ';' || loop || (strchr("){}", c) != NULL && !inner)) {
        *p = (struct place){.start = true};
    } else if (strchr("([{", c) != NULL) {
        p->nest++;
    } else if (strchr(")]}", c) != NULL) {
        p->nest -= p->nest > 0;
    } else if ((c == '=' || c == ',') && p->nest == 0) {
        p->value = c == '=';
    }
    p->enums = p->enums && strchr("(=", c) == NULL;
}

/* How the token is made that stands behind `,` or `*` in a declaration, or in an enum; 0: it is
 * not. No statement of use begins with two names, or with a product. */
static int declared(struct place *p, const struct kg_cwalk *w, struct kg_tok t,
                    struct kg_tok before, int brace, int paren)
{
    static const char *const control[] = {"return", "else", "case", "goto", "do", "sizeof", NULL};
    bool two =
        t.kind == KG_TOK_NAME && (w->tok.kind == KG_TOK_NAME || kg_tok_is(&w->lx, w->tok, "*"));
    p->decl = p->decl || (p->start && two && !kg_tok_in(&w->lx, t, control));
    bool comma = kg_tok_is(&w->lx, before, ",");
    bool listed = p->listing && (comma || kg_tok_is(&w->lx, before, "{"));
    bool more = p->decl && p->nest == 0 && !p->value && (comma || kg_tok_is(&w->lx, before, "*"));
    bool file = listed ? brace == 1 : brace == 0 && paren == 0;
    return !listed && !more ? 0 : file ? KG_NAME_MADE | KG_NAME_TOP : KG_NAME_MADE;
}

/* A name with another one before it is declared, but not a type behind `const`; one before `(`,
 * `=`, `[` or `;` at file scope is a function, an object or a type. */
static void name_of_c(struct kg_names *n, const struct kg_cwalk *w, struct kg_tok name,
                      struct kg_tok before, struct kg_tok after, int brace, int paren, int made)
{
    static const char *const no_type[] = {"return", "else", "case", "goto", "sizeof", NULL};
    bool typed = before.kind == KG_TOK_NAME && !kg_tok_in(&w->lx, before, no_type);
    bool file = brace == 0 && paren == 0;
    bool ends = (after.kind == KG_TOK_PUNCT && strchr("(=[;{", w->lx.text[after.at]) != NULL) ||
                kg_tok_is(&w->lx, after, "__attribute__");
    uint32_t h = hash_of(w->lx.text + name.at, name.len);
    bool starred = before.kind == KG_TOK_PUNCT && w->lx.text[before.at] == '*';
    bool closed = before.kind == KG_TOK_PUNCT && w->lx.text[before.at] == '}';
    bool type = kg_tok_in(&w->lx, before, c_before_type) &&
                (after.kind == KG_TOK_NAME || kg_tok_is(&w->lx, after, "*"));
    if (kg_tok_in(&w->lx, name, c_keywords) || kg_tok_is(&w->lx, before, ".") ||
        kg_tok_is(&w->lx, before, "->")) {
        return;
    }
    if (file && ends && (typed || starred || closed)) {
        note(n, h, KG_NAME_MADE | KG_NAME_TOP);
    } else if (made != 0) {
        note(n, h, made);
    } else if (!type && (typed || (brace == 0 && paren > 0 && starred))) {
        note(n, h, KG_NAME_MADE);
    } else {
        bool suffix = name.len > 2 && memcmp(w->lx.text + name.at + name.len - 2, "_t", 2) == 0;
        note(n, h, KG_NAME_USED | (suffix ? KG_NAME_TYPE : 0));
    }
}

static bool lacks_headers(const struct kg_names *n)
{
    bool lacks = false;
    for (size_t i = 0; i < KG_NAMES_SLOTS && !n->includes; i++) {
        lacks = lacks || ((n->how[i] & KG_NAME_TYPE) && !(n->how[i] & KG_NAME_MADE));
    }
    return lacks;
}

static void read_c(struct kg_names *n, struct kg_slice code)
{
    struct kg_cwalk w;
    struct kg_tok name = {.kind = KG_TOK_END}, before = name;
    struct place place = {.start = true};
    int brace = 0, paren = 0;
    bool other = false;
    kg_cwalk_init(&w, code.at, code.len);
    while (kg_cwalk_next(&w) && !n->many) {
        int made = declared(&place, &w, name, before, brace, paren);
        if (name.kind == KG_TOK_NAME) {
            name_of_c(n, &w, name, before, w.tok, brace, paren, made);
        }
        if (name.kind != KG_TOK_DIRECTIVE && name.kind != KG_TOK_END) {
            step(&place, &w.lx, name, before);
        }
        if (w.tok.kind == KG_TOK_DIRECTIVE) {
            directive(n, code.at, w.tok);
        }
        other = other || w.tok.kind != KG_TOK_DIRECTIVE;
        before = name;
        name = w.tok;
        brace = w.brace;
        paren = w.paren;
    }
    n->headers = n->headers && !other;
    n->lacks = lacks_headers(n);
}

/* --- both --- */

void kg_names_read(enum kg_lang lang, struct kg_slice code, struct kg_names *out)
{
    memset(out, 0, sizeof *out);
    if (lang == KG_LANG_C) {
        read_c(out, code);
    } else {
        read_python(out, code);
    }
}

bool kg_names_need(const struct kg_names *a, const struct kg_names *b)
{
    if (a->many || b->many) {
        return false;
    }
    if (b->headers && !a->includes) {
        return true;
    }
    for (size_t i = 0; i < KG_NAMES_SLOTS; i++) {
        if ((a->how[i] & KG_NAME_USED) && !(a->how[i] & KG_NAME_MADE)) {
            size_t at = place_of(b, a->hash[i]);
            if (b->hash[at] != 0 && (b->how[at] & KG_NAME_TOP)) {
                return true;
            }
        }
    }
    return false;
}
