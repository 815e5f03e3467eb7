/* The candidate's runner in the stages, and what it is asked. */
#ifndef KG_GYM_TORCH_JUDGING_TORCH_CANDIDATE_H
#define KG_GYM_TORCH_JUDGING_TORCH_CANDIDATE_H

#include "gym/torch/runner/spare_runner.h"

enum kg_stage_result kg_tcandidate_start(struct kg_evaluation *e, struct kg_tinstance *s,
                                         enum kg_stage stage, struct kg_err *err);
/* The same, with the first set of parameters whatever it has been asked before. */
enum kg_stage_result kg_tcandidate_again(struct kg_evaluation *e, struct kg_tinstance *s,
                                         enum kg_stage stage, struct kg_err *err);
void kg_tcandidate_stop(struct kg_evaluation *e);
/* The same in two: until kg_tspare_followed() the next one's context is made (kg_tspare_follow). */
void kg_tcandidate_leave(struct kg_evaluation *e);
/* While it is not called, its process and all that it started are stopped, so that nothing of it
 * takes time from the reference or the judge. On a GPU only if it works then (kg_pyrunner_rest).
 * Commands wake it by themselves, but for those that are sent through kg_dj_run directly. */
void kg_tcandidate_rest(struct kg_evaluation *e);
void kg_tcandidate_wake(struct kg_evaluation *e);
/* Until when a call may take, the first at a shape longer. */
int64_t kg_tcandidate_deadline(const struct kg_evaluation *e);
/* One command with data; a candidate that did not do it has a verdict, and is stopped. */
enum kg_stage_result kg_tcandidate_ask(struct kg_evaluation *e, const struct kg_dj_call *call,
                                       enum kg_stage stage, struct kg_dj_report *rep,
                                       struct kg_err *err);
enum kg_stage_result kg_tcandidate_load(struct kg_evaluation *e, int set, enum kg_stage stage,
                                        struct kg_err *err);
/* State that a case of the law wants: another set of parameters, or the same afresh where calls
 * change it. */
enum kg_stage_result kg_tcandidate_state(struct kg_evaluation *e, const struct kg_tinstance *s,
                                         enum kg_tlaw law, enum kg_stage stage, struct kg_err *err);
/* Inputs of a law, ready in the judge until the next ones are: memory may suffice for one. The time
 * is not charged to the candidate. A reference that is late beside the candidate, or lacks memory
 * there, is asked again when that has been stopped. */
enum kg_code kg_tcandidate_inputs(struct kg_evaluation *e, struct kg_tinstance *s, enum kg_tlaw law,
                                  struct kg_tcase **c, struct kg_err *err) KG_MUST_USE;
/* One case through candidate and judge. */
enum kg_stage_result kg_tcandidate_case(struct kg_evaluation *e, struct kg_tinstance *s,
                                        enum kg_tlaw law, enum kg_stage stage, struct kg_err *err);

#endif
