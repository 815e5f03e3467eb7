#include "lm/infer/pages.h"

#include <stdlib.h>

enum kg_code lm_pages_init(struct lm_pages *p, int n, struct kg_err *err)
{
    *p = (struct lm_pages){.n = n, .n_free = n};
    p->free = calloc((size_t)n, sizeof *p->free);
    p->users = calloc((size_t)n, sizeof *p->users);
    if (p->free == NULL || p->users == NULL) {
        lm_pages_deinit(p);
        return kg_fail_memory(err, KG_E_HOST, "pages: no memory");
    }
    for (int i = 0; i < n; i++) {
        p->free[i] = n - 1 - i;
    }
    return KG_OK;
}

void lm_pages_deinit(struct lm_pages *p)
{
    free(p->free);
    free(p->users);
    p->free = p->users = NULL;
}

int32_t lm_pages_take(struct lm_pages *p)
{
    if (p->n_free == 0) {
        return -1;
    }
    int32_t page = p->free[--p->n_free];
    p->users[page] = 1;
    return page;
}

void lm_pages_share(struct lm_pages *p, int32_t page)
{
    KG_ASSERT(p->users[page] > 0);
    p->users[page]++;
}

void lm_pages_drop(struct lm_pages *p, int32_t page)
{
    KG_ASSERT(p->users[page] > 0);
    if (--p->users[page] == 0) {
        p->free[p->n_free++] = page;
    }
}
