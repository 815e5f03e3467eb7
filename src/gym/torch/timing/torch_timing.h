/* Stage timing. */
#ifndef KG_GYM_TORCH_TIMING_TORCH_TIMING_H
#define KG_GYM_TORCH_TIMING_TORCH_TIMING_H

#include "gym/torch/torch.h"

enum kg_stage_result kg_tstage_timing(struct kg_evaluation *e, struct kg_err *err);
/* Before a worker's first candidate of an instance is there, what timing would have to end its
 * process for: how long the judge's copies take on a quiet device. Where that fails, timing says
 * why. */
void kg_tstage_timing_ahead(struct kg_evaluation *e, struct kg_tinstance *instance);

#endif
