#include "fuzz.h"

#include <string.h>

#include "gym/device/device_state.h"

/* What a runner claims: the bytes are status, counts, echo, structure and tensors of its answer,
 * for a region of 1 MB. What the check lets through must be safe to follow: each tensor's bytes lie
 * in the region and are those of its shape, names and structure end and can be printed, and the
 * guards that are looked for around them touch none of them. Laid out anew, nothing overlaps. */

#define REGION ((uint64_t)1 << 20)

static const uint64_t nonce[2] = {0x1122334455667788u, 0x99aabbccddeeff00u};

struct head {
    uint32_t status, nreply;
    uint64_t echo[2], call_ns;
    char structure[32];
};

static void check_leaf(const struct kg_tleaf *l)
{
    KG_ASSERT(l->dtype < KG_TD_COUNT && l->rank <= KG_TWIRE_RANK);
    for (uint32_t k = 0; k < l->rank; k++) {
        KG_ASSERT(l->shape[k] >= 0);
    }
    uint64_t size = kg_tdtype_bytes((enum kg_tdtype)l->dtype);
    KG_ASSERT(kg_tleaf_count(l) * size == l->bytes && l->offset % size == 0);
    KG_ASSERT(l->bytes <= REGION && l->offset <= REGION - l->bytes);
    KG_ASSERT(memchr(l->name, '\0', sizeof l->name) != NULL);
}

static void check_zones(const struct kg_dj_claims *c, uint64_t region)
{
    static struct kg_dspan zone[2 * KG_TWIRE_LEAVES];
    size_t n = kg_dj_zones(c->leaf, c->n, region, zone);
    KG_ASSERT(n <= 2 * KG_TWIRE_LEAVES);
    for (size_t i = 0; i < n; i++) {
        KG_ASSERT(zone[i].bytes > 0 && zone[i].bytes <= 2 * KG_TWIRE_GUARD);
        KG_ASSERT(zone[i].at + zone[i].bytes <= region);
        KG_ASSERT(i == 0 || zone[i].at >= zone[i - 1].at + zone[i - 1].bytes);
        for (uint32_t k = 0; k < c->n; k++) {
            const struct kg_tleaf *l = &c->leaf[k];
            KG_ASSERT(l->bytes == 0 || zone[i].at + zone[i].bytes <= l->offset ||
                      zone[i].at >= l->offset + l->bytes);
        }
    }
}

static void check_place(const struct kg_dj_claims *c)
{
    static struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    memcpy(leaf, c->leaf, c->n * sizeof *leaf);
    uint64_t end = kg_twire_place(leaf, c->n), at = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        KG_ASSERT(leaf[i].offset >= at + KG_TWIRE_GUARD && leaf[i].offset % KG_TWIRE_ALIGN == 0);
        KG_ASSERT(leaf[i].bytes == c->leaf[i].bytes);
        at = leaf[i].offset + leaf[i].bytes;
    }
    KG_ASSERT(end >= at + KG_TWIRE_GUARD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct kg_twire w;
    static struct kg_dj_claims c;
    struct head h = {0};
    memset(&w, 0, sizeof w);
    memcpy(&h, data, size < sizeof h ? size : sizeof h);
    w.status = h.status;
    w.nreply = h.nreply;
    w.call_ns = h.call_ns;
    memcpy(w.echo, h.echo, sizeof w.echo);
    memcpy(w.structure, h.structure, sizeof h.structure);
    if (size > sizeof h) {
        size_t n = size - sizeof h;
        memcpy(w.out, data + sizeof h, n < sizeof w.out ? n : sizeof w.out);
    }
    const char *wrong = kg_dj_claims_read(&w, nonce, REGION, &c);
    KG_ASSERT(wrong != NULL || memcmp(w.echo, nonce, sizeof nonce) == 0);
    if (wrong != NULL || c.said != KG_TA_OK) {
        KG_ASSERT(c.n == 0);
        return 0;
    }
    KG_ASSERT(c.n == w.nreply && c.n <= KG_TWIRE_LEAVES);
    for (uint32_t i = 0; i < c.n; i++) {
        check_leaf(&c.leaf[i]);
    }
    for (const char *p = c.structure; *p != '\0'; p++) {
        KG_ASSERT(p < c.structure + sizeof c.structure && *p >= ' ' && *p <= '~');
    }
    check_zones(&c, REGION);
    check_zones(&c, REGION / 3);
    check_place(&c);
    return 0;
}
