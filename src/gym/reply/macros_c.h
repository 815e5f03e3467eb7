/* The macros that a C text defines, as far as they matter to who defines the entry: names and what
 * their bodies could do. Internal to src/gym/reply. */
#ifndef KG_GYM_REPLY_MACROS_C_H
#define KG_GYM_REPLY_MACROS_C_H

#include "gym/reply/lex_private.h"

enum kg_macro_trait {
    KG_MACRO_FUNCTION = 1,   /* takes arguments */
    KG_MACRO_PASTES = 2,     /* holds ## */
    KG_MACRO_MENTIONS = 4,   /* its body names the entry */
    KG_MACRO_KNOWN = 16,     /* it is one */
    KG_MACRO_UNBALANCED = 8, /* its body changes the brace level */
};

#define KG_MACROS_MAX 128 /* with more, any name may be one */

struct kg_macros {
    const char *text;
    int n;
    uint64_t seen;   /* filter: one bit per first byte and length */
    unsigned traits; /* of all of them together */
    bool is_entry;   /* one has the entry's own name */
    struct kg_macro {
        size_t at, len;
        unsigned traits;
    } list[KG_MACROS_MAX]; /* the first n */
};

/* Reads one directive; anything but #define is ignored. */
void kg_macros_add(struct kg_macros *m, const char *text, struct kg_tok directive,
                   const char *entry);
unsigned kg_macros_traits(const struct kg_macros *m, struct kg_tok name); /* 0: no macro */

#endif
