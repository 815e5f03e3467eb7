/* Other constants of a problem: smaller ones, or other shapes. */
#ifndef KG_GYM_TORCH_JUDGING_SHAPES_H
#define KG_GYM_TORCH_JUDGING_SHAPES_H

#include "gym/torch/torch.h"

/* What Triton's interpreter has to go through, in elements. */
uint64_t kg_tshapes_size(const struct kg_task_desc *d);
/* The instance gets constants that bring that down to most; KG_E_PROBLEM: none were found. */
enum kg_code kg_tshapes_tiny(struct kg_worker *w, struct kg_tinstance *s, int64_t most,
                             struct kg_err *err) KG_MUST_USE;
/* The instance gets another shape than base's that the problem takes, smaller or (grow) up to four
 * times as large; false: none was found. */
bool kg_tshapes_other(struct kg_worker *w, const struct kg_tinstance *base, struct kg_tinstance *s,
                      bool grow, struct kg_rng *rng);

#endif
