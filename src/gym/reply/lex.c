#include "gym/reply/lex.h"

#include <string.h>

#include "gym/reply/lex_private.h"

void kg_lex_init(struct kg_lexer *lx, enum kg_lang lang, const char *text, size_t len)
{
    memset(lx, 0, sizeof *lx);
    lx->text = text;
    lx->len = len;
    lx->line = 1;
    lx->lang = lang;
    lx->bol = true;
}

struct kg_tok kg_lex_next(struct kg_lexer *lx)
{
    return lx->lang == KG_LANG_C ? kg_lex_c_next(lx) : kg_lex_python_next(lx);
}

size_t kg_lex_splice(const char *text, size_t len, size_t at)
{
    if (at >= len || text[at] != '\\') {
        return 0;
    }
    size_t p = at + 1;
    while (p < len && (text[p] == ' ' || text[p] == '\t' || text[p] == '\r')) {
        p++;
    }
    return p < len && text[p] == '\n' ? p + 1 - at : 0;
}

bool kg_tok_is(const struct kg_lexer *lx, struct kg_tok t, const char *s)
{
    const char *p = lx->text + t.at;
    if (t.len == 0 || *p != *s) { /* most questions end here; no token begins with a splice */
        return false;
    }
    size_t n = strlen(s);
    if (t.len == n) {
        return memcmp(p, s, n) == 0;
    }
    if (t.len < n || lx->lang != KG_LANG_C || t.kind != KG_TOK_NAME) {
        return false;
    }
    size_t i = 0;
    for (size_t at = 0; at < t.len;) {
        size_t splice = kg_lex_splice(p, t.len, at);
        if (splice != 0) {
            at += splice;
        } else if (i < n && p[at] == s[i]) {
            i++;
            at++;
        } else {
            return false;
        }
    }
    return i == n;
}

bool kg_tok_in(const struct kg_lexer *lx, struct kg_tok t, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (kg_tok_is(lx, t, *list)) {
            return true;
        }
    }
    return false;
}

/* A name that is not in the text cannot be defined by it, unless a macro pastes it or a splice
 * cuts it: most of what the extractor looks at ends here. */
bool kg_lex_may_define(const char *text, size_t len, const char *entry)
{
    return memmem(text, len, entry, strlen(entry)) != NULL || memmem(text, len, "##", 2) != NULL ||
           memmem(text, len, "%:%:", 4) != NULL || memmem(text, len, "\\\n", 2) != NULL;
}

enum kg_defines kg_lex_defines(enum kg_lang lang, const char *text, size_t len, const char *entry)
{
    if (len == 0 || *entry == '\0' || !kg_lex_may_define(text, len, entry)) {
        return KG_DEF_NONE;
    }
    if (lang == KG_LANG_PYTHON) {
        struct kg_python_survey p;
        kg_survey_python(text, len, entry, &p);
        return p.kind;
    }
    struct kg_survey s;
    kg_survey_c(text, len, entry, &s);
    return s.kind;
}
