/* What a candidate's compilers make, kept between evaluations. */
#ifndef KG_GYM_TORCH_RUNNER_BUILD_CACHE_H
#define KG_GYM_TORCH_RUNNER_BUILD_CACHE_H

#include "gym/torch/torch.h"

/* Where the evaluation finds and keeps it; before its first runner. */
void kg_tbuilds_open(struct kg_evaluation *e);
/* Into the /tmp of the candidate's runner, which holds no code yet. */
void kg_tbuilds_restore(struct kg_evaluation *e);
/* A descriptor of that /tmp, which outlives the runner; -1: the stage compile has not passed, the
 * runner is at work or dead, or something is kept already. */
int kg_tbuilds_hold(const struct kg_evaluation *e);
/* From there, when the runner has ended; takes the descriptor. A cache that fails costs time only.
 */
void kg_tbuilds_keep(struct kg_evaluation *e, int tmp);

#endif
