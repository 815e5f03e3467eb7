/* Does a block leave code out? Models repeat a part of their answer to explain it, with a comment
 * or an empty body where the rest stands. A guess from tokens, as names.c is: it only chooses
 * between blocks of one reply. */
#include <string.h>
#include <strings.h>

#include "gym/reply/extract_private.h"
#include "gym/reply/lex_private.h"

/* Words of a comment about code that stands elsewhere, or that is yet to be written. Remarks have
 * them, too: they tell something only behind dots, and in an empty body. */
static const char *const words[] = {"rest",     "same",   "before",    "unchanged", "existing",
                                    "omitted",  "remain", "remains",   "above",     "other",
                                    "previous", "others", "remaining", "your code", "implement",
                                    "todo",     NULL};
/* What hardly anything but such a comment says. */
static const char *const phrases[] = {"as before",     "as above", "unchanged", "omitted",
                                      "existing code", "rest of",  "your code", NULL};

static bool is_letter(char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

/* Has the comment one of these, with no letter before or behind it? */
static bool says(struct kg_slice s, const char *const *list)
{
    for (size_t at = 0; at < s.len; at++) {
        for (size_t i = 0; list[i] != NULL; i++) {
            if ((s.at[at] | 0x20) != list[i][0] || (at > 0 && is_letter(s.at[at - 1]))) {
                continue;
            }
            size_t n = strlen(list[i]);
            bool whole = s.len - at == n || (s.len - at > n && !is_letter(s.at[at + n]));
            if (whole && strncasecmp(s.at + at, list[i], n) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The comment's text, without its marks. False: the line is no comment. */
static bool comment_of(struct kg_slice line, struct kg_slice *out)
{
    struct kg_slice s = kg_slice_trim(line);
    size_t mark = kg_slice_starts(s, "#") ? 1 : 2;
    if (mark == 2 && !kg_slice_starts(s, "//") && !kg_slice_starts(s, "/*")) {
        return false;
    }
    s = kg_slice_trim((struct kg_slice){s.at + mark, s.len - mark});
    bool ends = s.len >= 2 && memcmp(s.at + s.len - 2, "*/", 2) == 0;
    *out = kg_slice_trim((struct kg_slice){s.at, s.len - (ends ? 2 : 0)});
    return true;
}

/* One pair of brackets around all of the comment, without a comma: shapes have those. */
static bool in_brackets(struct kg_slice s)
{
    static const char opening[] = "([<", closing[] = ")]>";
    const char *which = s.len > 1 && s.at[0] != '\0' ? strchr(opening, s.at[0]) : NULL;
    return which != NULL && memchr(s.at, closing[which - opening], s.len) == s.at + s.len - 1 &&
           memchr(s.at, ',', s.len) == NULL;
}

/* `# ...`, `// ... rest as before`, `# (unchanged)`. Other words after the dots or between the
 * brackets are a remark. */
static bool elides(struct kg_slice s)
{
    bool dots = kg_slice_starts(s, "...") || kg_slice_starts(s, "\xe2\x80\xa6");
    return (dots && (s.len <= sizeof "..." || says(s, words))) ||
           (in_brackets(s) && says(s, phrases));
}

static bool comment_elides(struct kg_slice code)
{
    struct kg_slice line, comment;
    for (size_t at = 0; kg_slice_line(code, &at, &line);) {
        if (comment_of(line, &comment) && elides(comment)) {
            return true;
        }
    }
    return false;
}

/* Where a token of Python stands, and the body that the last header line opened. */
struct python {
    struct kg_lexer lx;
    struct kg_tok before, before2;
    int level;    /* of indentation */
    bool entry;   /* the statement at file scope defines the entry */
    bool main;    /* the last function or class is the entry, or one that each entry has */
    bool header;  /* the line begins with def, class or async */
    bool awaited; /* a header ended: a body must begin */
    bool filler;  /* nothing but `...`, `pass` and strings stood in the body so far */
    bool dots, pass, remark;
};

static bool is(const struct python *p, struct kg_tok t, const char *word)
{
    return t.kind != KG_TOK_END && kg_tok_is(&p->lx, t, word);
}

static void begin_line(struct python *p, struct kg_tok t)
{
    static const char *const makers[] = {"def", "class", "async", NULL};
    p->header = kg_tok_in(&p->lx, t, makers);
    p->entry = p->entry && p->level > 0;
}

static bool is_filler(struct python *p, struct kg_tok t)
{
    static const char *const fill[] = {"...", "[", "]", "pass", NULL};
    p->dots = p->dots || is(p, t, "...");
    p->pass = p->pass || is(p, t, "pass");
    return t.kind == KG_TOK_NEWLINE || t.kind == KG_TOK_STRING || kg_tok_in(&p->lx, t, fill);
}

/* Does the token end a header without a body, or a hollow body of the entry? */
static bool ends_hollow(struct python *p, struct kg_tok t)
{
    bool line = t.kind == KG_TOK_NEWLINE, colon = line && is(p, p->before, ":");
    bool ends = t.kind == KG_TOK_DEDENT || t.kind == KG_TOK_END;
    bool hollow = p->filler && ends && (p->dots || (p->pass && p->remark));
    bool stub = line && p->header && is(p, p->before, "...") && is(p, p->before2, ":");
    if ((p->awaited && t.kind != KG_TOK_INDENT) || (p->entry && (hollow || stub))) {
        return true;
    }
    p->filler = p->awaited ? p->header : p->filler && !ends && is_filler(p, t);
    p->awaited = colon;
    if (colon) {
        p->dots = p->pass = p->remark = false;
    }
    return false;
}

/* A header that no body follows, or in the entry a function or class of which the body is `...`, or
 * `pass` under a comment about code that stands elsewhere. Others may be stubs on purpose. */
static bool hollow_python(struct kg_slice code, const char *entry)
{
    struct python p;
    struct kg_tok t;
    memset(&p, 0, sizeof p);
    p.before.kind = p.before2.kind = KG_TOK_NEWLINE;
    kg_lex_init(&p.lx, KG_LANG_PYTHON, code.at, code.len);
    do {
        t = kg_lex_next(&p.lx);
        if (t.kind == KG_TOK_COMMENT) {
            bool body = p.awaited || p.filler;
            struct kg_slice comment = {code.at + t.at, t.len};
            p.remark = p.remark || (body && says(comment, p.main ? words : phrases));
            continue;
        }
        if (ends_hollow(&p, t)) {
            return true;
        }
        p.level += t.kind == KG_TOK_INDENT;
        p.level -= t.kind == KG_TOK_DEDENT;
        bool layout = t.kind == KG_TOK_INDENT || t.kind == KG_TOK_DEDENT;
        if (p.before.kind == KG_TOK_NEWLINE && !layout) {
            begin_line(&p, t);
        }
        if (is(&p, p.before, "class") || is(&p, p.before, "def")) {
            p.entry = p.entry || (p.level == 0 && p.header && is(&p, t, entry));
            p.main = is(&p, t, entry) || is(&p, t, "__init__") || is(&p, t, "forward");
        }
        p.before2 = layout ? p.before2 : p.before;
        p.before = layout ? p.before : t;
    } while (t.kind != KG_TOK_END);
    return false;
}

/* A function of which the body is nothing but a comment about code that stands elsewhere. */
static bool hollow_c(struct kg_slice code, const char *entry)
{
    struct kg_cwalk w;
    bool main = false; /* the last name before a `(` at file scope is the entry's */
    kg_cwalk_init(&w, code.at, code.len);
    while (kg_cwalk_next(&w)) {
        if (w.brace == 0 && kg_tok_is(&w.lx, w.tok, "(")) {
            main = kg_tok_is(&w.lx, w.prev, entry);
        }
        if (w.brace == 0 && kg_tok_is(&w.lx, w.tok, "}") && kg_tok_is(&w.lx, w.prev, "{") &&
            kg_tok_is(&w.lx, w.prev2, ")")) {
            size_t at = w.prev.at + w.prev.len;
            struct kg_slice s = kg_slice_trim((struct kg_slice){code.at + at, w.tok.at - at});
            if (says(s, main ? words : phrases) ||
                (main && kg_lex_find(s.at, s.len, "...") != NULL)) {
                return true;
            }
        }
    }
    return false;
}

bool kg_reply_is_excerpt(enum kg_lang lang, struct kg_slice code, const char *entry)
{
    return comment_elides(code) ||
           (lang == KG_LANG_C ? hollow_c(code, entry) : hollow_python(code, entry));
}
