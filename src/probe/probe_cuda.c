#include "probe/probe_cuda.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gym/device/cuda_driver.h"
#include "probe/blocks.h"

#define SPIN_NS 20000000

static struct kg_cu cu;
static struct kg_probe_map mapped;
static struct kg_cu_ctx *context;
static struct kg_cu_function *empty;
static char why[256] = "not attached";

static struct kg_blocks arena;
static uint64_t outside;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The driver compiles it for the device at hand. */
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
    if (cu.error_name == NULL || cu.error_name(code, &name) != KG_CU_SUCCESS) {
        name = NULL;
    }
    snprintf(why, sizeof why, "%s: %s (%d)", what, name ? name : "unknown error", code);
    return -1;
}

static int load(void)
{
    if (cu.library != NULL) {
        return 0;
    }
    const char *named = getenv("KGYM_LIBCUDA");
    void *library = dlopen(named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(why, sizeof why, "%s", dlerror());
        return -1;
    }
#define LOAD(field, sym, params)                                                                   \
    *(void **)&cu.field = dlsym(library, #sym);                                                    \
    if (cu.field == NULL) {                                                                        \
        snprintf(why, sizeof why, "libcuda.so.1 has no %s", #sym);                                 \
        return -1;                                                                                 \
    }
    KG_CU_FUNCTIONS(LOAD)
#undef LOAD
    cu.library = library;
    return 0;
}

static int map_region(int ordinal, int fd, uint64_t bytes, uint64_t *at)
{
    struct kg_cu_mem_access access = {{KG_CU_MEM_LOCATION_DEVICE, ordinal}, KG_CU_MEM_READ_WRITE};
    kg_cu_handle handle = 0;
    if (failed(cu.mem_import(&handle, (void *)(uintptr_t)fd, KG_CU_MEM_HANDLE_POSIX), "import") ||
        failed(cu.mem_reserve(at, bytes, 0, 0, 0), "reserve addresses") ||
        failed(cu.mem_map(*at, bytes, 0, handle, 0), "map")) {
        return -1;
    }
    cu.mem_release(handle); /* the mapping keeps the memory */
    return failed(cu.mem_access(*at, bytes, &access, 1), "set access");
}

int kg_probe_cuda_attach(int ordinal, int in_fd, uint64_t in_bytes, int out_fd, uint64_t out_bytes,
                         struct kg_probe_map *out)
{
    kg_cu_device device = 0;
    if (load() != 0 || failed(cu.init(0), "cuInit") ||
        failed(cu.device_get(&device, ordinal), "device") ||
        failed(cu.ctx_retain(&context, device), "context") ||
        failed(cu.ctx_set(context), "context") ||
        map_region(ordinal, in_fd, in_bytes, &mapped.in) != 0 ||
        map_region(ordinal, out_fd, out_bytes, &mapped.out) != 0) {
        return -1;
    }
    mapped.in_bytes = in_bytes;
    mapped.out_bytes = out_bytes;
    *out = mapped;
    snprintf(why, sizeof why, "no error");
    return 0;
}

/* When it is called for, which few runners are: the driver's compiler takes a while to load. */
static int load_empty(void)
{
    struct kg_cu_module *module = NULL;
    if (mapped.out_bytes == 0) { /* not attached, and it was said why */
        return -1;
    }
    return failed(cu.module_load(&module, empty_ptx), "empty kernel") ||
                   failed(cu.module_function(&empty, module, "kg_empty"), "empty kernel")
               ? -1
               : 0;
}

int kg_probe_cuda_null(void *stream)
{
    if (empty == NULL && load_empty() != 0) {
        return -1;
    }
    return failed(cu.launch(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), "empty kernel");
}

int kg_probe_cuda_sync(void)
{
    return cu.library != NULL ? cu.ctx_sync() : -1;
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

void kg_out_range(uint64_t from, uint64_t to)
{
    pthread_mutex_lock(&lock);
    to = to < mapped.out_bytes ? to : mapped.out_bytes;
    kg_blocks_reset(&arena, from, to);
    pthread_mutex_unlock(&lock);
}

void kg_out_used(uint64_t *arena_bytes, uint64_t *outside_bytes)
{
    pthread_mutex_lock(&lock);
    *arena_bytes = arena.used;
    *outside_bytes = outside;
    pthread_mutex_unlock(&lock);
}

void *kg_out_alloc(ssize_t bytes, int device, void *stream)
{
    uint64_t at = 0, offset = 0;
    (void)device;
    (void)stream;
    if (bytes <= 0) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    if (kg_blocks_take(&arena, (uint64_t)bytes, &offset)) {
        at = mapped.out + offset;
    } else if (cu.library != NULL && cu.mem_alloc(&at, (size_t)bytes) == KG_CU_SUCCESS) {
        outside += (uint64_t)bytes;
    } else {
        at = 0;
    }
    pthread_mutex_unlock(&lock);
    return (void *)(uintptr_t)at;
}

void kg_out_free(void *at, ssize_t bytes, int device, void *stream)
{
    uint64_t where = (uint64_t)(uintptr_t)at;
    (void)device;
    (void)stream;
    if (at == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (where >= mapped.out && where < mapped.out + mapped.out_bytes) {
        kg_blocks_give(&arena, where - mapped.out);
    } else {
        cu.mem_free(where);
        outside -= outside < (uint64_t)bytes ? outside : (uint64_t)bytes;
    }
    pthread_mutex_unlock(&lock);
}
