/* How general a right candidate is. */
#ifndef KG_GYM_TORCH_JUDGING_GRADE_H
#define KG_GYM_TORCH_JUDGING_GRADE_H

#include "gym/torch/torch.h"

/* shape_generality: the share of other shapes, `torch.shapes` of them, at which the candidate is
 * right too. A grade: the verdict stays, unless `torch.shapes_gate`. */
enum kg_stage_result kg_tshapes_grade(struct kg_evaluation *e, struct kg_err *err);

#endif
