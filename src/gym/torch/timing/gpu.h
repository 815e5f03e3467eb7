/* The driver's facts about a worker's GPU, for records. Broker's knowledge, never a claim. */
#ifndef KG_GYM_TORCH_TIMING_GPU_H
#define KG_GYM_TORCH_TIMING_GPU_H

#include "base/json.h"
#include "gym/eval/worker.h"

/* {driver, mig, persistence, compute_mode, sm_max_mhz, memory_max_mhz, mps: bool}; null on a CPU,
 * and where the driver's library cannot be had. New reference. */
json_t *kg_tgpu_steady(struct kg_worker *w);
/* {sm_mhz, memory_mhz, temperature_c, power_mw, slowed: [reason]} as they are now; NULL as above.
 * About a millisecond. New reference. */
json_t *kg_tgpu_now(struct kg_worker *w);
void kg_tgpu_close(struct kg_worker *w); /* idempotent */

#endif
