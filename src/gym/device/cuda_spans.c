/* Operations on spans of GPU memory: write and check the pattern, digest, and take (copy, digest
 * and search at once). One launch works on up to KG_CUDA_SPANS spans. */
#include "gym/device/cuda.h"

#define RUN 16 /* bytes; in a tensor of integers a shorter run of the pattern may be chance */

/* Steps of so much of a round are spread evenly, after any number of them. */
#define GOLDEN 0.6180339887498949

struct spans { /* as in kernels/memory.cu */
    uint64_t at[KG_CUDA_SPANS], bytes[KG_CUDA_SPANS];
};

struct takes { /* as in kernels/digest.cu */
    uint64_t to[KG_CUDA_SPANS], tops[KG_CUDA_SPANS];
};

struct turns { /* as in kernels/digest.cu */
    uint32_t by[KG_CUDA_SPANS];
};

static uint32_t common(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint32_t kg_cuda_turn(uint64_t bytes)
{
    uint64_t n = (bytes + KG_CUDA_PIECE - 1) / KG_CUDA_PIECE;
    if (n < 4 || n > UINT16_MAX) { /* products of two such numbers are below 2^32 */
        return 1;
    }
    uint32_t pieces = (uint32_t)n, by = (uint32_t)((double)pieces * GOLDEN);
    while (common(by, pieces) != 1) {
        by++;
    }
    return by;
}

/* Collects the next spans for one launch, at most KG_CUDA_SPANS; returns their number. *longest:
 * bytes of the longest one. */
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

/* Checks the first spans; returns their number. The result comes with the next wait. */
static unsigned launch_check(struct kg_cuda *c, const struct kg_dspan *span, size_t n,
                             uint64_t word)
{
    uint64_t most = c->scratch + KG_CUDA_COUNTS, finished = c->scratch + KG_CUDA_FINISHED, longest;
    uint64_t result = c->host_at + KG_CUDA_CHECKED;
    struct spans s;
    unsigned k = gather(span, n, &s, &longest);
    void *params[] = {&s, &word, &most, &finished, &result};
    if (k > 0) {
        kg_cuda_launch(c, KG_CUDA_check, kg_cuda_blocks(c, longest / 8, UINT32_MAX), k, params);
    }
    return k;
}

/* After the wait: the first of k spans that is not as it should be, or -1. */
static int checked(const struct kg_cuda *c, unsigned k)
{
    const volatile uint64_t *from_end = (const uint64_t *)((char *)c->host + KG_CUDA_CHECKED);
    return k > 0 && *from_end > 0 ? (int)(k - *from_end) : -1;
}

enum kg_code kg_cuda_check(struct kg_device *d, const struct kg_dspan *span, size_t n,
                           uint64_t word, int *bad, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    *bad = -1;
    for (size_t at = 0; at < n && *bad < 0;) {
        unsigned k = launch_check(c, span + at, n - at, word);
        if (kg_cuda_wait(c, "check", err) != KG_OK) {
            return err->code;
        }
        int found = checked(c, k);
        *bad = found >= 0 ? (int)at + found : -1;
        at += k;
    }
    return n > 0 ? KG_OK : kg_cuda_wait(c, "check", err);
}

enum kg_code kg_cuda_digest(struct kg_device *d, const struct kg_dspan *span, size_t n,
                            struct kg_digest *out, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    uint64_t sums = c->scratch + KG_CUDA_SUMS, finished = c->scratch + KG_CUDA_FINISHED, longest;
    for (size_t at = 0; at < n;) {
        struct spans s;
        struct turns turn;
        unsigned k = gather(span + at, n - at, &s, &longest);
        for (unsigned i = 0; i < k; i++) {
            turn.by[i] = kg_cuda_turn(s.bytes[i]);
        }
        void *params[] = {&s,    &turn,     &d->secret.w[0], &d->secret.w[1],
                          &sums, &finished, &c->host_at};
        /* one thread per 64 bytes, which is one cell */
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

enum kg_code kg_cuda_inspect(struct kg_device *d, const struct kg_dspan *span, size_t n,
                             struct kg_digest *out, const struct kg_dspan *zone, size_t nzones,
                             uint64_t word, int *bad, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    unsigned k = launch_check(c, zone, nzones, word);
    if (kg_cuda_digest(d, span, n, out, err) != KG_OK) {
        return err->code;
    }
    *bad = checked(c, k);
    if (k == nzones || *bad >= 0) {
        return KG_OK;
    }
    enum kg_code code = kg_cuda_check(d, zone + k, nzones - k, word, bad, err);
    *bad += *bad >= 0 ? (int)k : 0;
    return code;
}

/* Counts poison in a tensor of integers, whose elements count only in runs. So it needs neighbours,
 * and works on the finished copy. The count goes to `place`. */
static void count_unwritten(struct kg_cuda *c, struct kg_dtake *t, uint64_t word, uint64_t place)
{
    uint32_t size = (uint32_t)kg_tdtype_bytes((enum kg_tdtype)t->dtype);
    uint64_t n = t->bytes / size, phase = t->src & 7;
    uint32_t run = RUN / size;
    run = run < n ? run : (uint32_t)n; /* or the whole tensor */
    void *params[] = {&t->dst, &n, &size, &phase, &word, &run, &place};
    if (n > 0) {
        kg_cuda_launch(c, KG_CUDA_unwritten, kg_cuda_blocks(c, n, UINT32_MAX), 1, params);
    }
}

static bool counted_later(const struct kg_dtake *t)
{
    return t->look && !kg_tdtype_floating((enum kg_tdtype)t->dtype);
}

/* Counts poison in the tensors of integers. count [n]; other tensors get 0. */
static enum kg_code count_later(struct kg_device *d, struct kg_dtake *t, unsigned n, uint64_t word,
                                uint64_t *count, struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    uint64_t places = c->scratch + KG_CUDA_FREE;
    bool any = false;
    for (unsigned i = 0; i < n; i++) {
        any = any || counted_later(&t[i]);
    }
    if (!any) {
        return kg_cuda_wait(c, "take", err);
    }
    kg_cuda_note(c, c->cu.set8(places, 0, 8 * n, c->stream), "take");
    for (unsigned i = 0; i < n; i++) {
        if (counted_later(&t[i])) {
            count_unwritten(c, &t[i], word, places + 8 * i);
        }
    }
    return kg_cuda_download(d, count, places, 8 * n, err);
}

/* The highest bit of each element in a word of floating elements; 0: the kernel does not count this
 * tensor. */
static uint64_t tops_of(const struct kg_dtake *t)
{
    uint64_t bits = 8 * kg_tdtype_bytes((enum kg_tdtype)t->dtype), tops = 0;
    for (uint64_t top = bits; top <= 64; top += bits) {
        tops |= (uint64_t)1 << (top - 1);
    }
    return t->look && kg_tdtype_floating((enum kg_tdtype)t->dtype) ? tops : 0;
}

static enum kg_code take_some(struct kg_device *d, struct kg_dtake *t, unsigned n, uint64_t word,
                              struct kg_err *err)
{
    struct kg_cuda *c = kg_cuda_of(d);
    uint64_t sums = c->scratch + KG_CUDA_SUMS, counts = c->scratch + KG_CUDA_COUNTS;
    uint64_t finished = c->scratch + KG_CUDA_FINISHED, later[KG_CUDA_SPANS] = {0}, longest = 0;
    const volatile uint64_t *got = c->host;
    struct spans s = {0};
    struct takes take = {0};
    struct turns turn = {0};
    for (unsigned i = 0; i < n; i++) {
        s.at[i] = t[i].src;
        s.bytes[i] = t[i].bytes;
        take.to[i] = t[i].dst;
        take.tops[i] = tops_of(&t[i]);
        turn.by[i] = kg_cuda_turn(t[i].bytes);
        longest = t[i].bytes > longest ? t[i].bytes : longest;
    }
    void *params[] = {&s,    &turn,   &take,     &word,      &d->secret.w[0], &d->secret.w[1],
                      &sums, &counts, &finished, &c->host_at};
    kg_cuda_launch(c, KG_CUDA_take, kg_cuda_blocks(c, longest / 64, UINT32_MAX), n, params);
    if (count_later(d, t, n, word, later, err) != KG_OK) {
        return err->code;
    }
    for (unsigned i = 0; i < n; i++) {
        t[i].digest = (struct kg_digest){{got[2 * i], got[2 * i + 1]}};
        t[i].unwritten = counted_later(&t[i]) ? later[i] : got[2 * n + i];
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
