/* The tensor table of a configuration. */
#ifndef KG_LM_MODEL_NAMES_H
#define KG_LM_MODEL_NAMES_H

#include "lm/model/model.h"

extern const char *const lm_part_names[LM_PARTS]; /* "self_attn.q_proj", ... */

/* Fills t [lm_names_count()] with names and shapes, in order; data stays NULL. Returns the numbers
 * of all together. */
size_t lm_names_fill(const struct lm_config *c, struct lm_tensor *t);
int lm_names_count(const struct lm_config *c);

#endif
