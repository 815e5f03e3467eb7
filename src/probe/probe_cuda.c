/* Attaches a Python runner to the exported regions of a GPU, and launches the null runner's empty
 * kernel. */
#include "probe/probe_cuda.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gym/device/cuda_driver.h"

#define SPIN_NS 20000000

struct kg_cu kg_probe_cu;
struct kg_probe_map kg_probe_mapped;
static struct kg_cu_ctx *context;
static struct kg_cu_function *empty;
static char why[256] = "not attached";

/* The text of the empty kernel; the driver compiles it for the device at hand. */
static const char empty_ptx[] = ".version 7.0\n"
                                ".target sm_52\n"
                                ".address_size 64\n"
                                ".visible .entry kg_empty()\n"
                                "{\n"
                                "    ret;\n"
                                "}\n";

const char *kg_probe_cuda_error(void)
{
    return why;
}

static int failed(int code, const char *what)
{
    const char *name = NULL;
    if (code == KG_CU_SUCCESS) {
        return 0;
    }
    if (kg_probe_cu.error_name == NULL || kg_probe_cu.error_name(code, &name) != KG_CU_SUCCESS) {
        name = NULL;
    }
    snprintf(why, sizeof why, "%s: %s (%d)", what, name ? name : "unknown error", code);
    return -1;
}

static int load(void)
{
    if (kg_probe_cu.library != NULL) {
        return 0;
    }
    const char *named = getenv("KGYM_LIBCUDA");
    void *library = dlopen(named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(why, sizeof why, "%s", dlerror());
        return -1;
    }
#define LOAD(field, sym, params)                                                                   \
    *(void **)&kg_probe_cu.field = dlsym(library, #sym);                                           \
    if (kg_probe_cu.field == NULL) {                                                               \
        snprintf(why, sizeof why, "libcuda.so.1 has no %s", #sym);                                 \
        return -1;                                                                                 \
    }
    KG_CU_FUNCTIONS(LOAD)
#undef LOAD
    kg_probe_cu.library = library;
    return 0;
}

static int map_region(int ordinal, int fd, uint64_t bytes, uint64_t *at)
{
    struct kg_cu_mem_access access = {{KG_CU_MEM_LOCATION_DEVICE, ordinal}, KG_CU_MEM_READ_WRITE};
    kg_cu_handle handle = 0;
    if (failed(kg_probe_cu.mem_import(&handle, (void *)(uintptr_t)fd, KG_CU_MEM_HANDLE_POSIX),
               "import") ||
        failed(kg_probe_cu.mem_reserve(at, bytes, 0, 0, 0), "reserve addresses") ||
        failed(kg_probe_cu.mem_map(*at, bytes, 0, handle, 0), "map")) {
        return -1;
    }
    kg_probe_cu.mem_release(handle); /* the mapping keeps the memory */
    return failed(kg_probe_cu.mem_access(*at, bytes, &access, 1), "set access");
}

int kg_probe_cuda_attach(int ordinal, int in_fd, uint64_t in_bytes, int out_fd, uint64_t out_bytes,
                         struct kg_probe_map *out)
{
    kg_cu_device device = 0;
    if (load() != 0 || failed(kg_probe_cu.init(0), "cuInit") ||
        failed(kg_probe_cu.device_get(&device, ordinal), "device") ||
        failed(kg_probe_cu.ctx_retain(&context, device), "context") ||
        failed(kg_probe_cu.ctx_set(context), "context") ||
        map_region(ordinal, in_fd, in_bytes, &kg_probe_mapped.in) != 0 ||
        map_region(ordinal, out_fd, out_bytes, &kg_probe_mapped.out) != 0) {
        return -1;
    }
    kg_probe_mapped.in_bytes = in_bytes;
    kg_probe_mapped.out_bytes = out_bytes;
    *out = kg_probe_mapped;
    snprintf(why, sizeof why, "no error");
    return 0;
}

/* Loads the empty kernel on first use. Few runners need it, and the driver's compiler loads
 * slowly. */
static int load_empty(void)
{
    struct kg_cu_module *module = NULL;
    if (kg_probe_mapped.out_bytes == 0) { /* attach failed, and its error is still there */
        return -1;
    }
    return failed(kg_probe_cu.module_load(&module, empty_ptx), "empty kernel") ||
                   failed(kg_probe_cu.module_function(&empty, module, "kg_empty"), "empty kernel")
               ? -1
               : 0;
}

int kg_probe_cuda_null(void *stream)
{
    if (empty == NULL && load_empty() != 0) {
        return -1;
    }
    return failed(kg_probe_cu.launch(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL),
                  "empty kernel");
}

int kg_probe_cuda_sync(void)
{
    return kg_probe_cu.library != NULL ? kg_probe_cu.ctx_sync() : -1;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int kg_probe_cuda_finish(struct kg_twire *w, uint32_t number, int64_t begun_ns)
{
    int code = kg_probe_cuda_sync();
    if (code == 0) {
        w->call_ns = (uint64_t)(now_ns() - begun_ns);
        kg_probe_post(&w->done, number);
    }
    return code;
}

uint32_t kg_probe_cuda_wait(_Atomic uint32_t *word, uint32_t value)
{
    int64_t end = now_ns() + SPIN_NS;
    while (atomic_load_explicit(word, memory_order_acquire) == value && now_ns() < end) {
        __builtin_ia32_pause();
    }
    return kg_probe_wait(word, value);
}
