/* A stand-in for libcuda and libnvrtc on host memory, for tests without a GPU: the judge's kernels
 * (src/gym/device/kernels/, this very text) are compiled as C and run one thread per block, one
 * block after the other. What it finds are faults of arithmetic, of bookkeeping and of the
 * protocol; it knows no concurrency, no caches and no time. Its results are never results of a GPU.
 *
 * Device memory is the heap's; exported memory is a memfd, so other processes can map it. A test
 * makes a function fail with kg_fake_cuda_fail; and where KGYM_FAKE_CUDA_LEFT names a file, the
 * int64_t in it is how much of cuMemAlloc's is left to all processes together. One thread. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"

/* ---- kernels as C ---- */

#define KERNEL                 static
#define DEVICE                 static inline
#define __shared__             static
#define __syncthreads()        ((void)0)
#define __threadfence()        ((void)0)
#define __threadfence_system() ((void)0)
#define atomicAdd(p, v)                                                                            \
    ({                                                                                             \
        __typeof__(*(p)) old_ = *(p);                                                              \
        *(p) += (v);                                                                               \
        old_;                                                                                      \
    })
#define atomicExch(p, v)                                                                           \
    ({                                                                                             \
        __typeof__(*(p)) old_ = *(p);                                                              \
        *(p) = (v);                                                                                \
        old_;                                                                                      \
    })
#define atomicMax(p, v) (*(p) = (v) > *(p) ? (v) : *(p))

static struct {
    unsigned x, y, z;
} blockIdx, threadIdx, blockDim, gridDim;

/* In the order of src/gym/device/cuda_source.c. */
/* clang-format off */
#include "gym/device/kernels/numbers.cu"
#include "gym/device/kernels/memory.cu"
#include "gym/device/kernels/digest.cu"
#include "gym/device/kernels/compare.cu"
#include "gym/device/kernels/draw.cu"
#include "gym/device/kernels/draw_narrow.cu"
/* clang-format on */

#define ARG(type, i) (*(type *)p[i])
static void run_pattern(void **p)
{
    kg_pattern(ARG(u64, 0), ARG(u64, 1), ARG(u64, 2));
}
static void run_check(void **p)
{
    kg_check(ARG(struct spans, 0), ARG(u64, 1), ARG(u64 *, 2), ARG(u32 *, 3), ARG(u64 *, 4));
}
static void run_unwritten(void **p)
{
    kg_unwritten(ARG(void *, 0), ARG(u64, 1), ARG(u32, 2), ARG(u64, 3), ARG(u64, 4), ARG(u32, 5),
                 ARG(u64 *, 6));
}
static void run_digest(void **p)
{
    kg_digest(ARG(struct spans, 0), ARG(struct turns, 1), ARG(u64, 2), ARG(u64, 3), ARG(u64 *, 4),
              ARG(u32 *, 5), ARG(u64 *, 6));
}
static void run_take(void **p)
{
    kg_take(ARG(struct spans, 0), ARG(struct turns, 1), ARG(struct takes, 2), ARG(u64, 3),
            ARG(u64, 4), ARG(u64, 5), ARG(u64 *, 6), ARG(u64 *, 7), ARG(u32 *, 8), ARG(u64 *, 9));
}
static void run_flush(void **p)
{
    kg_flush(ARG(u64 *, 0), ARG(u64, 1), ARG(u64 *, 2));
}
static void run_widen(void **p)
{
    kg_widen(ARG(double *, 0), ARG(int, 1), ARG(void *, 2), ARG(u64, 3));
}
static void run_differ(void **p)
{
    kg_differ(ARG(float *, 0), ARG(int, 1), ARG(void *, 2), ARG(double *, 3), ARG(u64, 4));
}
static void run_rejoin(void **p)
{
    kg_rejoin(ARG(double *, 0), ARG(int, 1), ARG(void *, 2), ARG(float *, 3), ARG(u64, 4));
}
static void run_moments(void **p)
{
    kg_moments(ARG(int, 0), ARG(void *, 1), ARG(int, 2), ARG(void *, 3), ARG(u64, 4),
               ARG(double, 5), ARG(double, 6), ARG(struct moments *, 7));
}
static void run_digits(void **p)
{
    kg_digits(ARG(int, 0), ARG(void *, 1), ARG(double *, 2), ARG(u64, 3), ARG(double, 4),
              ARG(u32, 5), ARG(u64, 6), ARG(u64 *, 7));
}
static void run_scan(void **p)
{
    kg_scan(ARG(int, 0), ARG(void *, 1), ARG(void *, 2), ARG(double *, 3), ARG(u64, 4),
            ARG(struct limits, 5), ARG(struct scan *, 6));
}
static void run_scan_rms(void **p)
{
    kg_scan_rms(ARG(int, 0), ARG(void *, 1), ARG(void *, 2), ARG(double *, 3), ARG(u64, 4),
                ARG(double, 5), ARG(double, 6), ARG(struct scan *, 7));
}
static void run_scan_exact(void **p)
{
    kg_scan_exact(ARG(u32, 0), ARG(void *, 1), ARG(void *, 2), ARG(void *, 3), ARG(u64, 4),
                  ARG(struct scan *, 5));
}
static void run_fill(void **p)
{
    kg_fill(ARG(void *, 0), ARG(u64, 1), ARG(struct law, 2), ARG(i64, 3), ARG(i64, 4));
}
static void run_fill_narrow(void **p)
{
    kg_fill_narrow(ARG(u64, 0), ARG(u64, 1), ARG(struct law, 2));
}
/* The probe's empty kernel, and those of the runners of benches: y = 2 x + 1 over n floats. */
static void run_empty(void **p)
{
    (void)p;
}
static void run_copy(void **p)
{
    for (u64 i = THREAD; i < ARG(u64, 2); i += STRIDE) {
        ARG(float *, 1)[i] = 2 * ARG(float *, 0)[i] + 1;
    }
}

struct kg_cu_function {
    const char *name;
    void (*run)(void **params);
};
static struct kg_cu_function functions[] = {
    {"kg_pattern", run_pattern},     {"kg_check", run_check},
    {"kg_unwritten", run_unwritten}, {"kg_digest", run_digest},
    {"kg_take", run_take},           {"kg_flush", run_flush},
    {"kg_widen", run_widen},         {"kg_moments", run_moments},
    {"kg_differ", run_differ},       {"kg_rejoin", run_rejoin},
    {"kg_digits", run_digits},       {"kg_scan", run_scan},
    {"kg_scan_rms", run_scan_rms},   {"kg_scan_exact", run_scan_exact},
    {"kg_fill", run_fill},           {"kg_fill_narrow", run_fill_narrow},
    {"kg_empty", run_empty},         {"kg_bench_copy", run_copy},
    {"kg_bench_late", run_copy},     {"kg_bench_spin", run_empty},
};

/* ---- failures on demand ---- */

static char fail_symbol[64];
static int fail_code;

void kg_fake_cuda_fail(const char *symbol, int code)
{
    snprintf(fail_symbol, sizeof fail_symbol, "%s", symbol ? symbol : "");
    fail_code = code;
}

#define MAY_FAIL()                                                                                 \
    do {                                                                                           \
        if (strcmp(fail_symbol, __func__) == 0) {                                                  \
            return fail_code;                                                                      \
        }                                                                                          \
    } while (0)

/* ---- the driver ---- */

#define UNIT ((size_t)2 << 20)

int cuInit(unsigned flags)
{
    (void)flags;
    MAY_FAIL();
    return 0;
}
int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}
int cuGetErrorName(int error, const char **text)
{
    static char name[32];
    snprintf(name, sizeof name, "FAKE_ERROR_%d", error);
    *text = error == KG_CU_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : name;
    return 0;
}
int cuGetErrorString(int error, const char **text)
{
    *text = error == KG_CU_OUT_OF_MEMORY ? "out of memory" : "made up by the fake driver";
    return 0;
}
int cuDeviceGet(kg_cu_device *device, int ordinal)
{
    *device = ordinal;
    return 0;
}
int cuDeviceGetCount(int *count)
{
    MAY_FAIL();
    *count = 1;
    return 0;
}
int cuDeviceGetName(char *name, int bytes, kg_cu_device device)
{
    (void)device;
    snprintf(name, (size_t)bytes, "fake CUDA device");
    return 0;
}
int cuDeviceGetPCIBusId(char *text, int bytes, kg_cu_device device)
{
    (void)device;
    snprintf(text, (size_t)bytes, "0000:19:00.0");
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, kg_cu_device device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, kg_cu_device device)
{
    (void)device;
    MAY_FAIL();
    *value = attribute == KG_CU_ATTR_MULTIPROCESSORS ? 3
             : attribute == KG_CU_ATTR_L2_BYTES      ? 1 << 20
             : attribute == KG_CU_ATTR_MAJOR         ? 9
             : attribute == KG_CU_ATTR_MINOR         ? 0
                                                     : 1;
    return 0;
}

static int context_dummy, stream_dummy, module_dummy;

int cuDevicePrimaryCtxRetain(struct kg_cu_ctx **ctx, kg_cu_device device)
{
    (void)device;
    MAY_FAIL();
    *ctx = (struct kg_cu_ctx *)(void *)&context_dummy;
    return 0;
}
int cuDevicePrimaryCtxSetFlags_v2(kg_cu_device device, unsigned flags)
{
    (void)device;
    (void)flags;
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(kg_cu_device device)
{
    (void)device;
    return 0;
}
int cuCtxSetCurrent(struct kg_cu_ctx *ctx)
{
    (void)ctx;
    return 0;
}
int cuCtxGetCurrent(struct kg_cu_ctx **ctx)
{
    *ctx = (struct kg_cu_ctx *)(void *)&context_dummy;
    return 0;
}
int cuCtxSynchronize(void)
{
    MAY_FAIL();
    return 0;
}
int cuCtxSetLimit(int limit, size_t value)
{
    (void)limit;
    (void)value;
    return 0;
}
int cuCtxResetPersistingL2Cache(void)
{
    return 0;
}
int cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    *unused = *total = (size_t)1 << 30;
    return 0;
}

static size_t live_bytes; /* blocks of cuMemAlloc that were not freed */
size_t kg_fake_cuda_live(void)
{
    return live_bytes;
}

/* NULL: there is no end to it. */
static _Atomic int64_t *left_bytes(void)
{
    static _Atomic int64_t *left;
    const char *path = getenv("KGYM_FAKE_CUDA_LEFT");
    int fd = left == NULL && path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0) {
        void *p = mmap(NULL, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        left = p != MAP_FAILED ? p : NULL;
        close(fd);
    }
    return path != NULL ? left : NULL;
}

/* False: there is no room for so many bytes more. */
static bool take_of_left(int64_t bytes)
{
    _Atomic int64_t *left = left_bytes();
    if (left == NULL || atomic_fetch_sub(left, bytes) >= bytes) {
        return true;
    }
    atomic_fetch_add(left, bytes);
    return false;
}

int cuMemAlloc_v2(kg_cu_ptr *at, size_t bytes)
{
    MAY_FAIL();
    if (!take_of_left((int64_t)bytes)) {
        return KG_CU_OUT_OF_MEMORY;
    }
    size_t *block = aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (bytes == 0 || block == NULL) {
        free(block);
        return bytes == 0 ? 1 : KG_CU_OUT_OF_MEMORY;
    }
    memset(block, 0xdb, bytes < UNIT ? (bytes + 511) / 256 * 256 : UNIT); /* not zeros */
    block[0] = bytes;
    live_bytes += bytes;
    *at = (uintptr_t)block + 256;
    return 0;
}
int cuMemFree_v2(kg_cu_ptr at)
{
    size_t *block = (size_t *)(uintptr_t)(at - 256);
    live_bytes -= block[0];
    take_of_left(-(int64_t)block[0]);
    free(block);
    return 0;
}
int cuMemGetAllocationGranularity(size_t *bytes, const struct kg_cu_mem_prop *prop, int option)
{
    (void)option;
    *bytes = UNIT;
    return prop->type == KG_CU_MEM_TYPE_PINNED ? 0 : 1;
}
int cuMemCreate(kg_cu_handle *handle, size_t bytes, const struct kg_cu_mem_prop *prop,
                unsigned long long flags)
{
    (void)flags;
    MAY_FAIL();
    if (bytes % UNIT != 0 || prop->handle_types != KG_CU_MEM_HANDLE_POSIX) {
        return 1;
    }
    int fd = memfd_create("fake", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) {
        return KG_CU_OUT_OF_MEMORY;
    }
    *handle = (kg_cu_handle)fd + 1;
    return 0;
}
int cuMemRelease(kg_cu_handle handle)
{
    return close((int)handle - 1) == 0 ? 0 : 1;
}
int cuMemExportToShareableHandle(void *fd, kg_cu_handle handle, int type, unsigned long long flags)
{
    (void)flags;
    MAY_FAIL();
    int copy = fcntl((int)handle - 1, F_DUPFD_CLOEXEC, 3);
    memcpy(fd, &copy, sizeof copy);
    return type == KG_CU_MEM_HANDLE_POSIX && copy >= 0 ? 0 : 1;
}
int cuMemImportFromShareableHandle(kg_cu_handle *handle, void *fd, int type)
{
    struct stat st;
    int copy = fcntl((int)(uintptr_t)fd, F_DUPFD_CLOEXEC, 3);
    MAY_FAIL();
    if (copy < 0 || fstat(copy, &st) != 0 || !S_ISREG(st.st_mode)) {
        return 1;
    }
    *handle = (kg_cu_handle)copy + 1;
    return type == KG_CU_MEM_HANDLE_POSIX && copy >= 0 ? 0 : 1;
}
int cuMemAddressReserve(kg_cu_ptr *at, size_t bytes, size_t alignment, kg_cu_ptr wanted,
                        unsigned long long flags)
{
    (void)alignment;
    (void)wanted;
    (void)flags;
    void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *at = (uintptr_t)p;
    return p != MAP_FAILED ? 0 : KG_CU_OUT_OF_MEMORY;
}
int cuMemAddressFree(kg_cu_ptr at, size_t bytes)
{
    return munmap((void *)(uintptr_t)at, bytes) == 0 ? 0 : 1;
}
int cuMemMap(kg_cu_ptr at, size_t bytes, size_t offset, kg_cu_handle handle,
             unsigned long long flags)
{
    (void)flags;
    struct stat st;
    MAY_FAIL();
    if (fstat((int)handle - 1, &st) != 0 || (size_t)st.st_size != bytes || offset != 0) {
        return 1;
    }
    void *p =
        mmap((void *)(uintptr_t)at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)handle - 1, 0);
    return p != MAP_FAILED ? 0 : 1;
}
int cuMemUnmap(kg_cu_ptr at, size_t bytes)
{
    void *p = mmap((void *)(uintptr_t)at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                   -1, 0);
    return p != MAP_FAILED ? 0 : 1;
}
int cuMemSetAccess(kg_cu_ptr at, size_t bytes, const struct kg_cu_mem_access *access, size_t count)
{
    int prot = PROT_READ | (access->flags == KG_CU_MEM_READ_WRITE ? PROT_WRITE : 0);
    return count == 1 && mprotect((void *)(uintptr_t)at, bytes, prot) == 0 ? 0 : 1;
}
int cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
    (void)flags;
    *at = malloc(bytes);
    return *at != NULL ? 0 : KG_CU_OUT_OF_MEMORY;
}
int cuMemFreeHost(void *at)
{
    free(at);
    return 0;
}
int cuMemHostGetDevicePointer_v2(kg_cu_ptr *at, void *host, unsigned flags)
{
    (void)flags;
    *at = (uintptr_t)host;
    return 0;
}

/* Where the host's memory may be waited on. Streams run at once here, so nobody waits. */
static uintptr_t told_of, told_end;
int cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags)
{
    MAY_FAIL();
    told_of = (uintptr_t)at;
    told_end = told_of + bytes;
    return flags == KG_CU_HOST_MAPPED ? 0 : 1;
}
int cuStreamWaitValue32_v2(struct kg_cu_stream *stream, kg_cu_ptr at, uint32_t value,
                           unsigned flags)
{
    (void)stream;
    (void)value;
    return flags == 0 && at % 4 == 0 && at >= told_of && at + 4 <= told_end ? 0 : 1;
}
int cuStreamWriteValue32_v2(struct kg_cu_stream *stream, kg_cu_ptr at, uint32_t value,
                            unsigned flags)
{
    if (cuStreamWaitValue32_v2(stream, at, value, flags) != 0) {
        return 1;
    }
    *(uint32_t *)(uintptr_t)at = value;
    return 0;
}
int cuMemcpyHtoDAsync_v2(kg_cu_ptr to, const void *from, size_t bytes, struct kg_cu_stream *stream)
{
    (void)stream;
    MAY_FAIL();
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, kg_cu_ptr from, size_t bytes, struct kg_cu_stream *stream)
{
    (void)stream;
    MAY_FAIL();
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}
int cuMemcpyDtoDAsync_v2(kg_cu_ptr to, kg_cu_ptr from, size_t bytes, struct kg_cu_stream *stream)
{
    (void)stream;
    MAY_FAIL();
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return 0;
}
int cuMemsetD8Async(kg_cu_ptr at, unsigned char value, size_t bytes, struct kg_cu_stream *stream)
{
    (void)stream;
    MAY_FAIL();
    memset((void *)(uintptr_t)at, value, bytes);
    return 0;
}
int cuStreamCreate(struct kg_cu_stream **stream, unsigned flags)
{
    (void)flags;
    *stream = (struct kg_cu_stream *)(void *)&stream_dummy;
    return 0;
}
int cuStreamDestroy_v2(struct kg_cu_stream *stream)
{
    (void)stream;
    return 0;
}
int cuStreamSynchronize(struct kg_cu_stream *stream)
{
    (void)stream;
    MAY_FAIL();
    return 0;
}
int cuStreamQuery(struct kg_cu_stream *stream)
{
    (void)stream;
    return 0;
}

struct kg_cu_event {
    struct timespec at;
};
int cuEventCreate(struct kg_cu_event **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return *event != NULL ? 0 : KG_CU_OUT_OF_MEMORY;
}
int cuEventDestroy_v2(struct kg_cu_event *event)
{
    free(event);
    return 0;
}
int cuEventRecord(struct kg_cu_event *event, struct kg_cu_stream *stream)
{
    (void)stream;
    return clock_gettime(CLOCK_MONOTONIC, &event->at) == 0 ? 0 : 1;
}
int cuEventSynchronize(struct kg_cu_event *event)
{
    (void)event;
    return 0;
}
int cuEventElapsedTime(float *ms, struct kg_cu_event *from, struct kg_cu_event *to)
{
    *ms = (float)(to->at.tv_sec - from->at.tv_sec) * 1e3f +
          (float)(to->at.tv_nsec - from->at.tv_nsec) * 1e-6f;
    return 0;
}
int cuModuleLoadData(struct kg_cu_module **module, const void *image)
{
    (void)image;
    MAY_FAIL();
    *module = (struct kg_cu_module *)(void *)&module_dummy;
    return 0;
}
int cuModuleUnload(struct kg_cu_module *module)
{
    (void)module;
    return 0;
}
int cuModuleGetFunction(struct kg_cu_function **function, struct kg_cu_module *module,
                        const char *name)
{
    (void)module;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) == 0) {
            *function = &functions[i];
            return 0;
        }
    }
    return 500;
}
int cuLaunchKernel(struct kg_cu_function *function, unsigned grid_x, unsigned grid_y,
                   unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared_bytes, struct kg_cu_stream *stream, void **params, void **extra)
{
    (void)stream;
    (void)extra;
    MAY_FAIL();
    if (grid_x == 0 || grid_y == 0 || grid_y > 65535 || grid_z != 1 || block_x == 0 ||
        block_x > 1024 || block_y != 1 || block_z != 1 || shared_bytes != 0) {
        return 1;
    }
    threadIdx.x = 0;
    blockDim.x = 1;
    gridDim.x = grid_x;
    gridDim.y = grid_y;
    for (blockIdx.y = 0; blockIdx.y < grid_y; blockIdx.y++) {
        for (blockIdx.x = 0; blockIdx.x < grid_x; blockIdx.x++) {
            function->run(params);
        }
    }
    return 0;
}

/* ---- NVRTC ---- */

struct kg_nvrtc_program {
    int kernels;
};
int nvrtcVersion(int *major, int *minor)
{
    *major = *minor = 0;
    return 0;
}
int nvrtcCreateProgram(struct kg_nvrtc_program **program, const char *source, const char *name,
                       int nheaders, const char *const *headers, const char *const *names)
{
    (void)name;
    (void)nheaders;
    (void)headers;
    (void)names;
    MAY_FAIL();
    *program = calloc(1, sizeof **program);
    if (*program != NULL) {
        (*program)->kernels = strstr(source, "KERNEL") != NULL;
    }
    return *program != NULL ? 0 : 1;
}
int nvrtcDestroyProgram(struct kg_nvrtc_program **program)
{
    free(*program);
    return 0;
}
int nvrtcCompileProgram(struct kg_nvrtc_program *program, int noptions, const char *const *options)
{
    (void)noptions;
    (void)options;
    MAY_FAIL();
    return program->kernels ? 0 : 6;
}
static const char log_text[] = "kgym.cu(1): warning: fake\nkgym.cu(7): error: fake\n";
int nvrtcGetProgramLogSize(struct kg_nvrtc_program *program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof log_text;
    return 0;
}
int nvrtcGetProgramLog(struct kg_nvrtc_program *program, char *log)
{
    (void)program;
    memcpy(log, log_text, sizeof log_text);
    return 0;
}
int nvrtcGetCUBINSize(struct kg_nvrtc_program *program, size_t *bytes)
{
    (void)program;
    *bytes = 16;
    return 0;
}
int nvrtcGetCUBIN(struct kg_nvrtc_program *program, char *cubin)
{
    (void)program;
    memset(cubin, 'x', 16);
    return 0;
}
