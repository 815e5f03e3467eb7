#include "gym/reply/extract.h"

#include <string.h>

static struct kg_tok next_code(struct kg_lexer *lx)
{
    struct kg_tok t;
    do {
        t = kg_lex_next(lx);
    } while (t.kind == KG_TOK_COMMENT);
    return t;
}

void kg_extract_mark_demo(struct kg_extract *x, enum kg_lang lang, const char *demo, size_t len)
{
    if (!x->found) {
        return;
    }
    struct kg_lexer a, b;
    kg_lex_init(&a, lang, x->code, x->bytes);
    kg_lex_init(&b, lang, demo, len);
    struct kg_tok s, t;
    do {
        s = next_code(&a);
        t = next_code(&b);
        if (s.kind != t.kind || s.len != t.len ||
            memcmp(a.text + s.at, b.text + t.at, s.len) != 0) {
            return;
        }
    } while (s.kind != KG_TOK_END);
    x->flags |= KG_XF_DEMO;
}
