/* Who defines the entry in a C text: one pass over its tokens with a small state machine for the
 * declaration at hand. What it cannot know (macros, conditionals, K&R, digraphs, assembly that
 * names the entry) is UNSURE, and the compiler decides. */
#include <string.h>

#include "gym/reply/macros_c.h"

enum state {
    IN_DECL,   /* at file scope, before or beside the entry's name */
    AT_NAME,   /* just behind the entry's name */
    IN_PARAMS, /* inside its parameter list */
    BEHIND,    /* behind the parameter list: attributes, K&R declarations, then { or ; */
    IN_BODY,
};

struct scan {
    struct kg_cwalk w;
    const char *entry;
    struct kg_survey *out;
    enum state state;
    /* the declaration at hand */
    int tokens;
    bool is_static, is_inline, is_typedef, assigned, linkage_string, renames, mentions;
    bool static_doubt;  /* its `static` may be a macro, or another declaration's */
    struct kg_tok head; /* the name before its outermost parenthesis */
    bool digraph, function_brace;
    /* the definition at hand */
    int level, line, ifs;
    size_t body_at;
    bool unsure, old_style, old_semicolon;
    bool wrapped, pointer; /* the name stands in parentheses, behind a star there */
    /* of the whole text */
    bool static_prototype, weak;
    int plain; /* definitions that surely are compiled */
    struct kg_macros macros;
};

static const char *const renaming[] = {"asm",       "__asm", "__asm__",   "alias",
                                       "__alias__", "ifunc", "__ifunc__", NULL};

static bool is(const struct scan *s, const char *text)
{
    return kg_tok_is(&s->w.lx, s->w.tok, text);
}

static void end_declaration(struct scan *s)
{
    s->weak |= s->renames && s->mentions;
    s->tokens = 0;
    s->is_static = s->is_inline = s->is_typedef = s->assigned = s->linkage_string = false;
    s->renames = s->mentions = s->digraph = s->function_brace = s->static_doubt = false;
    s->head.kind = KG_TOK_END;
    s->head.len = 0;
    s->state = IN_DECL;
}

static int rank(enum kg_defines k)
{
    static const int ranks[] = {[KG_DEF_NONE] = 0,
                                [KG_DEF_PARTIAL] = 1,
                                [KG_DEF_STATIC] = 2,
                                [KG_DEF_UNSURE] = 3,
                                [KG_DEF_WHOLE] = 4};
    return ranks[k];
}

static void found(struct scan *s, enum kg_defines kind)
{
    struct kg_survey *o = s->out;
    o->kind = rank(kind) > rank(o->kind) ? kind : o->kind;
}

/* The body that ends at position end (or the text, when it never closes) is the entry's. */
static void end_body(struct scan *s, bool closed, size_t end)
{
    struct kg_survey *o = s->out;
    bool doubtful = s->unsure || s->ifs > 0 || s->digraph || s->macros.is_entry ||
                    (s->is_static && s->static_doubt);
    if (!closed) {
        found(s, s->w.uneven || doubtful ? KG_DEF_UNSURE : KG_DEF_PARTIAL);
        o->line = o->line != 0 ? o->line : s->line;
        return;
    }
    o->bodies++;
    o->visible = true;
    if (o->body_end == 0) {
        o->line = s->line;
        o->body_at = s->body_at;
        o->body_end = end;
    }
    /* Conditional ones may exclude each other; gnu_inline allows two; a macro may rename one. */
    bool counts = s->ifs == 0 && !s->macros.is_entry && !s->is_inline;
    if (counts && s->plain++ == 1) {
        o->again_line = s->line;
    }
    if (s->is_static && !doubtful) {
        o->static_line = o->static_line != 0 ? o->static_line : s->line;
        found(s, KG_DEF_STATIC);
    } else {
        found(s, doubtful ? KG_DEF_UNSURE : KG_DEF_WHOLE);
    }
}

/* Can the token before the entry's name stand before a declarator? `=`, `.` and alike cannot. */
static bool declares(const struct scan *s)
{
    const struct kg_tok p = s->w.prev;
    if (s->assigned) {
        return false;
    }
    if (s->tokens == 0 || p.kind == KG_TOK_NAME || p.kind == KG_TOK_STRING) {
        return !kg_tok_is(&s->w.lx, p, "return") && !kg_tok_is(&s->w.lx, p, "else");
    }
    char c = p.len == 1 ? s->w.lx.text[p.at] : '\0';
    return c == '*' || c == ')' || c == ']' || c == ',' || c == '}' || c == ';';
}

static void see_entry(struct scan *s)
{
    const struct kg_tok p = s->w.prev;
    s->mentions = true;
    bool at_top = s->w.paren == 0 && declares(s);
    bool wrapped = s->w.paren == 1 && !s->assigned && p.len == 1 &&
                   (s->w.lx.text[p.at] == '(' || s->w.lx.text[p.at] == '*');
    if (s->w.paren > 0 && (kg_macros_traits(&s->macros, s->head) & KG_MACRO_FUNCTION) != 0) {
        s->weak = true;
    }
    if (!at_top && !wrapped) {
        return;
    }
    s->state = AT_NAME;
    s->level = s->w.paren;
    s->line = s->w.tok.line;
    s->ifs = s->w.ifs;
    s->old_style = s->old_semicolon = false;
    s->wrapped = !at_top;
    s->pointer = s->wrapped && s->w.lx.text[p.at] == '*';
    s->unsure = s->wrapped || s->tokens == 0 || (s->is_inline && !s->is_static) || s->is_typedef ||
                s->linkage_string || s->static_prototype;
}

/* A macro may hold a whole function, which needs no semicolon: `static ROW(a)` and then the entry.
 * The word may be a macro, or stand under a condition that the entry does not stand under. */
static void see_static(struct scan *s)
{
    static const char *const attributes[] = {"__attribute__", "__attribute", NULL};
    const struct kg_tok t = s->w.tok;
    if (t.kind == KG_TOK_NAME && s->w.paren == 0 && is(s, "static")) {
        s->is_static = true;
        s->static_doubt |= s->w.ifs > 0 || kg_macros_traits(&s->macros, t) != 0;
    } else if (s->is_static && !s->static_doubt) {
        bool call = is(s, "(") && s->w.paren == 0 && !kg_tok_in(&s->w.lx, s->w.prev, attributes);
        s->static_doubt = call || kg_macros_traits(&s->macros, t) != 0;
    }
}

static void declaration(struct scan *s)
{
    static const char *const inlines[] = {"inline", "__inline", "__inline__", NULL};
    const struct kg_tok t = s->w.tok;
    if (t.kind == KG_TOK_NAME) {
        if (is(s, s->entry)) {
            see_entry(s);
        } else if (kg_macros_traits(&s->macros, t) != 0 &&
                   (s->macros.traits & (KG_MACRO_PASTES | KG_MACRO_MENTIONS)) != 0) {
            s->weak = true;
        }
        s->is_typedef |= is(s, "typedef");
        s->is_inline |= kg_tok_in(&s->w.lx, t, inlines);
        s->renames |= kg_tok_in(&s->w.lx, t, renaming);
    } else if (t.kind == KG_TOK_STRING) {
        s->linkage_string |=
            s->w.prev.kind == KG_TOK_NAME && kg_tok_is(&s->w.lx, s->w.prev, "extern");
        s->mentions |= kg_lex_find(s->w.lx.text + t.at, t.len, s->entry) != NULL;
    } else if (is(s, "(") && s->w.paren == 0 && s->w.prev.kind == KG_TOK_NAME) {
        s->head = s->w.prev;
    } else if (is(s, "=") && s->w.paren == 0) {
        s->assigned = true;
    }
    see_static(s);
    s->tokens++;
}

static void at_name(struct scan *s)
{
    bool call = s->wrapped && !s->pointer && s->w.paren > 0; /* `if (entry(...))` in a snippet */
    if (is(s, "(") && !call) {
        s->state = IN_PARAMS;
        s->level = s->w.paren;
        return;
    }
    if (is(s, ")") && s->w.paren < s->level && !s->pointer) {
        s->level = s->w.paren;
        return; /* `void (entry)(...)`: the parameters may follow */
    }
    bool declares_object = s->pointer || is(s, "=") || is(s, ";") || is(s, "[") || is(s, ",");
    s->out->object |= declares_object && s->tokens > 1;
    s->state = IN_DECL;
    declaration(s);
}

static void begin_body(struct scan *s)
{
    bool after_semicolon = s->w.prev.len == 1 && s->w.lx.text[s->w.prev.at] == ';';
    if (s->old_semicolon && !after_semicolon) {
        end_declaration(s); /* it was a prototype with a macro behind it */
        return;
    }
    s->state = IN_BODY;
    s->body_at = s->w.tok.at;
    s->unsure |= s->old_style || s->ifs != s->w.ifs || s->w.tok.len == 2;
    s->function_brace = true;
}

/* Behind the parameters. Names here are attributes, macros, or K&R parameter declarations, of which
 * the semicolons do not end the declaration if a body follows. */
static void behind(struct scan *s)
{
    const struct kg_tok t = s->w.tok;
    if (s->w.paren > s->level || (is(s, ")") && s->w.paren == s->level)) {
        s->renames |= t.kind == KG_TOK_NAME && kg_tok_in(&s->w.lx, t, renaming);
        return;
    }
    if (is(s, "{") || is(s, "<%")) {
        begin_body(s);
        return;
    }
    bool abandons = is(s, "=") || is(s, "}") ||
                    (t.kind == KG_TOK_NUMBER && !kg_tok_is(&s->w.lx, s->w.prev, "[")) ||
                    (s->old_semicolon && (is(s, "(") || is(s, "=")));
    if (is(s, ";") && s->old_style) {
        s->old_semicolon = true;
    } else if (is(s, ";") || abandons) {
        s->static_prototype |= s->is_static && is(s, ";");
        end_declaration(s);
    } else if (is(s, ",") && !s->old_style) {
        s->state = IN_DECL;
    } else if (t.kind == KG_TOK_NAME) {
        static const char *const extra[] = {"__attribute__", "__attribute", NULL};
        bool attribute = kg_tok_in(&s->w.lx, t, extra);
        bool renames = kg_tok_in(&s->w.lx, t, renaming);
        s->renames |= renames;
        s->unsure |= attribute || renames;
        s->old_style |= !attribute && !renames;
    }
}

static void directive(struct scan *s)
{
    kg_macros_add(&s->macros, s->w.lx.text, s->w.tok, s->entry);
    struct kg_directive d;
    kg_directive_open(&d, s->w.lx.text, s->w.tok);
    if (kg_directive_is(&d, "pragma")) {
        struct kg_tok kind = kg_lex_next(&d.lx);
        bool symbol = kg_tok_is(&d.lx, kind, "weak") || kg_tok_is(&d.lx, kind, "redefine_extname");
        s->weak |= symbol && memmem(d.lx.text, d.lx.len, s->entry, strlen(s->entry)) != NULL;
    } else if (kg_directive_is(&d, "include")) {
        struct kg_tok file = kg_lex_next(&d.lx);
        bool own = file.kind == KG_TOK_STRING && !kg_tok_is(&d.lx, file, "\"kgops.h\"");
        s->out->certain &= !own;
    }
}

static void broken(struct scan *s)
{
    struct kg_survey *o = s->out;
    bool comment = s->w.lx.text[s->w.tok.at] == '/';
    int *line = comment ? &o->comment_line : &o->string_line;
    if (*line == 0 && s->w.ifs == 0) {
        *line = s->w.tok.line;
    }
}

static void token(struct scan *s)
{
    const struct kg_tok t = s->w.tok;
    if (t.kind == KG_TOK_DIRECTIVE) {
        directive(s);
        return;
    }
    if (t.kind == KG_TOK_BROKEN) {
        broken(s);
    }
    char first = s->w.lx.text[t.at];
    if (t.kind == KG_TOK_PUNCT && (first == '`' || first == '@' || first == '\\')) {
        s->out->dirty = true;
    }
    if (t.len == 2 && t.kind == KG_TOK_PUNCT &&
        (is(s, "<%") || is(s, "%>") || is(s, "<:") || is(s, ":>") || is(s, "??"))) {
        s->digraph = true;
    }
    if (s->w.brace > 0) {
        return;
    }
    if (s->state == IN_BODY) {
        end_body(s, true, t.at + t.len);
        end_declaration(s);
    } else if (s->state == AT_NAME) {
        at_name(s);
    } else if (s->state == IN_PARAMS) {
        s->state = is(s, ")") && s->w.paren == s->level ? BEHIND : IN_PARAMS;
    } else if (s->state == BEHIND) {
        behind(s);
    } else if (is(s, ";") || (is(s, "}") && s->function_brace)) {
        end_declaration(s);
    } else if (is(s, "{")) {
        if (s->w.prev.kind == KG_TOK_STRING && s->linkage_string) {
            end_declaration(s); /* extern "C" { */
            return;
        }
        s->function_brace = s->w.prev.len == 1 && s->w.lx.text[s->w.prev.at] == ')';
        s->static_doubt |= s->is_static; /* maybe a function's body, behind a macro */
    } else {
        declaration(s);
    }
}

static void survey(const char *text, size_t len, const char *entry, bool clean,
                   struct kg_survey *out)
{
    struct scan s;
    /* Blocks may be many and small: what is filled as it is used is not cleared. */
    size_t from = offsetof(struct scan, entry);
    memset((char *)&s + from, 0, offsetof(struct scan, macros.list) - from);
    memset(out, 0, sizeof *out);
    s.entry = entry;
    s.out = out;
    out->certain = true;
    kg_cwalk_init(&s.w, text, len);
    while (!(clean && out->dirty) && kg_cwalk_next(&s.w)) {
        token(&s);
    }
    if (s.state == IN_BODY || s.state == IN_PARAMS || (s.state == BEHIND && !s.old_semicolon)) {
        end_body(&s, false, len);
    }
    end_declaration(&s);
    s.weak |= s.macros.is_entry && out->kind == KG_DEF_NONE;
    if (s.weak && rank(out->kind) < rank(KG_DEF_UNSURE)) {
        out->kind = KG_DEF_UNSURE;
    }
    out->stray_line = s.w.stray_line;
    out->open_line = s.w.brace + s.w.step > 0 ? s.w.open_line : 0;
    out->certain &= !s.w.uneven && (s.macros.traits & KG_MACRO_UNBALANCED) == 0;
}

void kg_survey_c(const char *text, size_t len, const char *entry, struct kg_survey *out)
{
    survey(text, len, entry, false, out);
}

void kg_survey_c_clean(const char *text, size_t len, const char *entry, struct kg_survey *out)
{
    survey(text, len, entry, true, out);
}
