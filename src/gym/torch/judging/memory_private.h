/* Private to judging/: the worker's part of the ledger of its device's memory, for memory.c, which
 * plans how much of it is held. */
#ifndef KG_GYM_TORCH_JUDGING_MEMORY_PRIVATE_H
#define KG_GYM_TORCH_JUDGING_MEMORY_PRIVATE_H

#include "gym/torch/torch.h"

/* The driver's contexts of all processes of a worker. */
uint64_t kg_tmemory_contexts(const struct kg_torch *t);
/* Regions of a runner; answers: for how many OUT has room where calls allocate in it. */
uint64_t kg_tmemory_port(const struct kg_torch *t, uint64_t in, uint64_t out, uint64_t answers);
/* Opens the ledger, and says how much of the device all jobs may take together. The judge is up. */
enum kg_code kg_tmemory_open(struct kg_worker *w, struct kg_err *err) KG_MUST_USE;
/* Another program may have ended since the judge looked: ends all that the worker has on the
 * device, and starts a judge that looks again. True: there is more than before. */
bool kg_tmemory_look_again(struct kg_worker *w, uint64_t need);
/* Holds `want` where that is easily had, else `need`, and no more than `want`: describing a problem
 * takes more than to judge it. Who must wait has nothing on the device meanwhile. */
enum kg_code kg_tmemory_hold(struct kg_worker *w, uint64_t need, uint64_t want,
                             struct kg_err *err) KG_MUST_USE;

#endif
