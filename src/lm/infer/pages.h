/* Which pages of keys and values are in use, and by how many sequences. A full page may be shared;
 * a page that is written has one user. Not thread safe. */
#ifndef KG_LM_INFER_PAGES_H
#define KG_LM_INFER_PAGES_H

#include "base/err.h"

struct lm_pages {
    int n, n_free;
    int32_t *free;  /* [n] a stack */
    int32_t *users; /* [n] */
};

/* Errors: KG_E_HOST. */
enum kg_code lm_pages_init(struct lm_pages *p, int n, struct kg_err *err) KG_MUST_USE;
void lm_pages_deinit(struct lm_pages *p);
int32_t lm_pages_take(struct lm_pages *p); /* with one user; -1: there is none */
void lm_pages_share(struct lm_pages *p, int32_t page);
void lm_pages_drop(struct lm_pages *p, int32_t page);

#endif
