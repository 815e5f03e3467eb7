/* Walks over the tokens of a C source, with depth of braces and conditionals. */
#include <string.h>

#include "gym/reply/lex_private.h"

void kg_directive_open(struct kg_directive *d, const char *text, struct kg_tok directive)
{
    size_t sign = text[directive.at] == '#' ? 1 : 2; /* the digraph is %: */
    kg_lex_init(&d->lx, KG_LANG_C, text + directive.at + sign, directive.len - sign);
    d->lx.bol = false;
    do {
        d->word = kg_lex_next(&d->lx);
    } while (d->word.kind == KG_TOK_COMMENT);
}

bool kg_directive_is(const struct kg_directive *d, const char *word)
{
    return d->word.kind == KG_TOK_NAME && kg_tok_is(&d->lx, d->word, word);
}

/* `#if 0` alone: what follows is certainly not compiled. */
static bool is_if_zero(struct kg_directive *d)
{
    if (!kg_directive_is(d, "if")) {
        return false;
    }
    struct kg_tok value = kg_lex_next(&d->lx);
    struct kg_tok after = kg_lex_next(&d->lx);
    return value.kind == KG_TOK_NUMBER && kg_tok_is(&d->lx, value, "0") &&
           (after.kind == KG_TOK_END || after.kind == KG_TOK_COMMENT);
}

static void open_if(struct kg_cwalk *w)
{
    if (w->ifs < KG_CWALK_IFS) {
        w->saved[w->ifs] = (struct kg_clevel){w->brace, w->paren, w->linkage};
    }
    w->ifs++;
}

/* A new branch begins where the #if stood. */
static void next_branch(struct kg_cwalk *w)
{
    if (w->ifs == 0 || w->ifs > KG_CWALK_IFS) {
        return;
    }
    struct kg_clevel at = w->saved[w->ifs - 1];
    w->uneven |= at.brace != w->brace;
    w->brace = at.brace;
    w->paren = at.paren;
    w->linkage = at.linkage;
}

static void conditional(struct kg_cwalk *w, struct kg_tok t)
{
    struct kg_directive d;
    kg_directive_open(&d, w->lx.text, t);
    bool opens =
        kg_directive_is(&d, "if") || kg_directive_is(&d, "ifdef") || kg_directive_is(&d, "ifndef");
    bool branch = kg_directive_is(&d, "else") || kg_directive_is(&d, "elif") ||
                  kg_directive_is(&d, "elifdef") || kg_directive_is(&d, "elifndef");
    bool closes = kg_directive_is(&d, "endif");
    if (w->skip > 0) {
        w->skip += opens;
        w->skip -= closes || (branch && w->skip == 1);
        if (w->skip == 0 && closes) {
            w->ifs--;
        }
    } else if (opens) {
        open_if(w);
        w->skip = is_if_zero(&d);
    } else if (branch) {
        next_branch(w);
    } else if (closes && w->ifs > 0) {
        if (w->ifs <= KG_CWALK_IFS) {
            struct kg_clevel at = w->saved[w->ifs - 1];
            w->uneven |= at.brace != w->brace;
        }
        w->ifs--;
    }
}

void kg_cwalk_init(struct kg_cwalk *w, const char *text, size_t len)
{
    memset(w, 0, offsetof(struct kg_cwalk, saved));
    kg_lex_init(&w->lx, KG_LANG_C, text, len);
}

static void open_brace(struct kg_cwalk *w)
{
    bool linkage = w->brace == 0 && w->prev.kind == KG_TOK_STRING && w->prev2.kind == KG_TOK_NAME &&
                   kg_tok_is(&w->lx, w->prev2, "extern");
    if (linkage) {
        w->linkage++;
        return;
    }
    if (w->brace == 0) {
        w->open_line = w->tok.line;
    }
    w->step = 1;
}

static void close_brace(struct kg_cwalk *w)
{
    if (w->brace > 0) {
        w->brace--;
    } else if (w->linkage > 0) {
        w->linkage--;
    } else if (w->ifs > 0) {
        w->uneven = true; /* its other half may stand under a condition like this one */
    } else if (w->stray_line == 0) {
        w->stray_line = w->tok.line;
    }
}

static void punctuation(struct kg_cwalk *w)
{
    char c = w->lx.text[w->tok.at];
    bool two = w->tok.len == 2;
    if ((c == '{' && !two) || (two && kg_tok_is(&w->lx, w->tok, "<%"))) {
        open_brace(w);
    } else if ((c == '}' && !two) || (two && kg_tok_is(&w->lx, w->tok, "%>"))) {
        close_brace(w);
    } else if (w->brace == 0 && c == '(') {
        w->paren_step = 1;
    } else if (w->brace == 0 && c == ')' && w->paren > 0) {
        w->paren--;
    } else if (w->brace == 0 && c == ';') {
        w->paren = 0; /* no file-scope parenthesis holds one: a stray ( must not hide the rest */
    }
}

bool kg_cwalk_next(struct kg_cwalk *w)
{
    w->brace += w->step;
    w->paren += w->paren_step;
    w->step = w->paren_step = 0;
    if (w->tok.len > 0 && w->tok.kind != KG_TOK_DIRECTIVE) {
        kg_tok_copy(&w->prev2, &w->prev);
        kg_tok_copy(&w->prev, &w->tok);
    }
    for (;;) {
        kg_lex_c_next(&w->lx, &w->tok);
        if (w->tok.kind == KG_TOK_END) {
            return false;
        }
        if (w->tok.kind == KG_TOK_DIRECTIVE) {
            conditional(w, w->tok);
        }
        if (w->skip == 0 && w->tok.kind != KG_TOK_COMMENT) {
            break;
        }
    }
    if (w->tok.kind == KG_TOK_PUNCT) {
        punctuation(w);
    }
    return true;
}
