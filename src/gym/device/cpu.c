/* The host's row of the device table: private memory from the heap, exported memory from memfds. */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "gym/device/cpu.h"
#include "gym/device/device_law.h"
#include "gym/device/host_digest.h"
#include "gym/device/poison_pattern.h"

#define PAGE_BYTES 4096u
#define HUGE_BYTES ((size_t)2 << 20)
#define MOST_BYTES ((uint64_t)1 << 36)
/* The part stays in the L1 or L2 cache from copy to digest to search. */
#define PART_BYTES  ((size_t)32 * KG_HOST_DIGEST_BLOCK)
#define PROBE_BYTES ((size_t)16 << 20)
#define EXPORTS     64

struct host {
    struct kg_host_digest_key key;
    struct {
        void *map;
        size_t bytes;
    } export[EXPORTS];
    unsigned char *sweep; /* the buffer that flush writes to */
    size_t sweep_bytes;
};

static enum kg_code cpu_alloc(struct kg_device *d, uint64_t bytes, uint64_t *at, struct kg_err *err)
{
    (void)d;
    size_t unit = bytes >= 2 * HUGE_BYTES ? HUGE_BYTES : 256;
    size_t n = (size_t)((bytes + unit - 1) / unit * unit);
    void *p = bytes > MOST_BYTES ? NULL : aligned_alloc(unit, n > 0 ? n : unit);
    if (p == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "judge: no memory for %llu bytes",
                              (unsigned long long)bytes);
    }
    if (unit == HUGE_BYTES) {
        madvise(p, n, MADV_HUGEPAGE); /* may fail without harm */
    }
    *at = (uintptr_t)p;
    return KG_OK;
}

static void cpu_free(struct kg_device *d, uint64_t at)
{
    (void)d;
    free(kg_cpu_pointer(at));
}

/* Maps a memfd and seals its size. Without the seal a runner could shrink it, and the judge would
 * die of SIGBUS. read_only: also no new writable mapping after the judge's own. */
static void *map_sealed(int fd, size_t bytes, bool read_only, struct kg_err *err)
{
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (read_only ? F_SEAL_FUTURE_WRITE : 0);
    if (ftruncate(fd, (off_t)bytes) != 0) {
        kg_fail(err, KG_E_HOST, "cannot size a region to %zu bytes: %s", bytes, strerror(errno));
        return NULL;
    }
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        kg_fail(err, KG_E_HOST, "cannot map a region of %zu bytes: %s", bytes, strerror(errno));
        return NULL;
    }
    if (fcntl(fd, F_ADD_SEALS, seals) != 0) {
        kg_fail(err, KG_E_HOST, "cannot seal a region: %s", strerror(errno));
        munmap(p, bytes);
        return NULL;
    }
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static enum kg_code cpu_export(struct kg_device *d, uint64_t *bytes, bool read_only, uint64_t *at,
                               int *fd, struct kg_err *err)
{
    struct host *h = d->self;
    size_t slot = 0;
    while (slot < EXPORTS && h->export[slot].map != NULL) {
        slot++;
    }
    if (slot == EXPORTS || *bytes == 0 || *bytes > MOST_BYTES) {
        return kg_fail(err, KG_E_LIMIT, "judge: a region of %llu bytes cannot be had",
                       (unsigned long long)*bytes);
    }
    size_t n = (size_t)(*bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    int made = memfd_create(read_only ? "kgym-in" : "kgym-out", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0) {
        return kg_fail(err, KG_E_HOST, "memfd_create for a region failed: %s", strerror(errno));
    }
    void *p = map_sealed(made, n, read_only && d->sealed, err);
    if (p == NULL) {
        close(made);
        return err->code;
    }
    h->export[slot].map = p;
    h->export[slot].bytes = n;
    *bytes = n;
    *at = (uintptr_t)p;
    *fd = made;
    return KG_OK;
}

static void cpu_unexport(struct kg_device *d, uint64_t at, bool again)
{
    struct host *h = d->self;
    (void)again; /* new memory costs nothing here */
    for (size_t i = 0; at != 0 && i < EXPORTS; i++) {
        if (h->export[i].map == kg_cpu_pointer(at)) {
            munmap(h->export[i].map, h->export[i].bytes);
            h->export[i].map = NULL;
        }
    }
}

static void cpu_trim(struct kg_device *d)
{
    (void)d; /* none waits */
}

static void cpu_copy(struct kg_device *d, uint64_t dst, uint64_t src, uint64_t bytes)
{
    (void)d;
    memcpy(kg_cpu_pointer(dst), kg_cpu_pointer(src), bytes);
}

static void cpu_upload(struct kg_device *d, uint64_t dst, const void *src, uint64_t bytes)
{
    (void)d;
    memcpy(kg_cpu_pointer(dst), src, bytes);
}

static enum kg_code cpu_download(struct kg_device *d, void *dst, uint64_t src, uint64_t bytes,
                                 struct kg_err *err)
{
    (void)d;
    (void)err;
    memcpy(dst, kg_cpu_pointer(src), bytes);
    return KG_OK;
}

static void cpu_fill(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t n,
                     const struct kg_dj_law *law)
{
    (void)d;
    kg_dj_law_fill(dtype, kg_cpu_pointer(dst), n, law);
}

static void cpu_pattern(struct kg_device *d, uint64_t dst, uint64_t bytes, uint64_t word)
{
    (void)d;
    kg_pattern_fill(kg_cpu_pointer(dst), bytes, word);
}

static enum kg_code cpu_check(struct kg_device *d, const struct kg_dspan *span, size_t n,
                              uint64_t word, int *bad, struct kg_err *err)
{
    (void)d;
    (void)err;
    *bad = -1;
    for (size_t i = 0; i < n && *bad < 0; i++) {
        *bad = kg_pattern_same(kg_cpu_pointer(span[i].at), span[i].bytes, word) ? -1 : (int)i;
    }
    return KG_OK;
}

static enum kg_code cpu_digest(struct kg_device *d, const struct kg_dspan *span, size_t n,
                               struct kg_digest *out, struct kg_err *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++) {
        struct kg_host_digest m;
        kg_host_digest_begin(&m, &((struct host *)d->self)->key);
        kg_host_digest_add(&m, kg_cpu_pointer(span[i].at), span[i].bytes);
        out[i] = kg_host_digest_end(&m);
    }
    return KG_OK;
}

static enum kg_code cpu_inspect(struct kg_device *d, const struct kg_dspan *span, size_t n,
                                struct kg_digest *out, const struct kg_dspan *zone, size_t nzones,
                                uint64_t word, int *bad, struct kg_err *err)
{
    return cpu_check(d, zone, nzones, word, bad, err) == KG_OK ? cpu_digest(d, span, n, out, err)
                                                               : err->code;
}

/* Works part by part, so that the copy is digested and searched while it is in the cache. */
static void take_one(struct host *h, struct kg_dtake *t, uint64_t word)
{
    struct kg_host_digest m;
    struct kg_pattern look;
    unsigned char *dst = kg_cpu_pointer(t->dst);
    const unsigned char *src = kg_cpu_pointer(t->src);
    kg_host_digest_begin(&m, &h->key);
    kg_pattern_begin(&look, (enum kg_tdtype)t->dtype, kg_pattern_phase(word, t->src & 7));
    for (uint64_t at = 0; at < t->bytes; at += PART_BYTES) {
        size_t n = t->bytes - at < PART_BYTES ? (size_t)(t->bytes - at) : PART_BYTES;
        memcpy(dst + at, src + at, n);
        kg_host_digest_add(&m, dst + at, n);
        if (t->look) {
            kg_pattern_add(&look, dst + at, n);
        }
    }
    t->digest = kg_host_digest_end(&m);
    t->unwritten = kg_pattern_end(&look);
}

static enum kg_code cpu_take(struct kg_device *d, struct kg_dtake *t, size_t n, uint64_t word,
                             struct kg_err *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++) {
        take_one(d->self, &t[i], word);
    }
    return KG_OK;
}

static void cpu_flush(struct kg_device *d)
{
    struct host *h = d->self;
    for (size_t i = 0; i < h->sweep_bytes; i += 64) {
        ((volatile unsigned char *)h->sweep)[i]++;
    }
}

static enum kg_code cpu_sync(struct kg_device *d, struct kg_err *err)
{
    (void)d;
    (void)err;
    return KG_OK;
}

static int64_t cpu_clock(struct kg_device *d)
{
    (void)d;
    return kg_clock_ns();
}

static void model_name(char *out, size_t cap)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    snprintf(out, cap, "cpu");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *value = strchr(line, ':');
        if (value != NULL && strncmp(line, "model name", 10) == 0) {
            value[strcspn(value, "\n")] = '\0';
            snprintf(out, cap, "%.*s", (int)cap - 1, value + 2);
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

/* Bytes read and written per second by a copy; the better of two, because the first one touches the
 * pages. */
static enum kg_code cpu_bandwidth(struct kg_device *d, struct kg_err *err)
{
    unsigned char *p = malloc(2 * PROBE_BYTES);
    int64_t best = INT64_MAX;
    (void)err;
    if (p == NULL) {
        return KG_OK; /* the bandwidth stays unknown */
    }
    memset(p, 1, 2 * PROBE_BYTES);
    for (int i = 0; i < 2; i++) {
        int64_t t = kg_clock_ns();
        memcpy(p, p + PROBE_BYTES, PROBE_BYTES);
        __asm__ volatile("" : : "r"(p) : "memory");
        t = kg_clock_ns() - t;
        best = t < best ? t : best;
    }
    free(p);
    d->facts.bandwidth = fmax(d->facts.bandwidth,
                              2.0 * (double)PROBE_BYTES / ((double)(best > 0 ? best : 1) * 1e-9));
    return KG_OK;
}

static enum kg_code cpu_open(struct kg_device *d, const char *name, struct kg_err *err)
{
    struct host *h = calloc(1, sizeof *h);
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    d->facts.l2_bytes = l2 > 0 ? l2 : 1 << 20;
    if (h != NULL) {
        h->sweep_bytes = 2 * (size_t)d->facts.l2_bytes;
        h->sweep = calloc(1, h->sweep_bytes);
    }
    if (h == NULL || h->sweep == NULL) {
        free(h);
        return kg_fail_memory(err, KG_E_HOST, "judge: no memory for the host device");
    }
    d->self = h;
    d->sealed = strcmp(name, "fake") != 0;
    kg_host_digest_key_set(&h->key, d->secret);
    model_name(d->facts.name, sizeof d->facts.name);
    snprintf(d->facts.driver, sizeof d->facts.driver, "host");
    snprintf(d->facts.exchange, sizeof d->facts.exchange, "memfd");
    d->facts.memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    d->facts.free_bytes = (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return cpu_bandwidth(d, err);
}

static void cpu_close(struct kg_device *d)
{
    struct host *h = d->self;
    for (size_t i = 0; i < EXPORTS; i++) {
        if (h->export[i].map != NULL) {
            munmap(h->export[i].map, h->export[i].bytes);
        }
    }
    free(h->sweep);
    free(h);
    d->self = NULL;
}

static void *cpu_host_alloc(struct kg_device *d, uint64_t bytes)
{
    (void)d;
    return malloc(bytes > 0 ? bytes : 1);
}

static void cpu_host_free(struct kg_device *d, void *at)
{
    (void)d;
    free(at);
}

const struct kg_device_ops kg_device_cpu = {
    .kind = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .export = cpu_export,
    .unexport = cpu_unexport,
    .trim = cpu_trim,
    .copy = cpu_copy,
    .upload = cpu_upload,
    .download = cpu_download,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .fill = cpu_fill,
    .pattern = cpu_pattern,
    .check = cpu_check,
    .digest = cpu_digest,
    .inspect = cpu_inspect,
    .take = cpu_take,
    .widen = kg_cpu_widen,
    .differ = kg_cpu_differ,
    .rejoin = kg_cpu_rejoin,
    .bounds = kg_cpu_bounds,
    .compare = kg_cpu_compare,
    .far = kg_cpu_far,
    .rms = kg_cpu_rms,
    .flush = cpu_flush,
    .sync = cpu_sync,
    .bandwidth = cpu_bandwidth,
    .clock = cpu_clock,
};
