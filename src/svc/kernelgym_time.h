/* Times as KernelGYM's answers have them: UTC with microseconds, "2026-01-31T23:59:59.000001Z". */
#ifndef KG_SVC_KERNELGYM_TIME_H
#define KG_SVC_KERNELGYM_TIME_H

#include <stdint.h>

#include "base/json.h"

/* A new string; null where us, microseconds since 1970, is not above 0. */
json_t *kg_kernelgym_time(int64_t us);

#endif
