/* Finds out whether Python text defines an entry, without running it. */
#include <string.h>

#include "gym/reply/lex_private.h"

#define LEVELS 64

/* What the statement that begins a logical line is. */
enum head { HEAD_OTHER, HEAD_SCOPE /* class, def */, HEAD_CONDITION /* if, try, with, ... */ };

struct scan {
    struct kg_lexer lx;
    const char *entry;
    enum head inside[LEVELS]; /* of each enclosing block */
    int level, scopes;        /* blocks around the line; of these, classes and functions */
    /* the logical line at hand */
    struct kg_tok first, second, last;
    int tokens;
    bool sees_entry, conditional, colon;
    /* the definition at hand: a header was seen on level */
    bool pending, has_body, broken, dirty;
    int at_level, count;
    enum kg_defines kind;
};

static bool is(const struct scan *s, struct kg_tok t, const char *text)
{
    return t.kind != KG_TOK_END && kg_tok_is(&s->lx, t, text);
}

static enum head head_of(const struct scan *s)
{
    static const char *const conditions[] = {"if",      "else", "elif", "try",   "except",
                                             "finally", "with", "for",  "while", NULL};
    if (s->first.kind != KG_TOK_NAME) {
        return HEAD_OTHER;
    }
    if (is(s, s->first, "class") || is(s, s->first, "def") || is(s, s->first, "async")) {
        return HEAD_SCOPE;
    }
    return kg_tok_in(&s->lx, s->first, conditions) ? HEAD_CONDITION : HEAD_OTHER;
}

static void settle(struct scan *s, bool whole)
{
    enum kg_defines kind = whole ? (s->conditional ? KG_DEF_UNSURE : KG_DEF_WHOLE) : KG_DEF_PARTIAL;
    bool better = s->kind == KG_DEF_NONE || s->kind == KG_DEF_PARTIAL || kind == KG_DEF_WHOLE;
    s->kind = better ? kind : s->kind;
    s->count += whole;
    s->pending = false;
}

/* `class Entry`, `def Entry`, `async def Entry`; an assignment to the name leaves it to Python. */
static void see_name(struct scan *s, struct kg_tok t)
{
    bool defines = (s->tokens == 1 && (is(s, s->first, "class") || is(s, s->first, "def"))) ||
                   (s->tokens == 2 && is(s, s->first, "async") && is(s, s->second, "def"));
    if (defines && s->scopes == 0 && kg_tok_is(&s->lx, t, s->entry)) {
        if (s->pending) {
            settle(s, s->has_body);
        }
        s->pending = true;
        s->has_body = false;
        s->conditional = s->level > 0;
        s->at_level = s->level;
    } else if (s->tokens == 0) {
        s->sees_entry = s->scopes == 0 && kg_tok_is(&s->lx, t, s->entry);
    }
}

static void end_line(struct scan *s)
{
    bool header = s->last.kind == KG_TOK_PUNCT && is(s, s->last, ":");
    if (s->pending && s->level == s->at_level && !header && s->colon && head_of(s) == HEAD_SCOPE) {
        s->has_body = true; /* `class Entry: pass` */
    }
}

static void indent(struct scan *s)
{
    enum head h = head_of(s);
    if (s->level < LEVELS) {
        s->inside[s->level] = h;
        s->scopes += h != HEAD_CONDITION;
    }
    s->level++;
}

static void dedent(struct scan *s)
{
    s->level--;
    if (s->level < LEVELS) {
        s->scopes -= s->inside[s->level] != HEAD_CONDITION;
    }
}

static void token(struct scan *s, struct kg_tok t)
{
    if (s->tokens == 0 && s->pending) {
        if (s->level > s->at_level) {
            s->has_body = true;
        } else {
            settle(s, s->has_body); /* a line on its own level ends it */
        }
    }
    if (t.kind == KG_TOK_NAME) {
        see_name(s, t);
    } else if (s->tokens == 1 && s->sees_entry && is(s, t, "=") && s->kind != KG_DEF_WHOLE) {
        s->kind = KG_DEF_UNSURE;
    }
    if (s->tokens == 0) {
        s->first = t;
    } else if (s->tokens == 1) {
        s->second = t;
    }
    s->dirty |= t.kind == KG_TOK_PUNCT && t.len == 1 && strchr("`?$!\\", s->lx.text[t.at]) != NULL;
    s->colon = (s->colon && s->tokens > 0) || (s->lx.depth == 0 && is(s, t, ":"));
    s->last = t;
    s->tokens++;
}

void kg_survey_python(const char *text, size_t len, const char *entry, struct kg_python_survey *out)
{
    struct scan s;
    memset(&s, 0, sizeof s);
    s.entry = entry;
    kg_lex_init(&s.lx, KG_LANG_PYTHON, text, len);
    bool fresh = true; /* at the beginning of a logical line, whose predecessor is still in s */
    for (struct kg_tok t = kg_lex_next(&s.lx); t.kind != KG_TOK_END; t = kg_lex_next(&s.lx)) {
        s.broken |= t.kind == KG_TOK_BROKEN;
        if (t.kind == KG_TOK_NEWLINE) {
            end_line(&s);
            fresh = true;
        } else if (t.kind == KG_TOK_INDENT) {
            indent(&s);
        } else if (t.kind == KG_TOK_DEDENT) {
            dedent(&s);
        } else if (t.kind != KG_TOK_COMMENT) {
            s.tokens = fresh ? 0 : s.tokens;
            fresh = false;
            token(&s, t);
        }
    }
    if (s.pending) {
        settle(&s, s.has_body && s.lx.depth == 0 && !s.broken);
    }
    *out = (struct kg_python_survey){s.kind, s.count, s.dirty};
}
