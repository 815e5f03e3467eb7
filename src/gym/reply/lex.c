/* Helpers for both lexers, and the test whether text defines an entry. */
#include "gym/reply/lex.h"

#include <string.h>

#include "gym/reply/lex_private.h"

const char *kg_lang_tag(enum kg_lang lang)
{
    static const char *const tags[] = {[KG_LANG_C] = "c", [KG_LANG_PYTHON] = "python"};
    return tags[lang];
}

void kg_lex_init(struct kg_lexer *lx, enum kg_lang lang, const char *text, size_t len)
{
    memset(lx, 0, offsetof(struct kg_lexer, indent));
    lx->text = text;
    lx->len = len;
    lx->line = 1;
    lx->lang = lang;
    lx->bol = true;
}

struct kg_tok kg_lex_next(struct kg_lexer *lx)
{
    struct kg_tok t;
    if (lx->lang == KG_LANG_C) {
        kg_lex_c_next(lx, &t);
    } else {
        t = kg_lex_python_next(lx);
    }
    return t;
}

const uint8_t kg_lex_bytes[256] = {
    ['a' ... 'z'] = KG_BYTE_NAME, ['A' ... 'Z'] = KG_BYTE_NAME,   ['_'] = KG_BYTE_NAME,
    ['$'] = KG_BYTE_NAME,         [0x80 ... 0xff] = KG_BYTE_NAME, ['0' ... '9'] = KG_BYTE_DIGIT,
    ['%'] = KG_BYTE_SECOND,       [':'] = KG_BYTE_SECOND,         ['.'] = KG_BYTE_SECOND,
    ['<'] = KG_BYTE_SECOND,       ['>'] = KG_BYTE_SECOND,         ['='] = KG_BYTE_SECOND,
    ['-'] = KG_BYTE_SECOND,       ['+'] = KG_BYTE_SECOND,         ['&'] = KG_BYTE_SECOND,
    ['|'] = KG_BYTE_SECOND,       ['#'] = KG_BYTE_SECOND,         ['?'] = KG_BYTE_SECOND,
};

size_t kg_lex_splice_at(const char *text, size_t len, size_t at)
{
    size_t p = at + 1;
    while (p < len && (text[p] == ' ' || text[p] == '\t' || text[p] == '\r')) {
        p++;
    }
    return p < len && text[p] == '\n' ? p + 1 - at : 0;
}

bool kg_tok_spells(const struct kg_lexer *lx, enum kg_tok_kind kind, size_t at, size_t len,
                   const char *s)
{
    const char *p = lx->text + at;
    bool splices = kind == KG_TOK_NAME && lx->lang == KG_LANG_C;
    size_t i = 0;
    for (size_t k = 0; k < len;) {
        size_t splice = splices ? kg_lex_splice(p, len, k) : 0;
        if (splice != 0) {
            k += splice;
        } else if (p[k] == s[i] && s[i] != '\0') {
            i++;
            k++;
        } else {
            return false;
        }
    }
    return s[i] == '\0';
}

const char *kg_lex_find(const char *text, size_t len, const char *word)
{
    size_t n = strlen(word);
    if (n == 0) {
        return text;
    }
    const char *end = text + len;
    while ((size_t)(end - text) >= n) {
        text = memchr(text, *word, (size_t)(end - text) - n + 1);
        if (text == NULL || memcmp(text, word, n) == 0) {
            return text;
        }
        text++;
    }
    return NULL;
}

/* A name that is not in the text cannot be defined by it, unless a macro pastes it or a splice
 * cuts it: most of what the extractor looks at ends here. */
bool kg_lex_may_define(const char *text, size_t len, const char *entry)
{
    return kg_lex_find(text, len, entry) != NULL || kg_lex_find(text, len, "##") != NULL ||
           kg_lex_find(text, len, "%:%:") != NULL || kg_lex_find(text, len, "\\\n") != NULL;
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
