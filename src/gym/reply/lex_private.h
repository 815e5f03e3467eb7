/* Internals that the lexers, the definition survey, the extractor and the static check share.
 * Nothing outside src/gym/reply includes this. Every function here is linear in its input and pure:
 * text is never copied, tokens are positions in it. */
#ifndef KG_GYM_REPLY_LEX_PRIVATE_H
#define KG_GYM_REPLY_LEX_PRIVATE_H

#include "gym/reply/lex.h"

void kg_lex_c_next(struct kg_lexer *lx, struct kg_tok *out);
struct kg_tok kg_lex_python_next(struct kg_lexer *lx);
/* Bytes of the line splice (backslash, blanks, newline) at position at, 0 if there is none. */
size_t kg_lex_splice_at(const char *text, size_t len, size_t at);
static inline size_t kg_lex_splice(const char *text, size_t len, size_t at)
{
    return at < len && text[at] == '\\' ? kg_lex_splice_at(text, len, at) : 0;
}

/* Is the token a name (or punctuation) of the list, which ends with NULL? */
static inline bool kg_tok_in(const struct kg_lexer *lx, struct kg_tok t, const char *const *list)
{
    char first = t.len != 0 ? lx->text[t.at] : '\0';
    for (; *list != NULL; list++) {
        if (first == **list && kg_tok_spells(lx, t.kind, t.at, t.len, *list)) {
            return true;
        }
    }
    return false;
}

/* Field by field: see struct kg_tok. */
static inline void kg_tok_copy(struct kg_tok *to, const struct kg_tok *from)
{
    to->kind = from->kind;
    to->at = from->at;
    to->line = from->line;
    to->len = from->len;
}

/* As memmem, for words of a few bytes and texts of which most are short too: memmem fills a table
 * of 256 bytes at each call. */
const char *kg_lex_find(const char *text, size_t len, const char *word);

/* What a byte can be in either language. */
enum {
    KG_BYTE_NAME = 1, /* begins a name */
    KG_BYTE_DIGIT = 2,
    KG_BYTE_SECOND = 4, /* second of a longer operator of C */
};
extern const uint8_t kg_lex_bytes[256];

static inline bool kg_lex_name_start(unsigned char c)
{
    return (kg_lex_bytes[c] & KG_BYTE_NAME) != 0;
}

static inline bool kg_lex_name_part(unsigned char c)
{
    return (kg_lex_bytes[c] & (KG_BYTE_NAME | KG_BYTE_DIGIT)) != 0;
}

#define KG_CWALK_IFS 64 /* deeper conditionals only lose the restoration at #else */

struct kg_clevel {
    int brace, paren, linkage;
};

/* C tokens without comments and without what stands inside `#if 0`, and where each stands.
 * At a `{` and at its `}` brace is the same: the level on which the pair stands. The braces of
 * `extern "C" {}` do not count. Each branch of an #if begins at the level of the #if. */
struct kg_cwalk {
    struct kg_lexer lx;
    struct kg_tok tok, prev, prev2;
    int brace, paren; /* level of tok; paren counts only while brace is 0 */
    int ifs;          /* conditionals around tok */
    bool uneven;      /* branches of one conditional ended at different levels */
    int stray_line;   /* first `}` that closes nothing, 0: none */
    int open_line;    /* the `{` on level 0 that was opened last */
    /* private */
    int linkage, step, paren_step, skip;
    struct kg_clevel saved[KG_CWALK_IFS]; /* the first ifs */
};

void kg_cwalk_init(struct kg_cwalk *w, const char *text, size_t len);
bool kg_cwalk_next(struct kg_cwalk *w); /* false at the end, when tok is END */

/* A directive taken apart: word is "define", "if", ... and rest what follows it. */
struct kg_directive {
    struct kg_lexer lx; /* over the directive's text; after the word */
    struct kg_tok word;
};
void kg_directive_open(struct kg_directive *d, const char *text, struct kg_tok directive);
bool kg_directive_is(const struct kg_directive *d, const char *word);

/* What a C text says about its entry, and what makes it certain to be refused. */
struct kg_survey {
    enum kg_defines kind;
    bool visible;             /* a body was seen: UNSURE of its form, not of its being there */
    int bodies;               /* definitions whose body closes, conditional ones included */
    int line, static_line;    /* of the first definition; of the first static one */
    int again_line;           /* of a second definition outside conditionals, 0: none */
    bool object;              /* declared at file scope as something else than a function */
    size_t body_at, body_end; /* of the first closed body, braces included */
    int stray_line;           /* a `}` that closes nothing */
    int open_line;            /* a `{` at file scope that nothing closes */
    int comment_line;         /* an unterminated comment */
    int string_line;          /* an unterminated string or character constant */
    bool dirty;               /* a character that stands in no C token */
    bool certain;             /* no macro, conditional or include can change the balance */
};
void kg_survey_c(const char *text, size_t len, const char *entry, struct kg_survey *out);
/* The same for who takes no dirty text: at the first such character it stops, and dirty alone
 * counts. */
void kg_survey_c_clean(const char *text, size_t len, const char *entry, struct kg_survey *out);

struct kg_python_survey {
    enum kg_defines kind;
    int bodies; /* definitions at top level */
    bool dirty; /* a character that stands in no Python token */
};
void kg_survey_python(const char *text, size_t len, const char *entry,
                      struct kg_python_survey *out);

/* False when the text surely defines no such name: fast. */
bool kg_lex_may_define(const char *text, size_t len, const char *entry);

/* Could the whole text be a file of this language? For replies without any block: prose is not. */
bool kg_lex_plausible(enum kg_lang lang, const char *text, size_t len);

#endif
