/* From what became of a command, or of a comparison, to a verdict. */
#ifndef KG_GYM_TORCH_JUDGING_OUTCOME_H
#define KG_GYM_TORCH_JUDGING_OUTCOME_H

#include "gym/torch/torch.h"

/* ERROR, of the candidate's blame: what only a GPU shows was not judged. */
enum kg_stage_result kg_toutcome_needs_gpu(struct kg_err *err, const char *why);
/* From an answer that was no plain "done" to a command without data, or to one with data. FAIL: the
 * record has a verdict. ERROR: it needs a GPU. */
enum kg_stage_result kg_toutcome_command(struct kg_evaluation *e, enum kg_tcommand command,
                                         enum kg_stage stage, const struct kg_pyanswer *a,
                                         struct kg_err *err);
enum kg_stage_result kg_toutcome_call(struct kg_evaluation *e, enum kg_tcommand command,
                                      enum kg_stage stage, const struct kg_dj_report *rep,
                                      struct kg_err *err);
/* The candidate's text defines no module of the name that is asked for. */
void kg_toutcome_no_entry(struct kg_evaluation *e);
/* The reference's state does not go into the module: names the tensors of both sides. */
void kg_toutcome_params(struct kg_evaluation *e);
/* From what the judge saw round a call, and from its comparison. */
enum kg_stage_result kg_toutcome_case(struct kg_evaluation *e, const struct kg_tinstance *s,
                                      const struct kg_tcase *c, const struct kg_dj_report *rep,
                                      const struct kg_dj_judgement *j);
/* The answer is right, but not ready on its caller's stream when the call returns. */
enum kg_stage_result kg_toutcome_unordered(struct kg_evaluation *e, const struct kg_tinstance *s,
                                           const struct kg_tcase *c);
/* A call leaves an input that the reference writes to as neither it nor the caller had it. */
enum kg_stage_result kg_toutcome_written(struct kg_evaluation *e, const struct kg_tcase *c);
/* As kg_toutcome_case, of the state that a call has left. */
enum kg_stage_result kg_toutcome_state(struct kg_evaluation *e, const struct kg_tinstance *s,
                                       const struct kg_tcase *c, const struct kg_dj_report *rep,
                                       const struct kg_dj_judgement *j);

#endif
