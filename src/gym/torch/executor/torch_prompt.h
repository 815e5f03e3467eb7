/* The PyTorch executor's first message: gym/prompt/prompt.h. */
#ifndef KG_GYM_TORCH_EXECUTOR_TORCH_PROMPT_H
#define KG_GYM_TORCH_EXECUTOR_TORCH_PROMPT_H

#include "gym/prompt/prompt.h"

/* What is known of a GPU is the driver's word; the device is not touched. */
enum kg_code kg_torch_prompt(const char *path, const struct kg_prompt_spec *spec,
                             struct kg_prompt_about *about, struct kg_buf *out,
                             struct kg_err *err) KG_MUST_USE;

#endif
