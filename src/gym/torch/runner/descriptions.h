/* Descriptions of tasks, kept for later evaluations of the same problem by any worker: to describe
 * one takes several draws of its inputs and some calls. They lie below `cache`, by a hash of
 * problem, request, harness, Python and device, so whatever changes one of these finds none. Only
 * the broker writes there, and only what a reference said before any code of a candidate ran.
 * Without a cache nothing is kept. */
#ifndef KG_GYM_TORCH_RUNNER_DESCRIPTIONS_H
#define KG_GYM_TORCH_RUNNER_DESCRIPTIONS_H

#include "gym/torch/torch.h"

/* Of KG_TC_DESCRIBE; the caller's. consts: NULL: as published. run: call the reference, too. */
json_t *kg_tdescriptions_request(const struct kg_worker *w, const json_t *consts, bool run);
/* What was kept for this request; the caller's. NULL: nothing. The worker's judge
 * is up. */
json_t *kg_tdescriptions_find(const struct kg_worker *w, const json_t *request);
/* Best effort. Not kept: a description that lacks what there was no memory to look at. */
void kg_tdescriptions_keep(const struct kg_worker *w, const json_t *request,
                           const json_t *description);

#endif
