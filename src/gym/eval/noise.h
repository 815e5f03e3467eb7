/* How well this host keeps time: the null test on a problem of the suite, the reference against
 * itself by the protocol that times candidates. */
#ifndef KG_GYM_EVAL_NOISE_H
#define KG_GYM_EVAL_NOISE_H

#include "gym/eval/evaluate.h"
#include "gym/timing/stats.h"

struct kg_noise {
    struct kg_ratio ratio; /* 1 within its interval on a quiet host */
    int64_t k_ns, k_p10_ns, k_p90_ns, reference_ns;
    const char *problem; /* borrowed; static from kg_noise_measure */
};

/* cpu: pinned to, -1: none; cancelled: as for kg_worker_open. Takes the exclusive lease. */
enum kg_code kg_noise_measure(const struct kg_config *config, int cpu,
                              const volatile int *cancelled, struct kg_noise *out,
                              struct kg_err *err) KG_MUST_USE;

#endif
