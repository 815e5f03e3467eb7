/* What a judge without a GPU may say of a candidate with kernels. Triton's are interpreted, at a
 * shape that was made smaller where the problem is large; CUDA's do not run at all. So `ok` needs
 * an answer at the published shape, and kernels that have run. What cannot be told is the error
 * `needs_gpu`, of the candidate's blame. */
#ifndef KG_GYM_TORCH_JUDGING_INTERPRETED_H
#define KG_GYM_TORCH_JUDGING_INTERPRETED_H

#include "gym/torch/torch.h"

/* A problem is interpreted at its published shape up to so many times the tiny size: 4 million
 * elements, which take the interpreter seconds in blocks of 1024. */
#define KG_INTERPRETED_MOST 256

/* Right in all that was asked of it. PASS: its kernels have run, and the published shape was asked,
 * too, and is right. FAIL: wrong there. ERROR: it needs a GPU; or another error. */
enum kg_stage_result kg_tinterpreted_passed(struct kg_evaluation *e, struct kg_err *err);
/* Failed, and the record has its verdict. FAIL: it stays. ERROR: it failed at the smaller shape
 * only, or it is written for the published one, which cannot be asked: it needs a GPU. */
enum kg_stage_result kg_tinterpreted_failed(struct kg_evaluation *e, struct kg_err *err);

#endif
