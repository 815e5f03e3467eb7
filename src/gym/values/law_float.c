/* The laws of float inputs; docs/verification.md has the formulas. Nothing here may be contracted
 * to fused operations, because the same key must give the same bytes on every machine. */
#include <math.h>

#include "gym/values/gen.h"

static double unit_of(uint64_t bits)
{
    return (double)(int64_t)(bits >> 11) * 0x1p-53;
}

/* Maps an unbounded value into the range. The map is monotone, so order and equality are kept. */
static double squash(const struct kg_gen *g, double x)
{
    return g->ranged ? g->lo + g->span * 0.5 * (1 + x / (1 + fabs(x))) : x;
}

static bool has_zero(const struct kg_gen *g)
{
    return !g->ranged || (g->floor <= 0 && g->top >= 0);
}

/* OWN, `scale` times smaller: towards zero, or towards the low end of a range without zero. */
static double shrunk(const struct kg_gen *g, double u, double scale)
{
    return has_zero(g) ? kg_gen_own(g, u) * scale : g->lo + g->span * u * scale;
}

/* The integers from a to b within the range; false: there are none. */
static bool integers_in(const struct kg_gen *g, double *a, double *b)
{
    if (!g->ranged) {
        return true;
    }
    double least = ceil(g->floor), most = floor(g->top);
    if (least > most) {
        return false;
    }
    if (*b < least || *a > most) { /* none of the wanted ones: the nearest few instead */
        *a = *b < least ? least : fmax(most - 8, least);
        *b = fmin(*a + 8, most);
        return true;
    }
    *a = fmax(*a, least);
    *b = fmin(*b, most);
    return true;
}

static double small_integer(const struct kg_gen *g, double u)
{
    double a = -4, b = 4;
    return integers_in(g, &a, &b) ? a + (double)(int64_t)(u * (b - a + 1)) : kg_gen_own(g, u);
}

/* An odd number in [2^12, 2^13), which has 13 significant bits; of either sign where the range
 * allows it. */
static double wide_integer(const struct kg_gen *g, double u)
{
    int w = (int)(u * 4096);
    double m = 4097 + (w & 0xffe), x = w & 1 ? -m : m;
    if (!g->ranged || (x >= g->floor && x <= g->top)) {
        return x;
    }
    if (-x >= g->floor && -x <= g->top) {
        return -x;
    }
    double a = -8192, b = 8192;
    return integers_in(g, &a, &b) ? a + (double)(int64_t)(u * (b - a + 1)) : kg_gen_own(g, u);
}

static double bf16_of(uint32_t bits)
{
    union {
        uint32_t u;
        float f;
    } b = {.u = bits & 0xffff0000};
    return b.f;
}

/* The nearest bfloat16, or its neighbour where the range ends between them. */
static double bf16(const struct kg_gen *g, double x)
{
    union {
        float f;
        uint32_t u;
    } b = {.f = (float)x};
    double near = bf16_of(b.u + 0x7fff + (b.u >> 16 & 1));
    if (!g->ranged || (near >= g->floor && near <= g->top)) {
        return near;
    }
    double other = near == bf16_of(b.u) ? bf16_of(b.u + 0x10000) : bf16_of(b.u);
    return other >= g->floor && other <= g->top ? other : x;
}

static double sparse(const struct kg_gen *g, double u)
{
    if (u < 0.95) {
        return has_zero(g) ? 0 : g->lo;
    }
    return kg_gen_own(g, (u - 0.95) * 20);
}

static double sorted(const struct kg_gen *g, double u, size_t i)
{
    size_t rank = g->descending ? g->n - 1 - i : i;
    return kg_gen_own(g, ((double)rank + u) / (double)g->n);
}

static double precise(const struct kg_gen *g, uint64_t bits)
{
    if (!g->first) {
        return g->constant;
    }
    double m = 1 + unit_of(bits << 1);
    return g->ranged ? kg_gen_own(g, unit_of(bits)) : bits >> 63 ? -m : m;
}

static double scaled_row(struct kg_gen *g, double u, size_t i)
{
    if (i % g->row == 0) {
        int k = (int)kg_rng_below(&g->shape, 21);
        g->row_scale = g->ranged ? ldexp(1, -k) : ldexp(1, k - 10);
    }
    return g->ranged ? shrunk(g, u, g->row_scale) : kg_gen_own(g, u) * g->row_scale;
}

/* Element i under a law that needs no second draw. */
static inline __attribute__((always_inline)) double value(struct kg_gen *g, enum kg_law law,
                                                          uint64_t bits, size_t i)
{
    double u = unit_of(bits);
    switch (law) {
    case KG_LAW_NORMAL:
        return squash(g, kg_gen_normal(bits));
    case KG_LAW_UNIFORM:
        return g->ranged ? kg_gen_own(g, u) : u;
    case KG_LAW_SPARSE:
        return sparse(g, u);
    case KG_LAW_OUTLIER:
        return i == g->outlier_at ? g->outlier : g->constant;
    case KG_LAW_SORTED:
        return sorted(g, u, i);
    case KG_LAW_OFFSET:
        return g->ranged ? kg_gen_own(g, 1 - (1 - u) * 0x1p-10) : kg_gen_own(g, u) + 1e3;
    case KG_LAW_SMALL:
        return shrunk(g, u, 1e-4);
    case KG_LAW_LARGE:
        return squash(g, 1e3 * (2 * u - 1));
    case KG_LAW_MIXED:
        return scaled_row(g, u, i);
    case KG_LAW_SMALLINT:
        return small_integer(g, u);
    case KG_LAW_WIDEINT:
        return g->wide ? wide_integer(g, u) : small_integer(g, u);
    case KG_LAW_EQUAL:
        return g->constant;
    case KG_LAW_BF16:
        return bf16(g, kg_gen_own(g, u));
    case KG_LAW_PRECISION:
        return precise(g, bits);
    default:
        return kg_gen_own(g, u);
    }
}

/* normal / sqrt(uniform): Student's t with two degrees of freedom, up to a constant. */
static double heavy(struct kg_gen *g, uint64_t bits, uint64_t more)
{
    double x = kg_gen_normal(bits) / sqrt(1 - unit_of(more));
    return squash(g, fmax(-1e4, fmin(1e4, x)));
}

/* Each law has its own loop, so that the law is not tested for every element. */
static void values(struct kg_gen *g, enum kg_law law, const uint64_t *bits, double *v, size_t n)
{
#define LOOP(which)                                                                                \
    case which:                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                           \
            v[i] = value(g, which, bits[i], g->at + i);                                            \
        }                                                                                          \
        return
    switch (law) {
        LOOP(KG_LAW_NORMAL);
        LOOP(KG_LAW_UNIFORM);
        LOOP(KG_LAW_SPARSE);
        LOOP(KG_LAW_OUTLIER);
        LOOP(KG_LAW_SORTED);
        LOOP(KG_LAW_OFFSET);
        LOOP(KG_LAW_SMALL);
        LOOP(KG_LAW_LARGE);
        LOOP(KG_LAW_MIXED);
        LOOP(KG_LAW_SMALLINT);
        LOOP(KG_LAW_WIDEINT);
        LOOP(KG_LAW_EQUAL);
        LOOP(KG_LAW_BF16);
        LOOP(KG_LAW_PRECISION);
    default:
        for (size_t i = 0; i < n; i++) {
            v[i] = value(g, KG_LAW_OWN, bits[i], g->at + i);
        }
    }
#undef LOOP
}

static void run(struct kg_gen *g, enum kg_law law, double *v, size_t n)
{
    uint64_t bits[KG_GEN_CHUNK], more[KG_GEN_CHUNK];
    kg_rng_bytes(&g->rng, bits, n * sizeof *bits);
    if (law == KG_LAW_HEAVY) {
        kg_rng_bytes(&g->rng, more, n * sizeof *more);
        for (size_t i = 0; i < n; i++) {
            v[i] = heavy(g, bits[i], more[i]);
        }
    } else {
        values(g, law, bits, v, n);
    }
    g->at += n;
}

void kg_gen_chunk(struct kg_gen *g, double *v, size_t n)
{
    if (g->law != KG_LAW_PIECEWISE) {
        run(g, g->law, v, n);
        return;
    }
    for (size_t done = 0, k = 0; done < n; k++) {
        KG_ASSERT(k < g->pieces);
        if (g->at < g->piece_end[k]) {
            size_t left = g->piece_end[k] - g->at, part = left < n - done ? left : n - done;
            run(g, g->piece_law[k], v + done, part);
            done += part;
        }
    }
}
