/* What runs no code of candidates: zygotes, from which runners are forked, and the judge. */
#ifndef KG_GYM_TORCH_RUNNER_TORCH_ZYGOTES_H
#define KG_GYM_TORCH_RUNNER_TORCH_ZYGOTES_H

#include "gym/torch/torch.h"

enum kg_code kg_torch_zygote(struct kg_worker *w, bool interpret, struct kg_zygote **out,
                             struct kg_err *err) KG_MUST_USE;
/* On a GPU the judge looks for answers all the time, so it must not share the runners' core: the
 * one half of the allowed ones further. cpu where there is no other, or it is none of them. */
int kg_torch_across(const cpu_set_t *allowed, int cpu);
enum kg_code kg_torch_judge(struct kg_worker *w, struct kg_err *err) KG_MUST_USE;
/* The plain zygote and the judge, which start side by side; of two errors the zygote's. */
enum kg_code kg_torch_start(struct kg_worker *w, struct kg_err *err) KG_MUST_USE;
/* The current problem, for another of this executor's: a spare runner, which knows of none, stays.
 * Its own runners wait for kg_torch_end_last(), which whoever boots next calls meanwhile. */
void kg_torch_leave(struct kg_worker *w);
void kg_torch_end_last(struct kg_worker *w);

#endif
