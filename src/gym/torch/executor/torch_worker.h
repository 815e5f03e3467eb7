/* The PyTorch executor's part of a worker: opened, and let go of. */
#ifndef KG_GYM_TORCH_EXECUTOR_TORCH_WORKER_H
#define KG_GYM_TORCH_EXECUTOR_TORCH_WORKER_H

#include "gym/torch/torch.h"

enum kg_code kg_torch_open(struct kg_worker *w, struct kg_err *err) KG_MUST_USE; /* its part */
void kg_torch_forget(struct kg_worker *w, enum kg_forget what);
void kg_torch_close(struct kg_worker *w);
/* Tests only: the part is opened where it is not. */
struct kg_torch_test *kg_torch_test(struct kg_worker *w);

#endif
