/* The state of a module, part by part: a command carries KG_TWIRE_LEAVES tensors at most, a problem
 * may have KG_TASK_STATE. Part 0 has the id of the whole and is all that small problems have. Later
 * parts have ids of their own (torch.h), so each is a case that is filled, loaded, taken and
 * compared like any other. A list goes into parts in its order; sender and runner cut it alike.
 * Nothing is owned here; one thread, the worker's. */
#ifndef KG_GYM_TORCH_JUDGING_STATE_PARTS_H
#define KG_GYM_TORCH_JUDGING_STATE_PARTS_H

#include "gym/torch/torch.h"

#define KG_TSTATE_PARTS (KG_TASK_STATE / KG_TWIRE_LEAVES)
_Static_assert(KG_TORCH_CASES *KG_TSTATE_PARTS <= KG_DJ_CASES, "every part has an id of its own");

/* Number of parts of a list of n tensors, 1 where it is empty. */
size_t kg_tstate_parts(size_t n);
/* The judge's id of a part of what part 0 has the id of. */
int kg_tstate_id(int id, size_t part);
/* Turns a STATE or SNAPSHOT into that of a part of a list of n tensors whose part 0 has this id. -1
 * stays -1. */
void kg_tstate_part(struct kg_dj_call *call, int id, size_t n, size_t part);
/* Begins the cases of a list of all tensors, or of those that calls leave changed. Earlier values
 * of these ids are forgotten. Errors: kg_dj_case_begin's. */
enum kg_code kg_tstate_begin(struct kg_worker *w, const struct kg_task_desc *d, int id, bool left,
                             struct kg_err *err) KG_MUST_USE;
/* Forgets cases id to id + n - 1 with all parts that such a task has. A judge that cannot be told
 * is gone, and they with it. */
void kg_tstate_forget(struct kg_worker *w, const struct kg_task_desc *d, int id, int n);

#endif
