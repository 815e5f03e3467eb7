/* Internals of the static check: one walk over the tokens that keeps just enough context, and asks
 * the rules of the table at each site. */
#ifndef KG_GYM_REPLY_CHECK_PRIVATE_H
#define KG_GYM_REPLY_CHECK_PRIVATE_H

#include "gym/reply/check.h"
#include "gym/reply/lex_private.h"

#define KG_CHECK_FINDINGS 128 /* kept while checking */
#define KG_CHECK_PER_RULE 3   /* one rule must not hide the others */
#define KG_CHECK_RULES    64
#define KG_CHECK_WORDS    320
#define KG_CHECK_STATE    32 /* variables that outlive a call, remembered by name */

struct kg_check_word {
    const char *word;
    uint8_t len, rule;
    bool prefix;
    int16_t next; /* of the same first byte, -1: none */
};

struct kg_check {
    const char *text, *entry;
    size_t len;
    struct kg_survey survey;
    struct kg_cwalk w;
    /* the site at hand */
    const struct kg_lexer *lx; /* of tok: the walk's, or that of a macro's body */
    struct kg_tok tok, prev;
    int line; /* the finding's; rules of the whole file set it */
    bool in_macro;
    /* context */
    int paren, asm_level, attribute_level; /* parentheses open; level of the group, 0: outside */
    bool asm_next, attribute_next;
    int numbers; /* in the initialiser or body at hand, in a row */
    int numbers_line, most_numbers, most_numbers_line;
    bool real_is_defined;
    /* the declaration at hand */
    struct kg_check_decl {
        bool is_static, skip, is_const, star, star_const, function;
        int names;
        struct kg_tok name;
    } decl;
    struct kg_check_var {
        size_t at, len;
        bool pointer;
    } state[KG_CHECK_STATE];
    int nstate;
    /* findings */
    struct kg_finding list[KG_CHECK_FINDINGS];
    int n;
    uint8_t fired[KG_CHECK_RULES];
    /* rules by site */
    uint8_t sites[KG_AT_STEP + 1][KG_CHECK_RULES], nsites[KG_AT_STEP + 1];
    /* words by first byte */
    int16_t first[128];
    struct kg_check_word words[KG_CHECK_WORDS];
};

/* Ask every rule of this site; at a name or definition only those with the word. */
void kg_check_ask(struct kg_check *c, enum kg_check_site at);
void kg_check_ask_word(struct kg_check *c, enum kg_check_site at);

/* check_state.c: follows declarations; asks KG_AT_STATE, _DEFINED, _COMPARE and _STEP. */
void kg_check_declaration(struct kg_check *c);
bool kg_check_is_state(const struct kg_check *c, struct kg_tok t, bool pointer);

/* check_when.c: the predicates. */
bool kg_when_always(struct kg_check *c);
bool kg_when_call(struct kg_check *c);
bool kg_when_use(struct kg_check *c);
bool kg_when_attribute(struct kg_check *c);
bool kg_when_external(struct kg_check *c);
bool kg_when_asm_syscall(struct kg_check *c);
bool kg_when_asm_incbin(struct kg_check *c);
bool kg_when_init_section(struct kg_check *c);
bool kg_when_system_path(struct kg_check *c);
bool kg_when_fast_math(struct kg_check *c);
bool kg_when_fast_math_pragma(struct kg_check *c);
bool kg_when_optimize_pragma(struct kg_check *c);
bool kg_when_openmp(struct kg_check *c);
bool kg_when_include_path(struct kg_check *c);
bool kg_when_token_paste(struct kg_check *c);
bool kg_when_real_type(struct kg_check *c);
bool kg_when_pointer_memo(struct kg_check *c);
bool kg_when_call_counter(struct kg_check *c);

/* check_file.c: predicates on the file as a whole. */
bool kg_when_entry_missing(struct kg_check *c);
bool kg_when_entry_static(struct kg_check *c);
bool kg_when_entry_unclosed(struct kg_check *c);
bool kg_when_entry_twice(struct kg_check *c);
bool kg_when_brace_unclosed(struct kg_check *c);
bool kg_when_brace_stray(struct kg_check *c);
bool kg_when_comment_unterminated(struct kg_check *c);
bool kg_when_string_unterminated(struct kg_check *c);
bool kg_when_empty_body(struct kg_check *c);
bool kg_when_opaque_data(struct kg_check *c);

#endif
