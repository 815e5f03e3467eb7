/* What a host gives the PyTorch executor, found by starting its Python and its judge. For doctor.
 */
#ifndef KG_GYM_TORCH_EXECUTOR_TORCH_FACTS_H
#define KG_GYM_TORCH_EXECUTOR_TORCH_FACTS_H

#include "base/json.h"
#include "gym/eval/evaluate.h"

/* {python, executable, torch, triton|null, cuda_built|null, cupti|null, device, device_name,
 * bus|null, driver, memory_bytes, exchange, clock}: what the zygote and the judge say; the
 * caller's. KG_E_HOST says what is missing and how to get it: if that is the device, *out has what
 * Python says, up to `device`, which was asked for; else NULL. */
enum kg_code kg_torch_facts(struct kg_worker *w, json_t **out, struct kg_err *err) KG_MUST_USE;

#endif
