/* The macros of a C source that matter to the static check. */
#include "gym/reply/macros_c.h"

#include <string.h>

static uint64_t filter_bit(const char *name, size_t len)
{
    return UINT64_C(1) << (((unsigned char)name[0] * 7 + len) & 63);
}

static unsigned body_traits(struct kg_directive *d, const char *entry)
{
    unsigned traits = 0;
    int brace = 0;
    for (struct kg_tok t = kg_lex_next(&d->lx); t.kind != KG_TOK_END; t = kg_lex_next(&d->lx)) {
        if (t.kind == KG_TOK_NAME && kg_tok_is(&d->lx, t, entry)) {
            traits |= KG_MACRO_MENTIONS;
        } else if (t.kind == KG_TOK_PUNCT) {
            bool paste = kg_tok_is(&d->lx, t, "##") || kg_tok_is(&d->lx, t, "%:%:");
            traits |= paste ? KG_MACRO_PASTES : 0;
            brace += kg_tok_is(&d->lx, t, "{") || kg_tok_is(&d->lx, t, "<%");
            brace -= kg_tok_is(&d->lx, t, "}") || kg_tok_is(&d->lx, t, "%>");
        }
    }
    return traits | (brace != 0 ? KG_MACRO_UNBALANCED : 0);
}

void kg_macros_add(struct kg_macros *m, const char *text, struct kg_tok directive,
                   const char *entry)
{
    struct kg_directive d;
    kg_directive_open(&d, text, directive);
    if (!kg_directive_is(&d, "define")) {
        return;
    }
    struct kg_tok name = kg_lex_next(&d.lx);
    if (name.kind != KG_TOK_NAME) {
        return;
    }
    const char *spelled = d.lx.text + name.at;
    bool takes = d.lx.at < d.lx.len && d.lx.text[d.lx.at] == '(';
    m->is_entry |= kg_tok_is(&d.lx, name, entry);
    unsigned traits = KG_MACRO_KNOWN | (takes ? KG_MACRO_FUNCTION : 0) | body_traits(&d, entry);
    m->text = text;
    m->traits |= traits;
    m->seen |= filter_bit(spelled, name.len);
    if (m->n < KG_MACROS_MAX) {
        m->list[m->n++] = (struct kg_macro){(size_t)(spelled - text), name.len, traits};
    }
}

unsigned kg_macros_traits(const struct kg_macros *m, struct kg_tok name)
{
    bool all = m->n < KG_MACROS_MAX;
    if (name.kind != KG_TOK_NAME || m->n == 0 ||
        (all && (m->seen & filter_bit(m->text + name.at, name.len)) == 0)) {
        return 0;
    }
    for (int i = 0; i < m->n; i++) {
        const struct kg_macro *c = &m->list[i];
        if (c->len == name.len && memcmp(m->text + c->at, m->text + name.at, c->len) == 0) {
            return c->traits;
        }
    }
    return all ? 0 : m->traits;
}
