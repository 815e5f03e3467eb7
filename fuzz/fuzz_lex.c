/* Lexers: tokens never overlap or go back, cover all that is no blank, count lines, and end; a
 * definition does not depend on bytes behind the text. First byte: the language. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gym/reply/lex.h"

static void check_tokens(enum kg_lang lang, const char *text, size_t n)
{
    struct kg_lexer lx;
    kg_lex_init(&lx, lang, text, n);
    size_t end = 0, tokens = 0;
    int line = 1;
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END; t = kg_lex_next(&lx)) {
        KG_ASSERT(t.at >= end && t.at <= n && t.len <= n - t.at);
        for (; end < t.at; end++) {
            KG_ASSERT(memchr(" \t\n\v\f\r\\\0", text[end], 8) != NULL);
            line += text[end] == '\n';
        }
        KG_ASSERT(t.line == line);
        for (; end < t.at + t.len; end++) {
            line += text[end] == '\n';
        }
        KG_ASSERT(++tokens <= 3 * n + 200);
    }
    KG_ASSERT(kg_lex_next(&lx).kind == KG_TOK_END);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    enum kg_lang lang = (data[0] & 1) != 0 ? KG_LANG_PYTHON : KG_LANG_C;
    const char *entry = lang == KG_LANG_C ? "relu" : "ModelNew";
    size_t n = size - 1;
    /* An exact copy, so that reading behind the text is seen. */
    char *text = malloc(n > 0 ? n : 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data + 1, n);
    check_tokens(lang, text, n);
    enum kg_defines a = kg_lex_defines(lang, text, n, entry);
    enum kg_defines b = kg_lex_defines(lang, (const char *)data + 1, n, entry);
    KG_ASSERT(a == b && a <= KG_DEF_UNSURE);
    free(text);
    return 0;
}
