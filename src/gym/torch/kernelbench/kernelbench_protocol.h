/* KernelBench's own procedure, so that its numbers can be had beside the gym's: parameters by equal
 * seeds, trials on its inputs under its seeds, closeness under its tolerance, and times that the
 * timed processes take of themselves. Isolation, and who compares, are the gym's; a runner is told
 * by `compat` to run modules as that project does. Nothing that comes of it is rewarded.
 * docs/kernelbench.md says where it differs from that project all the same.
 * Source: KernelBench 423217d, src/kernelbench/eval.py and timing.py. */
#ifndef KG_GYM_TORCH_KERNELBENCH_KERNELBENCH_PROTOCOL_H
#define KG_GYM_TORCH_KERNELBENCH_KERNELBENCH_PROTOCOL_H

#include "gym/torch/torch.h"

#define KG_TKB_SEED 42 /* of parameters, trials and timed inputs */

/* The stages full and timing under that protocol. Timing is never a verdict. */
enum kg_stage_result kg_tkb_full(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_tkb_timing(struct kg_evaluation *e, struct kg_err *err);

/* --- shared by both --- */
/* A command about the one set of inputs that there is at a time; the reference's deadline. */
struct kg_dj_call kg_tkb_call(const struct kg_evaluation *e, const struct kg_tinstance *s, int port,
                              enum kg_tcommand command, uint64_t seed);
/* get_inputs() of the reference under this seed, as masters of the judge. */
enum kg_code kg_tkb_draw(struct kg_evaluation *e, struct kg_tinstance *s, uint64_t seed,
                         struct kg_err *err) KG_MUST_USE;
/* The reference's answer to them. */
enum kg_code kg_tkb_expect(struct kg_evaluation *e, struct kg_tinstance *s, uint64_t seed,
                           enum kg_dj_side keep, struct kg_err *err) KG_MUST_USE;
/* What is close, by precision unless it is set; whether numbers were compared at all. */
double kg_tkb_tolerance(const struct kg_evaluation *e);
bool kg_tkb_of_one_form(const struct kg_dj_judgement *j);

#endif
