/* How well this host keeps time: the null test on a C problem of the suite. */
#ifndef KG_GYM_NATIVE_NATIVE_NOISE_H
#define KG_GYM_NATIVE_NATIVE_NOISE_H

#include "gym/eval/evaluate.h"
#include "gym/timing/noise.h"

/* cpu: pinned to, -1: none; cancelled: as for kg_worker_open. Takes the exclusive lease. */
enum kg_code kg_native_noise(const struct kg_config *config, int cpu, const volatile int *cancelled,
                             struct kg_noise *out, struct kg_err *err) KG_MUST_USE;

#endif
