#include <string.h>

#include "gym/reply/fences.h"

void kg_fence_probe_init(struct kg_fence_probe *p, enum kg_lang lang, struct kg_slice text,
                         size_t at)
{
    p->last = (struct kg_tok){.kind = KG_TOK_END};
    p->asked = 0;
    kg_lex_init(&p->lx, lang, text.at, at);
    p->lx.at = at;
}

/* Only these may hold a newline, and so a fence line. */
static bool spans_lines(const struct kg_lexer *lx, struct kg_tok t)
{
    const char *s = lx->text + t.at;
    if (lx->lang == KG_LANG_C) {
        return t.len >= 2 && (memcmp(s, "/*", 2) == 0 || memchr("RuUL", *s, 4) != NULL);
    }
    size_t i = 0;
    while (i < t.len && s[i] != '"' && s[i] != '\'') {
        i++;
    }
    return i + 2 < t.len && s[i] == s[i + 1] && s[i] == s[i + 2];
}

bool kg_fence_probe_inside(struct kg_fence_probe *p, size_t at)
{
    if (p->asked++ >= KG_FENCE_PROBES) {
        return false;
    }
    if (p->last.kind == KG_TOK_BROKEN) {
        p->lx.at = p->last.at; /* it may end now that there is more text */
    }
    p->lx.len = at;
    struct kg_tok t;
    p->last = (struct kg_tok){.kind = KG_TOK_END};
    while ((t = kg_lex_next(&p->lx)).kind != KG_TOK_END) {
        if (t.len > 0) {
            kg_tok_copy(&p->last, &t);
        }
    }
    return p->last.kind == KG_TOK_BROKEN && p->last.at + p->last.len == at &&
           spans_lines(&p->lx, p->last);
}
