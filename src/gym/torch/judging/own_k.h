/* What an empty call takes in one process, when it is launched ahead (docs/timing.md). Processes of
 * one program differ in it by 2 us, each for its whole life. */
#ifndef KG_GYM_TORCH_JUDGING_OWN_K_H
#define KG_GYM_TORCH_JUDGING_OWN_K_H

#include "gym/torch/torch.h"

/* Calls of this task can be launched ahead. Not where the seed comes with the release, nor where
 * each call is the first one on its state, which waits for its own end. */
bool kg_tahead_may(const struct kg_task_desc *d);
/* Into own_ns of the reference of s and of a process that a candidate will have, ns, by calls in
 * turn; 0 where too few of a process's were quiet, or where times of s do not count from the
 * release to the post of an answer. Waits for the device. Errors are the problem's, the host's or
 * the gym's, never the candidate's. */
enum kg_code kg_town_k_learn(struct kg_worker *w, struct kg_tinstance *s, struct kg_trunner *side,
                             struct kg_err *err) KG_MUST_USE;

#endif
