/* Lexers of C and of Python: just enough to know what is code, what is a comment, a string, a
 * directive, and whether a name is *defined* at file scope. They never fail: any bytes give tokens.
 * Used by the extractor and by the static check; regular expressions are not. Pure. */
#ifndef KG_GYM_REPLY_LEX_H
#define KG_GYM_REPLY_LEX_H

#include "base/err.h"

enum kg_lang { KG_LANG_C, KG_LANG_PYTHON };
/* The tag of a fenced block in this language: "c", "python". */
const char *kg_lang_tag(enum kg_lang lang);

enum kg_tok_kind {
    KG_TOK_END,
    KG_TOK_NAME,
    KG_TOK_NUMBER,
    KG_TOK_STRING,
    KG_TOK_CHAR,
    KG_TOK_PUNCT,
    KG_TOK_COMMENT,
    KG_TOK_DIRECTIVE, /* C: a whole logical line that begins with # */
    KG_TOK_NEWLINE,
    KG_TOK_INDENT,
    KG_TOK_DEDENT, /* Python */
    KG_TOK_BROKEN, /* an unterminated string or comment, up to the end of the text */
};

/* The order of the fields keeps the compiler from copying two of them at once: a wide load of what
 * was just stored in halves stalls, which was a third of all time in the walk over the tokens. */
struct kg_tok {
    enum kg_tok_kind kind;
    size_t at; /* in the text */
    int line;  /* 1-based, of its first byte */
    size_t len;
};

struct kg_lexer {
    const char *text;
    size_t len, at;
    int line;
    enum kg_lang lang;
    /* private */
    int depth, pending;
    int nindent;
    bool bol;
    int indent[64]; /* the first nindent */
};

void kg_lex_init(struct kg_lexer *lx, enum kg_lang lang, const char *text, size_t len);
struct kg_tok kg_lex_next(struct kg_lexer *lx); /* END for ever at the end */

/* Is the token of this kind and place, of which the first byte fits, the word s? */
bool kg_tok_spells(const struct kg_lexer *lx, enum kg_tok_kind kind, size_t at, size_t len,
                   const char *s);
/* Most questions end at the first byte: no token begins with a splice. */
static inline bool kg_tok_is(const struct kg_lexer *lx, struct kg_tok t, const char *s)
{
    return t.len != 0 && lx->text[t.at] == *s && kg_tok_spells(lx, t.kind, t.at, t.len, s);
}

enum kg_defines {
    KG_DEF_NONE,
    KG_DEF_PARTIAL, /* the definition begins, its body never ends */
    KG_DEF_STATIC,  /* C: defined without external linkage */
    KG_DEF_WHOLE,
    KG_DEF_UNSURE, /* macros, K&R, digraphs: the compiler must decide */
};
/* Does text define entry at file scope? C: a function with a body. Python: a class (or def). */
enum kg_defines kg_lex_defines(enum kg_lang lang, const char *text, size_t len, const char *entry);

#endif
