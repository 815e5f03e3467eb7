/* How well this device keeps time: the null test of tensors, and K. */
#ifndef KG_GYM_TORCH_TIMING_TORCH_NOISE_H
#define KG_GYM_TORCH_TIMING_TORCH_NOISE_H

#include "gym/eval/evaluate.h"
#include "gym/timing/noise.h"

/* problem: a file or a name in the suites, borrowed by *out. Takes the device alone. */
enum kg_code kg_torch_noise(struct kg_worker *w, const char *problem, struct kg_noise *out,
                            struct kg_err *err) KG_MUST_USE;

#endif
