/* Stage profile. */
#ifndef KG_GYM_TORCH_PROFILE_STAGE_PROFILE_H
#define KG_GYM_TORCH_PROFILE_STAGE_PROFILE_H

#include "gym/torch/torch.h"

enum kg_stage_result kg_tstage_profile(struct kg_evaluation *e, struct kg_err *err);

#endif
