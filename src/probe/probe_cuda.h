/* The device side of a Python runner: the exported regions IN and OUT mapped into its context, an
 * allocator over OUT for PyTorch, and the empty kernel of the null candidate. Called through ctypes
 * by kgym_harness.cuda; kg_out_alloc and kg_out_free through PyTorch's CUDAPluggableAllocator.
 *
 * Runs in the candidate's process: everything here is a claim, nothing here decides. The driver's
 * library (libcuda.so.1; in tests what KGYM_LIBCUDA names) is looked up at run time; without it
 * every function says why it failed. One attachment per process, never undone: it lives as long as
 * the runner. Not thread safe but for the allocator, which has a lock. */
#ifndef KG_PROBE_PROBE_CUDA_H
#define KG_PROBE_PROBE_CUDA_H

#include <sys/types.h>

#include "probe/probe.h"

struct kg_cu;
struct kg_probe_map {
    uint64_t in, out; /* addresses on the device */
    uint64_t in_bytes, out_bytes;
};

/* The driver, and what was attached: for the other files of this library. */
extern struct kg_cu kg_probe_cu;
extern struct kg_probe_map kg_probe_mapped;

/* Open the primary context of the device (PyTorch uses the same one), import both descriptors and
 * map them. bytes: of the allocations, as exported. 0, or -1: kg_probe_cuda_error() says why. */
KG_PROBE_API int kg_probe_cuda_attach(int ordinal, int in_fd, uint64_t in_bytes, int out_fd,
                                      uint64_t out_bytes, struct kg_probe_map *out);
/* One empty kernel on `stream` (0: the default stream). 0, or -1. */
KG_PROBE_API int kg_probe_cuda_null(void *stream);
/* Wait for everything on the device. 0, or the driver's code. */
KG_PROBE_API int kg_probe_cuda_sync(void);
/* The answer to command `number` stands in *w: wait for everything on the device, note the time
 * since begun_ns (monotonic), and post it. 0, or the driver's code, and nothing is posted. */
KG_PROBE_API int kg_probe_cuda_finish(struct kg_twire *w, uint32_t number, int64_t begun_ns);
KG_PROBE_API const char *kg_probe_cuda_error(void);
/* As kg_probe_wait, but looks for 20 ms before it sleeps: the release of a command that was
 * announced follows at once, and a wake-up across cores takes 45 us and varies by as much. */
KG_PROBE_API uint32_t kg_probe_cuda_wait(_Atomic uint32_t *word, uint32_t value);

/* Offsets [from, to) of OUT belong to the allocator from now on; what it gave out before stays
 * where it is. Only while no PyTorch pool draws from it. */
KG_PROBE_API void kg_out_range(uint64_t from, uint64_t to);
/* Bytes in use, of OUT and of the device's own memory (what did not fit). */
KG_PROBE_API void kg_out_used(uint64_t *arena_bytes, uint64_t *outside_bytes);

/* What is taken from now on lies elsewhere: from a random page of the free range on, where there is
 * room for as much as was in use at once since the last time. parts[KG_OUT_PARTS]: bytes of what
 * was given back since then, in that order; returns how many. How two arrays lie to each other in
 * memory changes what reading one and writing the other takes by half a percent (docs/gpu.md). */
#define KG_OUT_PARTS 64
KG_PROBE_API uint32_t kg_out_shuffle(uint64_t *parts);

/* The signatures that CUDAPluggableAllocator wants. A request that OUT cannot hold is taken from
 * the device, a large one with room to lie elsewhere next time. First fit over the free list in
 * rising order, from where kg_out_shuffle() chose on; blocks are multiples of 512 bytes. */
KG_PROBE_API void *kg_out_alloc(ssize_t bytes, int device, void *stream);
KG_PROBE_API void kg_out_free(void *at, ssize_t bytes, int device, void *stream);

#endif
