/* What KernelGYM's clients ask of the server itself: `/`, /health, /metrics, /queue/status. Made
 * from counters that the service keeps in memory, so that an answer takes no time. Pure. */
#ifndef KG_SVC_KERNELGYM_HOST_H
#define KG_SVC_KERNELGYM_HOST_H

#include "base/json.h"

struct kg_kernelgym_device {
    const char *name; /* "cuda:0" */
    const char *model;
    int64_t memory_bytes, used_bytes; /* 0: not known */
    bool available;
};

struct kg_kernelgym_worker {
    const char *name;
    int64_t running; /* tasks that it holds */
};

struct kg_kernelgym_counts {
    int64_t now_us, since_us; /* microseconds since 1970: now, and when the service began */
    int64_t pending, processing;
    int64_t completed, failed; /* tasks that ended, as KernelGYM names them */
    int64_t compilation_errors, runtime_errors, timeout_errors;
    int64_t ended_before; /* of those that ended: before since_us */
    int64_t processed;    /* evaluations with a record */
    double processing_s;  /* of these, together */
    double oldest_s;      /* the longest wait of what waits */
    double cpu_percent, memory_percent;
    int64_t memory_bytes, memory_free_bytes; /* of the host */
    const struct kg_kernelgym_device *device;
    size_t ndevices;
    const struct kg_kernelgym_worker *worker;
    size_t nworkers;
};

/* New objects. */
json_t *kg_kernelgym_root(int64_t now_us);
json_t *kg_kernelgym_health(const struct kg_kernelgym_counts *c);
json_t *kg_kernelgym_metrics(const struct kg_kernelgym_counts *c);
json_t *kg_kernelgym_queue(const struct kg_kernelgym_counts *c);

#endif
