/* The CUDA row of the device table: opening and closing the device, its facts, flush, sync and
 * bandwidth. Other cuda_*.c files hold the operations on memory. */
#include "gym/device/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define BLOCKS_PER_PROCESSOR 8
#define PROBE_BYTES          ((size_t)128 << 20)

bool kg_cuda_note(struct kg_cuda *c, int code, const char *what)
{
    if (code != KG_CU_SUCCESS && c->failed == KG_CU_SUCCESS) {
        c->failed = code;
        c->failed_at = what;
    }
    return code == KG_CU_SUCCESS;
}

unsigned kg_cuda_blocks(const struct kg_cuda *c, uint64_t n, unsigned most)
{
    uint64_t blocks = (n + KG_CUDA_BLOCK - 1) / KG_CUDA_BLOCK;
    uint64_t full = (uint64_t)c->processors * BLOCKS_PER_PROCESSOR;
    blocks = blocks < full ? blocks : full;
    blocks = blocks < most ? blocks : most;
    return blocks > 0 ? (unsigned)blocks : 1;
}

static const char *const kernel_names[] = {
#define NAME(name) "kg_" #name,
    KG_CUDA_KERNELS(NAME)
#undef NAME
};

void kg_cuda_launch(struct kg_cuda *c, enum kg_cuda_kernel kernel, unsigned blocks, unsigned rows,
                    void **params)
{
    int code = c->cu.launch(c->kernel[kernel], blocks, rows, 1, KG_CUDA_BLOCK, 1, 1, 0, c->stream,
                            params, NULL);
    kg_cuda_note(c, code, kernel_names[kernel]);
}

enum kg_code kg_cuda_wait(struct kg_cuda *c, const char *what, struct kg_err *err)
{
    kg_cuda_note(c, c->cu.stream_sync(c->stream), what);
    if (c->failed == KG_CU_SUCCESS) {
        return KG_OK;
    }
    kg_cu_fail(&c->cu, c->failed, c->failed_at, err);
    c->failed = KG_CU_SUCCESS;
    return err->code;
}

static void cuda_flush(struct kg_device *d)
{
    struct kg_cuda *c = kg_cuda_of(d);
    uint64_t words = c->sweep_bytes / 8, sink = c->scratch + KG_CUDA_FREE;
    void *params[] = {&c->sweep, &words, &sink};
    c->cu.ctx_reset_l2(); /* refused where there are no persisting lines */
    kg_cuda_launch(c, KG_CUDA_flush, kg_cuda_blocks(c, words, UINT32_MAX), 1, params);
}

static enum kg_code cuda_sync(struct kg_device *d, struct kg_err *err)
{
    return kg_cuda_wait(kg_cuda_of(d), "wait", err);
}

static int64_t cuda_clock(struct kg_device *d)
{
    (void)d;
    return kg_clock_ns();
}

static enum kg_code open_context(struct kg_cuda *c, struct kg_err *err)
{
    int count = 0, code = c->cu.init(0);
    if (code != KG_CU_SUCCESS) {
        return kg_cu_fail(&c->cu, code,
                          code == KG_CU_STUB_LIBRARY ? "the toolkit's stub is no driver" : "cuInit",
                          err);
    }
    if (c->cu.device_count(&count) != KG_CU_SUCCESS || c->ordinal >= count) {
        return kg_fail(err, KG_E_HOST, "CUDA: no device %d: there are %d", c->ordinal, count);
    }
    code = c->cu.device_get(&c->device, c->ordinal);
    /* Waits spin, so that a window ends as soon as its result is there. The flag is refused only
     * for a context that already exists; here it does not. */
    code = code ? code : c->cu.ctx_flags(c->device, KG_CU_CTX_SCHED_SPIN);
    code = code ? code : c->cu.ctx_retain(&c->ctx, c->device);
    code = code ? code : c->cu.ctx_set(c->ctx);
    code = code ? code : c->cu.stream_create(&c->stream, KG_CU_STREAM_NON_BLOCKING);
    if (code != KG_CU_SUCCESS) {
        return kg_cu_fail(&c->cu, code, "context", err);
    }
    c->cu.ctx_limit(KG_CU_LIMIT_PERSISTING_L2, 0); /* refused where there are no persisting lines */
    return KG_OK;
}

static int attribute(struct kg_cuda *c, int which)
{
    int value = 0;
    return c->cu.device_attribute(&value, which, c->device) == KG_CU_SUCCESS ? value : 0;
}

static enum kg_code read_facts(struct kg_device *d, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    size_t bytes = 0;
    int version = 0;
    c->major = attribute(c, KG_CU_ATTR_MAJOR);
    c->minor = attribute(c, KG_CU_ATTR_MINOR);
    c->processors = attribute(c, KG_CU_ATTR_MULTIPROCESSORS);
    d->facts.l2_bytes = attribute(c, KG_CU_ATTR_L2_BYTES);
    if (c->cu.device_name(d->facts.name, sizeof d->facts.name, c->device) != KG_CU_SUCCESS ||
        c->cu.device_bus(d->facts.bus, sizeof d->facts.bus, c->device) != KG_CU_SUCCESS ||
        c->cu.device_bytes(&bytes, c->device) != KG_CU_SUCCESS ||
        c->cu.driver_version(&version) != KG_CU_SUCCESS || c->processors <= 0) {
        return kg_fail(err, KG_E_HOST, "CUDA: device %d does not say what it is", c->ordinal);
    }
    if (!attribute(c, KG_CU_ATTR_VIRTUAL_MEMORY) || !attribute(c, KG_CU_ATTR_POSIX_HANDLES)) {
        return kg_fail(err, KG_E_HOST,
                       "CUDA: %s cannot pass memory to another process by a descriptor",
                       d->facts.name);
    }
    d->facts.memory_bytes = (int64_t)bytes;
    size_t left = 0, all = 0;
    d->facts.free_bytes =
        c->cu.mem_info(&left, &all) == KG_CU_SUCCESS ? (int64_t)left : (int64_t)bytes;
    d->facts.clock = true;
    snprintf(d->facts.driver, sizeof d->facts.driver, "CUDA %d.%d", version / 1000,
             version % 1000 / 10);
    snprintf(d->facts.exchange, sizeof d->facts.exchange, "cumem");
    return KG_OK;
}

static enum kg_code load_kernels(struct kg_cuda *c, struct kg_err *err)
{
    void *image = NULL;
    if (kg_cuda_image(c->major, c->minor, &image, err) != KG_OK) {
        return err->code;
    }
    int code = c->cu.module_load(&c->module, image);
    free(image);
    for (int k = 0; k < KG_CUDA_KERNEL_COUNT && code == KG_CU_SUCCESS; k++) {
        code = c->cu.module_function(&c->kernel[k], c->module, kernel_names[k]);
    }
    return code == KG_CU_SUCCESS ? KG_OK : kg_cu_fail(&c->cu, code, "the judge's kernels", err);
}

static enum kg_code take_memory(struct kg_device *d, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    int64_t l2 = d->facts.l2_bytes > 0 ? d->facts.l2_bytes : 64 << 20;
    c->sweep_bytes = 2 * (uint64_t)l2 + (4u << 20);
    int code = c->cu.mem_alloc(&c->sweep, c->sweep_bytes);
    code = code ? code : c->cu.set8(c->sweep, 0x5a, c->sweep_bytes, c->stream);
    code = code ? code : c->cu.mem_alloc(&c->scratch, KG_CUDA_SCRATCH_BYTES);
    code = code ? code : c->cu.set8(c->scratch, 0, KG_CUDA_SCRATCH_BYTES, c->stream);
    code = code ? code
                : c->cu.host_alloc(&c->host, KG_CUDA_HOST_BYTES,
                                   KG_CU_HOST_PORTABLE | KG_CU_HOST_MAPPED);
    code = code ? code : c->cu.host_ptr(&c->host_at, c->host, 0);
    return code == KG_CU_SUCCESS ? kg_cuda_wait(c, "memory", err)
                                 : kg_cu_fail(&c->cu, code, "memory of the judge", err);
}

/* Bytes read and written per second by the device's own copy; the best of three. */
static enum kg_code cuda_bandwidth(struct kg_device *d, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    uint64_t at = 0;
    int64_t best = INT64_MAX;
    enum kg_code code = kg_cuda_alloc(d, 2 * PROBE_BYTES, &at, err);
    for (int i = 0; i < 4 && code == KG_OK; i++) { /* the first one starts things */
        int64_t t = kg_clock_ns();
        kg_cuda_copy(d, at, at + PROBE_BYTES, PROBE_BYTES);
        code = kg_cuda_wait(c, "copy", err);
        t = kg_clock_ns() - t;
        best = i > 0 && t < best ? t : best;
    }
    kg_cuda_free(d, at);
    double seen = 2.0 * (double)PROBE_BYTES / ((double)(best > 0 ? best : 1) * 1e-9);
    if (code == KG_OK && seen > d->facts.bandwidth) {
        d->facts.bandwidth = seen;
    }
    return code;
}

static void cuda_close(struct kg_device *d)
{
    struct kg_cuda *c = kg_cuda_of(d);
    if (c->ctx != NULL) { /* frees all memory of this process too */
        c->cu.ctx_sync();
        for (size_t i = 0; i < KG_CUDA_EXPORTS; i++) {
            kg_cuda_unexport(d, c->export[i].at, false);
        }
        kg_cuda_free(d, c->sweep);
        kg_cuda_free(d, c->scratch);
        if (c->host != NULL) {
            c->cu.host_free(c->host);
        }
        c->cu.ctx_release(c->device);
    }
    free(c);
    d->self = NULL;
}

static enum kg_code cuda_open(struct kg_device *d, const char *name, struct kg_err *err)
{
    const char *colon = strchr(name, ':');
    char *end = NULL;
    long ordinal = colon ? strtol(colon + 1, &end, 10) : 0;
    if (colon && (colon[1] == '\0' || *end != '\0' || ordinal < 0 || ordinal > 1023)) {
        return kg_fail(err, KG_E_USAGE, "%s: cuda or cuda:N", name);
    }
    struct kg_cuda *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "judge: no memory for the CUDA device");
    }
    c->ordinal = (int)ordinal;
    d->self = c;
    d->sealed = false;
    d->pooled = true;
    if (kg_cu_load(getenv("KGYM_LIBCUDA"), &c->cu, err) != KG_OK || open_context(c, err) != KG_OK ||
        read_facts(d, err) != KG_OK || load_kernels(c, err) != KG_OK ||
        take_memory(d, err) != KG_OK || cuda_bandwidth(d, err) != KG_OK) {
        cuda_close(d);
        return err->code;
    }
    return KG_OK;
}

const struct kg_device_ops kg_device_cuda = {
    .kind = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .alloc = kg_cuda_alloc,
    .free = kg_cuda_free,
    .export = kg_cuda_export,
    .unexport = kg_cuda_unexport,
    .trim = kg_cuda_trim,
    .copy = kg_cuda_copy,
    .upload = kg_cuda_upload,
    .download = kg_cuda_download,
    .host_alloc = kg_cuda_host_alloc,
    .host_free = kg_cuda_host_free,
    .fill = kg_cuda_fill,
    .pattern = kg_cuda_pattern,
    .check = kg_cuda_check,
    .digest = kg_cuda_digest,
    .inspect = kg_cuda_inspect,
    .take = kg_cuda_take,
    .widen = kg_cuda_widen,
    .differ = kg_cuda_differ,
    .rejoin = kg_cuda_rejoin,
    .bounds = kg_cuda_bounds,
    .compare = kg_cuda_compare,
    .far = kg_cuda_far,
    .rms = kg_cuda_rms,
    .flush = cuda_flush,
    .sync = cuda_sync,
    .bandwidth = cuda_bandwidth,
    .clock = cuda_clock,
};
