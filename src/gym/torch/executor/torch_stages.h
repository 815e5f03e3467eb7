/* The stages up to the full run: PASS, FAIL (the record has a verdict), ERROR (*err filled). */
#ifndef KG_GYM_TORCH_EXECUTOR_TORCH_STAGES_H
#define KG_GYM_TORCH_EXECUTOR_TORCH_STAGES_H

#include "gym/torch/torch.h"

enum kg_stage_result kg_tstage_static(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_tstage_compile(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_tstage_tiny(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_tstage_full(struct kg_evaluation *e, struct kg_err *err);

#endif
