/* A runner in C for benches of the judge of tensors: no Python, no sandbox, only the protocol of
 * gym/tensor/tensor_wire.h on a CUDA device. One input, float32 [n]; its answer y = 2 x + 1,
 * computed as many times as the call's seed says, so that a call takes as long as wanted. Also
 * plays what a hostile runner might do. */
#ifndef KG_BENCH_GPU_RUNNER_H
#define KG_BENCH_GPU_RUNNER_H

#include <sys/types.h>

#include "base/err.h"
#include "gym/device/device_judge.h"

enum kg_gpu_how {
    KG_GPU_HONEST,
    KG_GPU_EARLY,      /* replies before its kernel has ended */
    KG_GPU_LATE,       /* replies at once; its kernel sleeps 3 ms, then writes the answer */
    KG_GPU_PERSISTENT, /* leaves a kernel behind that does nothing for 60 ms */
    KG_GPU_HOWS
};

/* The seed of a call. */
static inline uint64_t kg_gpu_seed(uint32_t rounds, enum kg_gpu_how how)
{
    return (uint64_t)how << 32 | rounds;
}

struct kg_gpu_runner {
    int port, pidfd;
    pid_t pid;
};

/* Fork a runner for a port of its own, on one core unless cpu is -1, and wait until it is ready.
 * The caller has not opened the device in this process. Ends the bench where that fails. */
void kg_gpu_runner_start(struct kg_dj *j, uint64_t region_bytes, int cpu,
                         struct kg_gpu_runner *out);
void kg_gpu_runner_stop(struct kg_dj *j, struct kg_gpu_runner *r);

/* A process that makes and ends one context after the other, until it is killed. */
pid_t kg_gpu_contexts_start(void);
void kg_gpu_contexts_stop(pid_t pid);

#endif
