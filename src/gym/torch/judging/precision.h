/* What an answer is measured by, and which error a league allows. */
#ifndef KG_GYM_TORCH_JUDGING_PRECISION_H
#define KG_GYM_TORCH_JUDGING_PRECISION_H

#include "gym/torch/torch.h"

const char *kg_toracle_name(enum kg_toracle o); /* "none", "fp64", "fp32", "self" */
enum kg_toracle kg_tcase_oracle(const struct kg_tinstance *s, const struct kg_tcase *c);

/* Where the probe was asked in the league tf32: is the answer's error one that its products'
 * operands make, and not a narrower type's? True elsewhere. */
bool kg_tprecision_holds(const struct kg_worker *w, const struct kg_tcase *c,
                         const struct kg_dj_judgement *j);

#endif
