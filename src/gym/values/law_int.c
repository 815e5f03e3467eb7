/* Integer inputs stay uniform over their range under every law. They are indices and labels, whose
 * distribution is part of the operator. SORTED, EQUAL and SPIKE change only order, spread and
 * edges. */
#include "gym/values/gen.h"

/* The multiply is biased by less than span / 2^32 of a value's probability; for wide ranges by
 * 2^64. */
static void uniform(struct kg_gen *g, int64_t lo, uint64_t span, int64_t *v, size_t n)
{
    if (span <= UINT32_MAX) {
        uint32_t bits[KG_GEN_CHUNK];
        kg_rng_bytes(&g->rng, bits, n * sizeof *bits);
        for (size_t i = 0; i < n; i++) {
            v[i] = lo + (int64_t)((uint64_t)bits[i] * span >> 32);
        }
        return;
    }
    uint64_t bits[KG_GEN_CHUNK];
    kg_rng_bytes(&g->rng, bits, n * sizeof *bits);
    for (size_t i = 0; i < n; i++) {
        v[i] = (int64_t)((uint64_t)lo + (uint64_t)((unsigned __int128)bits[i] * span >> 64));
    }
}

/* One value from each of n equal slices of the range, so the sequence rises without sorting. */
static void sorted(struct kg_gen *g, int64_t lo, uint64_t span, int64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t rank = g->descending ? g->n - 1 - (g->at + i) : g->at + i;
        double t = ((double)rank + kg_rng_unit(&g->rng)) / (double)g->n;
        uint64_t step = (uint64_t)(t * (double)span);
        v[i] = (int64_t)((uint64_t)lo + (step < span ? step : span - 1));
    }
}

static void store(const struct kg_gen *g, void *dst, size_t at, const int64_t *v, size_t n)
{
    if (g->dtype == KG_I64) {
        __builtin_memcpy((int64_t *)dst + at, v, n * sizeof *v);
        return;
    }
    int32_t *d = (int32_t *)dst + at;
    for (size_t i = 0; i < n; i++) {
        d[i] = (int32_t)v[i];
    }
}

/* Sets both ends of the range, at different places where there are two. */
static void edges(struct kg_gen *g, void *dst, int64_t lo, uint64_t span)
{
    int64_t least = lo, most = (int64_t)((uint64_t)lo + span - 1);
    size_t a = kg_rng_below(&g->shape, g->n);
    if (g->n == 1) {
        store(g, dst, 0, kg_rng_below(&g->shape, 2) ? &least : &most, 1);
        return;
    }
    size_t b = (a + 1 + kg_rng_below(&g->shape, g->n - 1)) % g->n;
    store(g, dst, a, &least, 1);
    store(g, dst, b, &most, 1);
}

void kg_gen_integers(struct kg_gen *g, void *dst)
{
    /* kg_gen_init made floor and top whole, and within the type. */
    int64_t lo = (int64_t)g->floor, v[KG_GEN_CHUNK];
    uint64_t span = (uint64_t)(g->top - g->floor) + 1;
    if (g->law == KG_LAW_EQUAL) {
        uniform(g, lo, span, v, 1);
        lo = v[0];
    }
    for (g->at = 0; g->at < g->n;) {
        size_t n = g->n - g->at < KG_GEN_CHUNK ? g->n - g->at : KG_GEN_CHUNK;
        if (g->law == KG_LAW_SORTED) {
            sorted(g, lo, span, v, n);
        } else {
            uniform(g, lo, g->law == KG_LAW_EQUAL ? 1 : span, v, n);
        }
        store(g, dst, g->at, v, n);
        g->at += n;
    }
    if (g->law == KG_LAW_SPIKE && g->n > 0) {
        edges(g, dst, lo, span);
    }
}
