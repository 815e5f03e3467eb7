#include "gym/device/cuda.h"

#define RUN 16 /* bytes: a shorter run of the pattern in a tensor of integers may be chance */

struct spans { /* of kernels.cu */
    uint64_t at[KG_CUDA_SPANS], bytes[KG_CUDA_SPANS];
};

/* At most KG_CUDA_SPANS of the spans; returns how many. *longest: bytes of the longest. */
static unsigned gather(const struct kg_dspan *span, size_t n, struct spans *out, uint64_t *longest)
{
    unsigned k = 0;
    *longest = 0;
    for (; k < KG_CUDA_SPANS && k < n; k++) {
        out->at[k] = span[k].at;
        out->bytes[k] = span[k].bytes;
        *longest = span[k].bytes > *longest ? span[k].bytes : *longest;
    }
    return k;
}

void kg_cuda_pattern(struct kg_device *d, uint64_t dst, uint64_t bytes, uint64_t word)
{
    struct kg_cuda *c = kg_cuda_of(d);
    void *params[] = {&dst, &bytes, &word};
    if (bytes > 0) {
        kg_cuda_launch(c, KG_CUDA_pattern, kg_cuda_blocks(c, bytes / 8, UINT32_MAX), 1, params);
    }
}

enum kg_code kg_cuda_check(struct kg_device *d, const struct kg_dspan *span, size_t n,
                           uint64_t word, int *bad, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    uint64_t place = c->scratch + KG_CUDA_FREE, longest;
    uint32_t least = UINT32_MAX;
    kg_cuda_note(c, c->cu.set8(place, 0xff, sizeof least, c->stream), "check");
    for (size_t at = 0; at < n;) {
        struct spans s;
        uint32_t first = (uint32_t)at;
        unsigned k = gather(span + at, n - at, &s, &longest);
        void *params[] = {&s, &first, &word, &place};
        kg_cuda_launch(c, KG_CUDA_check, kg_cuda_blocks(c, longest / 8, UINT32_MAX), k, params);
        at += k;
    }
    enum kg_code code = kg_cuda_download(d, &least, place, sizeof least, err);
    *bad = least == UINT32_MAX ? -1 : (int)least;
    return code;
}

enum kg_code kg_cuda_digest(struct kg_device *d, const struct kg_dspan *span, size_t n,
                            struct kg_digest *out, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    uint64_t sums = c->scratch + KG_CUDA_SUMS, finished = c->scratch + KG_CUDA_FINISHED, longest;
    for (size_t at = 0; at < n;) {
        struct spans s;
        unsigned k = gather(span + at, n - at, &s, &longest);
        void *params[] = {&s, &d->secret.w[0], &d->secret.w[1], &sums, &finished, &c->host_at};
        /* A thread has 64 bytes in flight. */
        kg_cuda_launch(c, KG_CUDA_digest, kg_cuda_blocks(c, longest / 64, UINT32_MAX), k, params);
        if (kg_cuda_wait(c, "digest", err) != KG_OK) {
            return err->code;
        }
        for (unsigned i = 0; i < k; i++) {
            const volatile uint64_t *got = (const uint64_t *)c->host + 2 * i;
            out[at + i] = (struct kg_digest){{got[0], got[1]}};
        }
        at += k;
    }
    return n > 0 ? KG_OK : kg_cuda_wait(c, "digest", err);
}

/* Counts go to scratch, one per tensor. */
static void count_unwritten(struct kg_cuda *c, struct kg_dtake *t, uint64_t word, uint64_t place)
{
    uint32_t size = (uint32_t)kg_tdtype_bytes((enum kg_tdtype)t->dtype);
    uint64_t n = t->bytes / size, phase = t->src & 7;
    uint32_t run = kg_tdtype_floating((enum kg_tdtype)t->dtype) ? 1 : RUN / size;
    run = run < n ? run : (uint32_t)n; /* as a whole */
    void *params[] = {&t->dst, &n, &size, &phase, &word, &run, &place};
    kg_cuda_note(c, c->cu.set8(place, 0, 8, c->stream), "take");
    if (t->look && n > 0) {
        kg_cuda_launch(c, KG_CUDA_unwritten, kg_cuda_blocks(c, n, UINT32_MAX), 1, params);
    }
}

static enum kg_code take_some(struct kg_device *d, struct kg_dtake *t, unsigned n, uint64_t word,
                              struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    struct kg_dspan span[KG_CUDA_SPANS];
    struct kg_digest digest[KG_CUDA_SPANS];
    uint64_t count[KG_CUDA_SPANS], places = c->scratch + KG_CUDA_FREE;
    for (unsigned i = 0; i < n; i++) {
        kg_cuda_copy(d, t[i].dst, t[i].src, t[i].bytes);
        count_unwritten(c, &t[i], word, places + 8 * i);
        span[i] = (struct kg_dspan){t[i].dst, t[i].bytes};
    }
    if (kg_cuda_digest(d, span, n, digest, err) != KG_OK ||
        kg_cuda_download(d, count, places, 8 * n, err) != KG_OK) {
        return err->code;
    }
    for (unsigned i = 0; i < n; i++) {
        t[i].digest = digest[i];
        t[i].unwritten = count[i];
    }
    return KG_OK;
}

enum kg_code kg_cuda_take(struct kg_device *d, struct kg_dtake *t, size_t n, uint64_t word,
                          struct kg_err *err)
{
    for (size_t at = 0; at < n;) {
        unsigned k = n - at < KG_CUDA_SPANS ? (unsigned)(n - at) : KG_CUDA_SPANS;
        if (take_some(d, t + at, k, word, err) != KG_OK) {
            return err->code;
        }
        at += k;
    }
    return KG_OK;
}
