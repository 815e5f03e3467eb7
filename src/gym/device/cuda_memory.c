/* Private and exported memory on a GPU, and copies. Regions of an ended runner are kept idle for
 * the next one, because the driver takes 20 ms to make and free them. */
#include <string.h>
#include <unistd.h>

#include "gym/device/cuda.h"

#define IDLE 2 /* most idle regions: IN and OUT of one runner */

static void drop(struct kg_cuda *c, struct kg_cuda_export *e)
{
    if (e->at != 0) {
        kg_cuda_note(c, c->cu.stream_sync(c->stream), "unexport");
        kg_cuda_note(c, c->cu.mem_unmap(e->at, e->bytes), "unmap");
        kg_cuda_note(c, c->cu.mem_unreserve(e->at, e->bytes), "unmap");
    }
    if (e->handle != 0) { /* a runner that still maps the memory keeps it until it ends */
        kg_cuda_note(c, c->cu.mem_release(e->handle), "release");
    }
    *e = (struct kg_cuda_export){0};
}

/* Frees idle regions but for the `most` latest. True if one was freed. */
static bool drop_idle(struct kg_cuda *c, uint64_t most)
{
    bool some = false;
    for (size_t i = 0; i < KG_CUDA_EXPORTS; i++) {
        struct kg_cuda_export *e = &c->export[i];
        if (e->idle > 0 && e->idle + most <= c->idled) {
            drop(c, e);
            some = true;
        }
    }
    return some;
}

enum kg_code kg_cuda_alloc(struct kg_device *d, uint64_t bytes, uint64_t *at, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    int code = c->cu.mem_alloc(at, bytes > 0 ? bytes : 1);
    if (code == KG_CU_OUT_OF_MEMORY && drop_idle(c, 0)) {
        code = c->cu.mem_alloc(at, bytes > 0 ? bytes : 1);
    }
    if (code == KG_CU_OUT_OF_MEMORY) {
        return kg_fail_memory(
            err, KG_E_HOST,
            "judge: the device has no memory for %llu bytes; fewer --jobs take less",
            (unsigned long long)bytes);
    }
    return code == KG_CU_SUCCESS ? KG_OK : kg_cu_fail(&c->cu, code, "memory", err);
}

void kg_cuda_free(struct kg_device *d, uint64_t at)
{
    struct kg_cuda *c = kg_cuda_of(d);
    if (at != 0) {
        kg_cuda_note(c, c->cu.mem_free(at), "free"); /* the driver waits for work that uses it */
    }
}

/* Maps the allocation in this process. */
static int map_own(struct kg_cuda *c, struct kg_cuda_export *e)
{
    struct kg_cu_mem_access access = {{KG_CU_MEM_LOCATION_DEVICE, c->ordinal},
                                      KG_CU_MEM_READ_WRITE};
    int code = c->cu.mem_reserve(&e->at, e->bytes, 0, 0, 0);
    if (code != KG_CU_SUCCESS) {
        e->at = 0;
        return code;
    }
    code = c->cu.mem_map(e->at, e->bytes, 0, e->handle, 0);
    if (code != KG_CU_SUCCESS) {
        c->cu.mem_unreserve(e->at, e->bytes);
        e->at = 0;
        return code;
    }
    return c->cu.mem_access(e->at, e->bytes, &access, 1);
}

static int wipe(struct kg_cuda *c, const struct kg_cuda_export *e)
{
    int code = c->cu.set8(e->at, 0, e->bytes, c->stream);
    return code ? code : c->cu.stream_sync(c->stream);
}

static struct kg_cuda_export *slot_of(struct kg_cuda *c, uint64_t at)
{
    for (size_t i = 0; i < KG_CUDA_EXPORTS; i++) {
        if (c->export[i].at == at) {
            return &c->export[i];
        }
    }
    return NULL;
}

/* An idle region that is large enough, and larger by half at most; NULL: there is none. */
static struct kg_cuda_export *idle_for(struct kg_cuda *c, uint64_t bytes)
{
    for (size_t i = 0; i < KG_CUDA_EXPORTS; i++) {
        struct kg_cuda_export *e = &c->export[i];
        if (e->idle > 0 && e->bytes >= bytes && e->bytes - bytes <= bytes / 2) {
            return e;
        }
    }
    return NULL;
}

static int make(struct kg_cuda *c, uint64_t bytes, struct kg_cuda_export *e)
{
    struct kg_cu_mem_prop prop = {.type = KG_CU_MEM_TYPE_PINNED,
                                  .handle_types = KG_CU_MEM_HANDLE_POSIX,
                                  .location = {KG_CU_MEM_LOCATION_DEVICE, c->ordinal}};
    size_t unit = 0;
    int code = c->cu.mem_granularity(&unit, &prop, KG_CU_MEM_GRANULARITY_LEAST);
    if (code != KG_CU_SUCCESS) {
        return code;
    }
    unit = unit > 0 ? unit : 2u << 20;
    e->bytes = bytes > 0 ? (bytes + unit - 1) / unit * unit : unit;
    code = c->cu.mem_create(&e->handle, e->bytes, &prop, 0);
    if (code == KG_CU_OUT_OF_MEMORY && drop_idle(c, 0)) {
        code = c->cu.mem_create(&e->handle, e->bytes, &prop, 0);
    }
    return code ? code : map_own(c, e);
}

enum kg_code kg_cuda_export(struct kg_device *d, uint64_t *bytes, bool read_only, uint64_t *at,
                            int *fd, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    struct kg_cuda_export *found = idle_for(c, *bytes), *e = found ? found : slot_of(c, 0);
    (void)read_only; /* a process that holds the descriptor can always write */
    if (e == NULL) {
        return kg_fail(err, KG_E_LIMIT, "judge: more than %d exported regions", KG_CUDA_EXPORTS);
    }
    e->idle = 0;
    int code = found ? KG_CU_SUCCESS : make(c, *bytes, e);
    code = code ? code : wipe(c, e);
    code = code ? code : c->cu.mem_export(fd, e->handle, KG_CU_MEM_HANDLE_POSIX, 0);
    if (code != KG_CU_SUCCESS) {
        drop(c, e);
        return kg_cu_fail(&c->cu, code, "exported memory", err);
    }
    *bytes = e->bytes;
    *at = e->at;
    return KG_OK;
}

void kg_cuda_unexport(struct kg_device *d, uint64_t at, bool again)
{
    struct kg_cuda *c = kg_cuda_of(d);
    struct kg_cuda_export *e = at != 0 ? slot_of(c, at) : NULL;
    if (e != NULL && again) {
        e->idle = ++c->idled;
        drop_idle(c, IDLE);
    } else if (e != NULL) {
        drop(c, e);
    }
}

void kg_cuda_trim(struct kg_device *d)
{
    drop_idle(kg_cuda_of(d), 0);
}

void kg_cuda_copy(struct kg_device *d, uint64_t dst, uint64_t src, uint64_t bytes)
{
    struct kg_cuda *c = kg_cuda_of(d);
    if (bytes > 0) {
        kg_cuda_note(c, c->cu.copy(dst, src, bytes, c->stream), "copy");
    }
}

void kg_cuda_upload(struct kg_device *d, uint64_t dst, const void *src, uint64_t bytes)
{
    struct kg_cuda *c = kg_cuda_of(d);
    if (bytes > 0 && kg_cuda_note(c, c->cu.to_device(dst, src, bytes, c->stream), "upload")) {
        kg_cuda_note(c, c->cu.stream_sync(c->stream), "upload");
    }
}

enum kg_code kg_cuda_download(struct kg_device *d, void *dst, uint64_t src, uint64_t bytes,
                              struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    if (bytes > 0) {
        kg_cuda_note(c, c->cu.to_host(dst, src, bytes, c->stream), "download");
    }
    return kg_cuda_wait(c, "download", err);
}

/* Pinned: the driver copies other memory of the host through a buffer of its own, and the first
 * copy also makes its pages. */
void *kg_cuda_host_alloc(struct kg_device *d, uint64_t bytes)
{
    void *at = NULL;
    int code = kg_cuda_of(d)->cu.host_alloc(&at, bytes > 0 ? bytes : 1, KG_CU_HOST_PORTABLE);
    return code == KG_CU_SUCCESS ? at : NULL;
}

void kg_cuda_host_free(struct kg_device *d, void *at)
{
    struct kg_cuda *c = kg_cuda_of(d);
    if (at != NULL) {
        kg_cuda_note(c, c->cu.host_free(at), "free");
    }
}
