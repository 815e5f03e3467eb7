/* The device side of a Python runner: maps the exported regions IN and OUT into its context,
 * allocates from OUT for PyTorch, and launches the null runner's empty kernel. kgym_harness.cuda
 * calls it through ctypes; PyTorch's CUDAPluggableAllocator calls kg_out_alloc and kg_out_free.
 *
 * It runs in the candidate's process, so everything here is a claim, and nothing here decides. The
 * driver's library (libcuda.so.1; in tests KGYM_LIBCUDA) is loaded at run time; without it every
 * function says why it failed. There is one attachment per process, for the life of the runner.
 * Only the allocator is thread safe; it has a lock. */
#ifndef KG_PROBE_PROBE_CUDA_H
#define KG_PROBE_PROBE_CUDA_H

#include <sys/types.h>

#include "probe/probe.h"

struct kg_cu;
struct kg_probe_map {
    uint64_t in, out; /* addresses on the device */
    uint64_t in_bytes, out_bytes;
};

/* The driver, and what was attached; for the other files of this library. */
extern struct kg_cu kg_probe_cu;
extern struct kg_probe_map kg_probe_mapped;

/* Opens the primary context of the device, which PyTorch uses too, imports both descriptors and
 * maps them. bytes: sizes as exported. Returns 0, or -1: see kg_probe_cuda_error(). */
KG_PROBE_API int kg_probe_cuda_attach(int ordinal, int in_fd, uint64_t in_bytes, int out_fd,
                                      uint64_t out_bytes, struct kg_probe_map *out);
/* Launches one empty kernel on `stream` (0: the default stream). Returns 0 or -1. */
KG_PROBE_API int kg_probe_cuda_null(void *stream);
/* Waits for everything on the device. Returns 0 or the driver's code. */
KG_PROBE_API int kg_probe_cuda_sync(void);
/* Waits for everything on the device, notes the time since begun_ns (monotonic), and posts the
 * answer to command `number`, which stands in *w. Returns 0, or the driver's code; then nothing is
 * posted. */
KG_PROBE_API int kg_probe_cuda_finish(struct kg_twire *w, uint32_t number, int64_t begun_ns);
/* What is put on the stream from now on begins when command `number` is released. Returns 0; -1:
 * this driver cannot, and nothing is held back. One control block per process. */
KG_PROBE_API int kg_probe_cuda_gate(struct kg_twire *w, void *stream, uint32_t number);
/* After the gate: when what is on the stream now is done, the device posts the answer to command
 * `number`, which must stand in *w by then. Returns 0; -1: it does not. */
KG_PROBE_API int kg_probe_cuda_post(struct kg_twire *w, void *stream, uint32_t number);
/* The last failure as text. */
KG_PROBE_API const char *kg_probe_cuda_error(void);
/* As kg_probe_wait, but polls for 20 ms before it sleeps. The release of an announced command
 * follows soon, and a wake-up across cores takes 45 us and varies by as much. */
KG_PROBE_API uint32_t kg_probe_cuda_wait(_Atomic uint32_t *word, uint32_t value);

/* Gives the offsets [from, to) of OUT to the allocator. Blocks from before stay valid. Call it only
 * while no PyTorch pool uses the allocator. */
KG_PROBE_API void kg_out_range(uint64_t from, uint64_t to);
/* Bytes in use: of OUT, and of the device's own memory for requests that did not fit. */
KG_PROBE_API void kg_out_used(uint64_t *arena_bytes, uint64_t *outside_bytes);

/* Moves later requests elsewhere: the search begins at a random page of the free range, where the
 * room allows the largest use since the last call. parts [KG_OUT_PARTS]: sizes of what was given
 * back since then, in that order; returns their number. The distance of two arrays in memory
 * changes the time to read one and write the other by half a percent (docs/gpu.md). */
#define KG_OUT_PARTS 64
KG_PROBE_API uint32_t kg_out_shuffle(uint64_t *parts);

/* The signatures of CUDAPluggableAllocator. A request that OUT cannot hold is taken from the
 * device; a large one gets room to lie elsewhere next time. First fit in rising order, from the
 * place that kg_out_shuffle() chose; blocks are multiples of 512 bytes. */
KG_PROBE_API void *kg_out_alloc(ssize_t bytes, int device, void *stream);
KG_PROBE_API void kg_out_free(void *at, ssize_t bytes, int device, void *stream);

#endif
