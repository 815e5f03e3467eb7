/* Declarations of those functions of the CUDA driver and of NVRTC that kgym uses. With them kgym
 * builds without any file of CUDA.
 *
 * The libraries are loaded when a device is opened (cuda_api.h), or when a runner attaches to one
 * (src/probe). Names, values and layouts are CUDA's stable binary interface, versions 11.2 to 13.
 * test_cuda_api compares them with the toolkit's header where there is one.
 * Source: cuda.h and nvrtc.h of CUDA 13.0. */
#ifndef KG_GYM_DEVICE_CUDA_DRIVER_H
#define KG_GYM_DEVICE_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int kg_cu_device;
typedef uint64_t kg_cu_ptr;    /* an address on the device */
typedef uint64_t kg_cu_handle; /* a handle of a cuMemCreate allocation */
struct kg_cu_ctx;
struct kg_cu_stream;
struct kg_cu_event;
struct kg_cu_module;
struct kg_cu_function;

/* Values of enum CUresult. */
#define KG_CU_SUCCESS       0
#define KG_CU_OUT_OF_MEMORY 2
#define KG_CU_STUB_LIBRARY  34
#define KG_CU_NO_DEVICE     100
#define KG_CU_BAD_DEVICE    101
#define KG_CU_NOT_READY     600

/* Values of enum CUdevice_attribute, then flags and options of single calls. */
#define KG_CU_ATTR_MULTIPROCESSORS  16
#define KG_CU_ATTR_L2_BYTES         38
#define KG_CU_ATTR_MAJOR            75
#define KG_CU_ATTR_MINOR            76
#define KG_CU_ATTR_VIRTUAL_MEMORY   102
#define KG_CU_ATTR_POSIX_HANDLES    103
#define KG_CU_ATTR_MAX_PERSISTING   108
#define KG_CU_CTX_SCHED_SPIN        1
#define KG_CU_STREAM_NON_BLOCKING   1
#define KG_CU_HOST_PORTABLE         1
#define KG_CU_HOST_MAPPED           2
#define KG_CU_LIMIT_PERSISTING_L2   6
#define KG_CU_MEM_TYPE_PINNED       1
#define KG_CU_MEM_LOCATION_DEVICE   1
#define KG_CU_MEM_HANDLE_POSIX      1
#define KG_CU_MEM_READ              1
#define KG_CU_MEM_READ_WRITE        3
#define KG_CU_MEM_GRANULARITY_LEAST 0

struct kg_cu_location {
    int type, id;
};
struct kg_cu_mem_prop { /* CUmemAllocationProp */
    int type, handle_types;
    struct kg_cu_location location;
    void *win32;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
};
struct kg_cu_mem_access { /* CUmemAccessDesc */
    struct kg_cu_location location;
    int flags;
};

/* clang-format off */
/* X(field, symbol, parameters): the driver's functions; each returns a CUresult. */
#define KG_CU_FUNCTIONS(X)                                                                         \
    X(init, cuInit, (unsigned flags))                                                              \
    X(driver_version, cuDriverGetVersion, (int *version))                                          \
    X(error_name, cuGetErrorName, (int error, const char **text))                                  \
    X(error_string, cuGetErrorString, (int error, const char **text))                              \
    X(device_get, cuDeviceGet, (kg_cu_device *device, int ordinal))                                \
    X(device_count, cuDeviceGetCount, (int *count))                                                \
    X(device_name, cuDeviceGetName, (char *name, int bytes, kg_cu_device device))                  \
    X(device_bus, cuDeviceGetPCIBusId, (char *text, int bytes, kg_cu_device device))               \
    X(device_bytes, cuDeviceTotalMem_v2, (size_t *bytes, kg_cu_device device))                     \
    X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, kg_cu_device device))    \
    X(ctx_retain, cuDevicePrimaryCtxRetain, (struct kg_cu_ctx **ctx, kg_cu_device device))         \
    X(ctx_flags, cuDevicePrimaryCtxSetFlags_v2, (kg_cu_device device, unsigned flags))             \
    X(ctx_release, cuDevicePrimaryCtxRelease_v2, (kg_cu_device device))                            \
    X(ctx_set, cuCtxSetCurrent, (struct kg_cu_ctx *ctx))                                           \
    X(ctx_get, cuCtxGetCurrent, (struct kg_cu_ctx **ctx))                                          \
    X(ctx_sync, cuCtxSynchronize, (void))                                                          \
    X(ctx_limit, cuCtxSetLimit, (int limit, size_t value))                                         \
    X(ctx_reset_l2, cuCtxResetPersistingL2Cache, (void))                                           \
    X(mem_info, cuMemGetInfo_v2, (size_t *unused, size_t *total))                                  \
    X(mem_alloc, cuMemAlloc_v2, (kg_cu_ptr *at, size_t bytes))                                     \
    X(mem_free, cuMemFree_v2, (kg_cu_ptr at))                                                      \
    X(mem_granularity, cuMemGetAllocationGranularity,                                              \
      (size_t *bytes, const struct kg_cu_mem_prop *prop, int option))                              \
    X(mem_create, cuMemCreate,                                                                     \
      (kg_cu_handle *handle, size_t bytes, const struct kg_cu_mem_prop *prop,                      \
       unsigned long long flags))                                                                  \
    X(mem_release, cuMemRelease, (kg_cu_handle handle))                                            \
    X(mem_export, cuMemExportToShareableHandle,                                                    \
      (void *fd, kg_cu_handle handle, int type, unsigned long long flags))                         \
    X(mem_import, cuMemImportFromShareableHandle, (kg_cu_handle *handle, void *fd, int type))      \
    X(mem_reserve, cuMemAddressReserve,                                                            \
      (kg_cu_ptr *at, size_t bytes, size_t alignment, kg_cu_ptr wanted,                            \
       unsigned long long flags))                                                                  \
    X(mem_unreserve, cuMemAddressFree, (kg_cu_ptr at, size_t bytes))                               \
    X(mem_map, cuMemMap,                                                                           \
      (kg_cu_ptr at, size_t bytes, size_t offset, kg_cu_handle handle, unsigned long long flags))  \
    X(mem_unmap, cuMemUnmap, (kg_cu_ptr at, size_t bytes))                                         \
    X(mem_access, cuMemSetAccess,                                                                  \
      (kg_cu_ptr at, size_t bytes, const struct kg_cu_mem_access *access, size_t count))           \
    X(host_alloc, cuMemHostAlloc, (void **at, size_t bytes, unsigned flags))                       \
    X(host_free, cuMemFreeHost, (void *at))                                                        \
    X(host_ptr, cuMemHostGetDevicePointer_v2, (kg_cu_ptr *at, void *host, unsigned flags))         \
    X(to_device, cuMemcpyHtoDAsync_v2,                                                             \
      (kg_cu_ptr to, const void *from, size_t bytes, struct kg_cu_stream *stream))                 \
    X(to_host, cuMemcpyDtoHAsync_v2,                                                               \
      (void *to, kg_cu_ptr from, size_t bytes, struct kg_cu_stream *stream))                       \
    X(copy, cuMemcpyDtoDAsync_v2,                                                                  \
      (kg_cu_ptr to, kg_cu_ptr from, size_t bytes, struct kg_cu_stream *stream))                   \
    X(set8, cuMemsetD8Async,                                                                       \
      (kg_cu_ptr at, unsigned char value, size_t bytes, struct kg_cu_stream *stream))              \
    X(stream_create, cuStreamCreate, (struct kg_cu_stream **stream, unsigned flags))               \
    X(stream_destroy, cuStreamDestroy_v2, (struct kg_cu_stream *stream))                           \
    X(stream_sync, cuStreamSynchronize, (struct kg_cu_stream *stream))                             \
    X(stream_query, cuStreamQuery, (struct kg_cu_stream *stream))                                  \
    X(event_create, cuEventCreate, (struct kg_cu_event **event, unsigned flags))                   \
    X(event_destroy, cuEventDestroy_v2, (struct kg_cu_event *event))                               \
    X(event_record, cuEventRecord, (struct kg_cu_event *event, struct kg_cu_stream *stream))       \
    X(event_sync, cuEventSynchronize, (struct kg_cu_event *event))                                 \
    X(event_elapsed, cuEventElapsedTime,                                                           \
      (float *ms, struct kg_cu_event *from, struct kg_cu_event *to))                               \
    X(module_load, cuModuleLoadData, (struct kg_cu_module **module, const void *image))            \
    X(module_unload, cuModuleUnload, (struct kg_cu_module *module))                                \
    X(module_function, cuModuleGetFunction,                                                        \
      (struct kg_cu_function **function, struct kg_cu_module *module, const char *name))           \
    X(launch, cuLaunchKernel,                                                                      \
      (struct kg_cu_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,         \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                \
       struct kg_cu_stream *stream, void **params, void **extra))

/* Functions that a driver may lack: those of streams came with CUDA 11.7. */
#define KG_CU_GATE_FUNCTIONS(X)                                                                    \
    X(host_register, cuMemHostRegister_v2, (void *at, size_t bytes, unsigned flags))               \
    X(stream_wait, cuStreamWaitValue32_v2,                                                         \
      (struct kg_cu_stream *stream, kg_cu_ptr at, uint32_t value, unsigned flags))                 \
    X(stream_write, cuStreamWriteValue32_v2,                                                       \
      (struct kg_cu_stream *stream, kg_cu_ptr at, uint32_t value, unsigned flags))

/* X(field, symbol, parameters): NVRTC's functions; each returns an nvrtcResult, 0 for success. */
struct kg_nvrtc_program;
#define KG_NVRTC_FUNCTIONS(X)                                                                      \
    X(version, nvrtcVersion, (int *major, int *minor))                                             \
    X(create, nvrtcCreateProgram,                                                                  \
      (struct kg_nvrtc_program **program, const char *source, const char *name, int nheaders,      \
       const char *const *headers, const char *const *names))                                      \
    X(destroy, nvrtcDestroyProgram, (struct kg_nvrtc_program **program))                           \
    X(compile, nvrtcCompileProgram,                                                                \
      (struct kg_nvrtc_program *program, int noptions, const char *const *options))                \
    X(log_bytes, nvrtcGetProgramLogSize, (struct kg_nvrtc_program *program, size_t *bytes))        \
    X(log, nvrtcGetProgramLog, (struct kg_nvrtc_program *program, char *log))                      \
    X(cubin_bytes, nvrtcGetCUBINSize, (struct kg_nvrtc_program *program, size_t *bytes))           \
    X(cubin, nvrtcGetCUBIN, (struct kg_nvrtc_program *program, char *cubin))

/* clang-format on */

#define KG_CU_FIELD(field, symbol, params) int(*field) params; /* NOLINT: no expressions */
/* Tables of loaded functions; kg_cu_load and kg_nvrtc_load fill them. */
struct kg_cu {
    void *library;
    KG_CU_FUNCTIONS(KG_CU_FIELD)
};
struct kg_cu_gate {
    KG_CU_GATE_FUNCTIONS(KG_CU_FIELD)
};
struct kg_nvrtc {
    void *library;
    KG_NVRTC_FUNCTIONS(KG_CU_FIELD)
};

#endif
