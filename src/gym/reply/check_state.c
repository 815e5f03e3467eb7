/* Declarations, as far as rules need them: variables that outlive a call, functions defined at file
 * scope, and where remembered variables are compared or counted. */
#include <string.h>

#include "gym/reply/check_private.h"

bool kg_check_is_state(const struct kg_check *c, struct kg_tok t, bool pointer)
{
    if (t.kind != KG_TOK_NAME || c->lx != &c->w.lx) {
        return false;
    }
    for (int i = 0; i < c->nstate; i++) {
        const struct kg_check_var *v = &c->state[i];
        if (v->pointer == pointer && v->len == t.len &&
            memcmp(c->text + v->at, c->text + t.at, t.len) == 0) {
            return true;
        }
    }
    return false;
}

static void reset(struct kg_check *c)
{
    memset(&c->decl, 0, sizeof c->decl);
}

/* The declarator is complete: is it a variable that can change and outlives the call? */
static void object(struct kg_check *c)
{
    const struct kg_check_decl *d = &c->decl;
    bool lives = d->is_static || (c->w.brace == 0 && d->names > 1);
    bool changes = d->star ? !d->star_const : !d->is_const;
    if (d->skip || d->name.len == 0 || !lives || !changes) {
        return;
    }
    if (c->nstate < KG_CHECK_STATE) {
        c->state[c->nstate++] = (struct kg_check_var){d->name.at, d->name.len, d->star};
    }
    struct kg_tok tok = c->tok;
    c->tok = d->name;
    c->line = d->name.line;
    kg_check_ask(c, KG_AT_STATE);
    c->tok = tok;
    c->line = tok.line;
}

static void function(struct kg_check *c)
{
    struct kg_tok tok = c->tok;
    c->tok = c->decl.name;
    c->line = c->decl.name.line;
    kg_check_ask_word(c, KG_AT_DEFINED);
    c->tok = tok;
    c->line = tok.line;
}

static void name(struct kg_check *c)
{
    static const char *const none[] = {"typedef", "extern", "return", "goto", "case", NULL};
    static const char *const never[] = {"volatile", "restrict", "__restrict", "register",
                                        "struct",   "union",    "enum",       NULL};
    static const char *const quiet[] = {"unsigned", "signed", NULL}; /* behind another word */
    struct kg_check_decl *d = &c->decl;
    if (kg_tok_is(c->lx, c->tok, "static")) {
        d->is_static = true;
    } else if (kg_tok_is(c->lx, c->tok, "const")) {
        d->is_const |= !d->star;
        d->star_const |= d->star;
    } else if (kg_tok_in(c->lx, c->tok, none)) {
        d->skip = true;
    } else if (!kg_tok_in(c->lx, c->tok, never) &&
               (d->names == 0 || !kg_tok_in(c->lx, c->tok, quiet))) {
        d->names++;
        d->name = c->tok;
    }
}

static void punctuation(struct kg_check *c, char p)
{
    struct kg_check_decl *d = &c->decl;
    if (p == '*') {
        d->star = true;
        d->star_const = false;
    } else if (p == '(' && c->paren == 1) {
        d->function = d->names > 0;
    } else if ((p == '=' || p == ';' || p == ',' || p == '[') && !d->function) {
        object(c);
        d->skip |= p != ','; /* dimensions and initialisers are no declarators */
        d->star = p == ',' ? false : d->star;
    }
    if (p == '{' && c->w.brace == 0 && d->function) {
        function(c);
    }
    if (p == ';' || p == '{' || p == '}') {
        reset(c);
    }
}

static void steps(struct kg_check *c)
{
    bool step = kg_tok_is(c->lx, c->tok, "++") || kg_tok_is(c->lx, c->tok, "--");
    if (step && c->w.prev.kind == KG_TOK_NAME) {
        struct kg_tok tok = c->tok;
        c->tok = c->w.prev;
        kg_check_ask(c, KG_AT_STEP);
        c->tok = tok;
    }
}

void kg_check_declaration(struct kg_check *c)
{
    if (c->attribute_level > 0 || c->attribute_next || c->asm_level > 0) {
        return;
    }
    const struct kg_tok t = c->tok;
    const struct kg_tok prev = c->w.prev;
    if (t.kind == KG_TOK_NAME) {
        bool compared =
            prev.len == 2 && (kg_tok_is(c->lx, prev, "==") || kg_tok_is(c->lx, prev, "!="));
        bool stepped =
            prev.len == 2 && (kg_tok_is(c->lx, prev, "++") || kg_tok_is(c->lx, prev, "--"));
        if (compared || stepped) {
            kg_check_ask(c, compared ? KG_AT_COMPARE : KG_AT_STEP);
        }
        if (c->paren == 0 && !c->decl.skip) {
            name(c);
        }
    } else if (t.kind == KG_TOK_PUNCT) {
        steps(c);
        if (t.len == 1 && (c->paren == 0 || (c->paren == 1 && c->lx->text[t.at] == '('))) {
            punctuation(c, c->lx->text[t.at]);
        }
    }
}
