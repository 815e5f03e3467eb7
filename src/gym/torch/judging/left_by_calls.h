/* What a call of a candidate leaves besides its answer, compared with what the reference's left.
 * Refuses state and inputs that differ; it is asked right after the call, in the same process. Like
 * the answer these are read from the runner, so they are claims that can only worsen a verdict.
 * The case owns what it is compared with. One thread: the worker's. */
#ifndef KG_GYM_TORCH_JUDGING_LEFT_BY_CALLS_H
#define KG_GYM_TORCH_JUDGING_LEFT_BY_CALLS_H

#include "gym/torch/torch.h"

/* The state that a call has left, where the reference's calls change theirs. PASS where they do
 * not. State that is wrong makes it ask the reference four times, rounding otherwise; once where
 * nothing chooses. */
enum kg_stage_result kg_tleft_state(struct kg_evaluation *e, struct kg_tinstance *s,
                                    struct kg_tcase *c, enum kg_stage stage, struct kg_err *err);
/* The inputs that the reference writes to. A candidate may write to them as the reference does, or
 * leave all of them as they were. PASS where it writes to none. */
enum kg_stage_result kg_tleft_inputs(struct kg_evaluation *e, const struct kg_tcase *c,
                                     enum kg_stage stage, struct kg_err *err);

#endif
