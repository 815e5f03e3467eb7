/* Reads and checks what a runner claims about its answer, and finds the zones beside it that hold
 * poison. */
#include <stdlib.h>
#include <string.h>

#include "gym/device/device_state.h"

/* Reads a word once. A second read could see another value, because the runner may write
 * meanwhile. */
static uint32_t once32(const uint32_t *p)
{
    return *(const volatile uint32_t *)p;
}

static uint64_t once64(const uint64_t *p)
{
    return *(const volatile uint64_t *)p;
}

static const char *check_structure(const char *s, size_t cap)
{
    const char *end = memchr(s, '\0', cap);
    if (end == NULL) {
        return "a structure without an end";
    }
    for (const char *c = s; c < end; c++) {
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) {
            return "a structure that cannot be printed";
        }
    }
    return NULL;
}

/* Tensors may share memory: the same one twice, or views of one buffer. But each is copied on its
 * own, so together they may not be larger than OUT. OUT is large enough for every right answer, as
 * doubles side by side. */
static const char *check_leaves(const struct kg_dj_claims *c, uint32_t n, uint64_t out_bytes)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *wrong = kg_twire_leaf_check(&c->leaf[i], out_bytes);
        if (wrong != NULL) {
            return wrong;
        }
        sum += c->leaf[i].bytes;
    }
    return sum <= out_bytes ? NULL : "more than the region holds";
}

const char *kg_dj_claims_read(const struct kg_twire *w, const uint64_t nonce[2], uint64_t out_bytes,
                              struct kg_dj_claims *out)
{
    uint32_t said = once32(&w->status), n = once32(&w->nreply);
    out->n = 0;
    out->structure[0] = '\0';
    if (once64(&w->echo[0]) != nonce[0] || once64(&w->echo[1]) != nonce[1]) {
        return "an answer to something else";
    }
    if (said >= KG_TA_COUNT) {
        return "no such status";
    }
    out->said = (enum kg_tstatus)said;
    out->call_ns = once64(&w->call_ns);
    out->peak_bytes = once64(&w->peak_bytes);
    if (said != KG_TA_OK) {
        return NULL; /* such an answer has no tensors, so the other fields are not read */
    }
    if (n > KG_TWIRE_LEAVES) {
        return "too many tensors";
    }
    memcpy(out->leaf, w->out, n * sizeof *out->leaf);
    memcpy(out->structure, w->structure, sizeof out->structure);
    const char *wrong = check_leaves(out, n, out_bytes);
    wrong = wrong == NULL ? check_structure(out->structure, sizeof out->structure) : wrong;
    out->n = wrong == NULL ? n : 0;
    return wrong;
}

uint32_t kg_dj_laid(const struct kg_dj_claims *claims, bool pooled,
                    struct kg_tleaf leaf[KG_TWIRE_LEAVES])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < claims->n; i++) {
        if (!pooled || claims->leaf[i].copied) {
            leaf[n++] = claims->leaf[i];
        }
    }
    return n;
}

static int by_start(const void *a, const void *b)
{
    const struct kg_dspan *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The zone between two tensors: all of it where it is short, else one guard at each end. */
static size_t gap(uint64_t from, uint64_t to, bool first, bool last, struct kg_dspan *zone)
{
    uint64_t bytes = to - from;
    size_t n = 0;
    if (bytes <= 2 * KG_TWIRE_GUARD && !first && !last) {
        zone[n++] = (struct kg_dspan){from, bytes};
        return n;
    }
    uint64_t part = bytes < KG_TWIRE_GUARD ? bytes : KG_TWIRE_GUARD;
    if (!first) {
        zone[n++] = (struct kg_dspan){from, part};
    }
    if (!last) {
        zone[n++] = (struct kg_dspan){to - part, part};
    }
    return n;
}

size_t kg_dj_zones(const struct kg_tleaf *leaf, uint32_t n, uint64_t region,
                   struct kg_dspan zone[2 * KG_TWIRE_LEAVES])
{
    struct kg_dspan span[KG_TWIRE_LEAVES];
    size_t used = 0, zones = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (leaf[i].bytes > 0 && leaf[i].offset < region) {
            span[used++] = (struct kg_dspan){leaf[i].offset, leaf[i].bytes};
        }
    }
    if (used == 0) {
        return 0;
    }
    qsort(span, used, sizeof *span, by_start);
    for (size_t i = 0; i < used; i++) {
        if (span[i].at > end) {
            zones += gap(end, span[i].at, i == 0, false, zone + zones);
        }
        end = span[i].at + span[i].bytes > end ? span[i].at + span[i].bytes : end;
    }
    if (end < region) {
        zones += gap(end, region, false, true, zone + zones);
    }
    return zones;
}
