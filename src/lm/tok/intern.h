/* Byte strings by number: each different string gets the next number, 0, 1, 2, ... Owner: the
 * caller. Not thread safe. */
#ifndef KG_LM_TOK_INTERN_H
#define KG_LM_TOK_INTERN_H

#include "base/buf.h"

struct lm_intern {
    struct kg_buf bytes; /* all strings, one after the other */
    size_t *end;         /* [n]: string i is bytes end[i-1]..end[i] */
    uint32_t *slot;      /* number + 1; 0: free */
    size_t n, cap, slots;
};

/* max_bytes: of all strings together. */
void lm_intern_init(struct lm_intern *t, size_t max_bytes);
void lm_intern_deinit(struct lm_intern *t);
/* The number of a string, which is added if it is new; SIZE_MAX: memory, or max_bytes reached. */
size_t lm_intern_put(struct lm_intern *t, const char *bytes, size_t len);
const char *lm_intern_get(const struct lm_intern *t, size_t i, size_t *len);

#endif
