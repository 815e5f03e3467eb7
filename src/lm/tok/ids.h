/* A growing list of token ids, with one byte beside each id: 1 if the loss counts it (a mask that
 * nobody needs stays 0). Owner: the caller. */
#ifndef KG_LM_TOK_IDS_H
#define KG_LM_TOK_IDS_H

#include "base/err.h"

struct lm_ids {
    int32_t *id;   /* [n] */
    uint8_t *mask; /* [n] */
    size_t n, cap;
    bool failed; /* memory ran out: later ids are missing */
};

void lm_ids_init(struct lm_ids *ids);
void lm_ids_deinit(struct lm_ids *ids); /* frees; may be initialised again */
void lm_ids_reset(struct lm_ids *ids);  /* n = 0, keeps memory */
/* Append n ids with mask 0. */
void lm_ids_add(struct lm_ids *ids, const int32_t *id, size_t n);
/* The mask of the ids from `from` on. */
void lm_ids_set_mask(struct lm_ids *ids, size_t from, bool counts);

#endif
