/* Private to device/: the CUDA row of the device table.
 *
 * It has one primary context and one stream, which does not wait for the default stream. NVRTC
 * builds the files of kernels/ for the device at hand; built images are kept in the user's
 * cache folder. Exported memory is an allocation of its own (cuMemCreate), whose descriptor another
 * process maps. A process that holds the descriptor can always write, so `sealed` is false. The
 * clock is the host's monotonic clock: a window ends when digest() has its result in host memory.
 * Environment: KGYM_LIBCUDA (another driver library, for tests), KGYM_NVRTC and KGYM_PYTHON
 * (cuda_api.h), KGYM_CUDA_CACHE (folder of built kernels, or `none`). */
#ifndef KG_GYM_DEVICE_CUDA_H
#define KG_GYM_DEVICE_CUDA_H

#include "gym/device/cuda_api.h"
#include "gym/device/device.h"

#define KG_CUDA_BLOCK    256  /* threads of a block: BLOCK of kernels/numbers.cu */
#define KG_CUDA_SPANS    64   /* spans of one launch: SPANS of kernels/memory.cu */
#define KG_CUDA_PARTS    1024 /* most blocks of a kernel that leaves partial results */
#define KG_CUDA_PART_MAX 64   /* bytes of one partial result, at most */
#define KG_CUDA_PIECE    ((uint64_t)2 << 20) /* bytes that a digest reads before it goes elsewhere */
/* Most exported regions, in use or idle. */
#define KG_CUDA_EXPORTS 64

/* clang-format off */
/* The kernels' names: X(name). */
#define KG_CUDA_KERNELS(X)                                                                         \
    X(pattern) X(check) X(unwritten) X(digest) X(take) X(flush) X(widen) X(differ) X(rejoin) X(moments) X(digits)      \
    X(scan) X(scan_rms) X(scan_exact) X(fill) X(fill_narrow)

#define KG_CUDA_NAME(name) KG_CUDA_##name,
enum kg_cuda_kernel { KG_CUDA_KERNELS(KG_CUDA_NAME) KG_CUDA_KERNEL_COUNT };
#undef KG_CUDA_NAME
/* clang-format on */

/* One exported region. */
struct kg_cuda_export {
    uint64_t at, bytes; /* at 0: unused */
    kg_cu_handle handle;
    uint64_t idle; /* 0: in use; else a number that grows with the time at which it became idle */
};

struct kg_cuda {
    struct kg_cu cu;
    kg_cu_device device;
    int ordinal, major, minor, processors;
    struct kg_cu_ctx *ctx;
    struct kg_cu_stream *stream;
    struct kg_cu_module *module;
    struct kg_cu_function *kernel[KG_CUDA_KERNEL_COUNT];
    struct kg_cuda_export export[KG_CUDA_EXPORTS];
    uint64_t idled;              /* number of regions that have become idle so far */
    uint64_t sweep, sweep_bytes; /* the buffer that flush reads */
    uint64_t scratch;            /* zero between uses; KG_CUDA_SCRATCH_BYTES */
    void *host;                  /* results, pinned and mapped; KG_CUDA_HOST_BYTES */
    uint64_t host_at;            /* the device's address of the same memory */
    int failed;                  /* first failure of a function that returns nothing; 0: none */
    const char *failed_at;
};

/* Layout of scratch. First comes what kernels leave zero themselves: sums of digests, the counter
 * of finished blocks, counts of elements. Then comes room for one operation at a time. `host` holds
 * digests or partial results, and behind digests what a check has found. */
#define KG_CUDA_SCRATCH_BYTES (64u << 10)
#define KG_CUDA_SUMS          0
#define KG_CUDA_FINISHED      (2 * 8 * KG_CUDA_SPANS)
#define KG_CUDA_COUNTS        2048
#define KG_CUDA_FREE          4096 /* here the room for one operation begins */
#define KG_CUDA_CHECKED       2048 /* of host */
#define KG_CUDA_HOST_BYTES    (KG_CUDA_PARTS * KG_CUDA_PART_MAX)

static inline struct kg_cuda *kg_cuda_of(struct kg_device *d)
{
    return d->self;
}

/* Remembers a failure; the next call that can report one does so. Returns true if code is
 * success. */
bool kg_cuda_note(struct kg_cuda *c, int code, const char *what);
/* How many pieces further a digest of so many bytes goes on after each: so that each piece comes
 * once, and none is preferred. */
uint32_t kg_cuda_turn(uint64_t bytes);
/* Number of blocks for n items of one thread each: at least 1, at most `most`. */
unsigned kg_cuda_blocks(const struct kg_cuda *c, uint64_t n, unsigned most);
/* Launches a kernel on the device's stream, with `rows` blocks in y. A failure is remembered by
 * kg_cuda_note. */
void kg_cuda_launch(struct kg_cuda *c, enum kg_cuda_kernel kernel, unsigned blocks, unsigned rows,
                    void **params);
/* Waits for all work on the stream. A failure that was remembered is reported here, and then
 * forgotten. */
enum kg_code kg_cuda_wait(struct kg_cuda *c, const char *what, struct kg_err *err) KG_MUST_USE;

/* cuda_build.c: the kernels' image for compute capability major.minor, from the cache or newly
 * built. *image is malloc'ed; the caller frees it. KG_E_HOST: no NVRTC, or it refused the text. */
enum kg_code kg_cuda_image(int major, int minor, void **image, struct kg_err *err) KG_MUST_USE;
/* cuda_source.c: the text of all kernels, with a NUL at its end. */
extern const char kg_cuda_source[];

/* The row's functions; device.h documents them. cuda_memory.c: */
enum kg_code kg_cuda_alloc(struct kg_device *d, uint64_t bytes, uint64_t *at, struct kg_err *err);
void kg_cuda_free(struct kg_device *d, uint64_t at);
enum kg_code kg_cuda_export(struct kg_device *d, uint64_t *bytes, bool read_only, uint64_t *at,
                            int *fd, struct kg_err *err);
void kg_cuda_unexport(struct kg_device *d, uint64_t at, bool again);
void kg_cuda_trim(struct kg_device *d);
void kg_cuda_copy(struct kg_device *d, uint64_t dst, uint64_t src, uint64_t bytes);
void kg_cuda_upload(struct kg_device *d, uint64_t dst, const void *src, uint64_t bytes);
enum kg_code kg_cuda_download(struct kg_device *d, void *dst, uint64_t src, uint64_t bytes,
                              struct kg_err *err);
void *kg_cuda_host_alloc(struct kg_device *d, uint64_t bytes);
void kg_cuda_host_free(struct kg_device *d, void *at);
/* cuda_spans.c: */
void kg_cuda_pattern(struct kg_device *d, uint64_t dst, uint64_t bytes, uint64_t word);
enum kg_code kg_cuda_check(struct kg_device *d, const struct kg_dspan *span, size_t n,
                           uint64_t word, int *bad, struct kg_err *err);
enum kg_code kg_cuda_inspect(struct kg_device *d, const struct kg_dspan *span, size_t n,
                             struct kg_digest *out, const struct kg_dspan *zone, size_t nzones,
                             uint64_t word, int *bad, struct kg_err *err);
enum kg_code kg_cuda_digest(struct kg_device *d, const struct kg_dspan *span, size_t n,
                            struct kg_digest *out, struct kg_err *err);
enum kg_code kg_cuda_take(struct kg_device *d, struct kg_dtake *t, size_t n, uint64_t word,
                          struct kg_err *err);
/* cuda_law.c: */
void kg_cuda_fill(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t n,
                  const struct kg_dj_law *law);
/* cuda_compare.c: */
void kg_cuda_widen(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t src,
                   uint64_t n);
void kg_cuda_differ(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                    uint64_t n);
void kg_cuda_rejoin(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t r,
                    uint64_t kept, uint64_t n);
enum kg_code kg_cuda_bounds(struct kg_device *d, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                            uint64_t n, const struct kg_bound_ask *ask, struct kg_tbound *out,
                            struct kg_err *err);
enum kg_code kg_cuda_compare(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t r,
                             uint64_t o, uint64_t n, const struct kg_tbound *bound, bool probe,
                             struct kg_tcompare *out, struct kg_err *err);
enum kg_code kg_cuda_far(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t o,
                         uint64_t n, const struct kg_limits_of *limits, uint64_t *out,
                         struct kg_err *err);
enum kg_code kg_cuda_rms(struct kg_device *d, enum kg_tdtype dtype, uint64_t v, uint64_t n,
                         double fill, struct kg_tbound *out, struct kg_err *err);

extern const struct kg_device_ops kg_device_cuda;

#endif
