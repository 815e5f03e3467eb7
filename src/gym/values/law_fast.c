/* The fast path for f32 arguments: laws that need at most 24 random bits per element. */
#include "gym/values/gen.h"

/* 24 random bits of each word make a float of [0, 1) exactly. The loops have a constant length and
 * no branches, so that the compiler vectorises them. */

#define BLOCK 2048

static void convert(const uint32_t *restrict bits, float *restrict v, float lo, float span)
{
    for (size_t i = 0; i < BLOCK; i++) {
        v[i] = lo + (float)(int32_t)(bits[i] >> 8) * 0x1p-24f * span;
    }
}

/* lo + u * span may round up to the open end. */
static void clamp(float *v, float floor, float top)
{
    for (size_t i = 0; i < BLOCK; i++) {
        float x = v[i] > floor ? v[i] : floor;
        v[i] = x < top ? x : top;
    }
}

/* Rounds to the nearest bfloat16, ties to even. */
static void round_bf16(float *v)
{
    for (size_t i = 0; i < BLOCK; i++) {
        union {
            float f;
            uint32_t u;
        } b = {.f = v[i]};
        b.u = (b.u + 0x7fff + (b.u >> 16 & 1)) & 0xffff0000;
        v[i] = b.f;
    }
}

bool kg_gen_is_fast(const struct kg_gen *g)
{
    bool plain = g->law == KG_LAW_OWN || g->law == KG_LAW_UNIFORM || g->law == KG_LAW_SPIKE ||
                 g->law == KG_LAW_STRAYS ||
                 ((g->law == KG_LAW_BF16 || g->law == KG_LAW_LARGE) && !g->ranged);
    return g->dtype == KG_F32 && plain;
}

void kg_gen_fast_f32(struct kg_gen *g, float *dst)
{
    uint32_t bits[BLOCK];
    float v[BLOCK];
    bool unit = g->law == KG_LAW_UNIFORM && !g->ranged;
    float scale = g->law == KG_LAW_LARGE ? 1e3f : 1;
    float lo = unit ? 0 : scale * (float)g->lo, span = unit ? 1 : scale * (float)g->span;
    for (size_t i = 0; i < g->n; i += BLOCK) {
        size_t n = g->n - i < BLOCK ? g->n - i : BLOCK;
        kg_rng_bytes(&g->rng, bits, sizeof bits);
        convert(bits, v, lo, span);
        if (g->ranged) {
            clamp(v, (float)g->floor, (float)g->top);
        }
        if (g->law == KG_LAW_BF16) {
            round_bf16(v);
        }
        __builtin_memcpy(dst + i, v, n * sizeof *v);
    }
}
