#include "gym/device/law.h"

#include <math.h>

#include "gym/device/half.h"
#include "gym/values/gen.h"

#define CHUNK     2048
#define LAST_TILE 64

struct maker {
    struct kg_dj_law law;
    enum kg_tdtype dtype;
    struct kg_rng rng;
    double least, top; /* UNIFORM: representable ends */
    double constant;   /* EQUAL */
    int64_t from;      /* integers: [from, from + range) */
    uint64_t range;
    uint64_t spike_at;
    double spike;
};

double kg_dj_load(enum kg_tdtype dtype, const void *src, uint64_t at)
{
    switch (dtype) {
    case KG_TD_F32:
        return ((const float *)src)[at];
    case KG_TD_F64:
        return ((const double *)src)[at];
    case KG_TD_F16:
        return kg_half_widen(((const uint16_t *)src)[at]);
    case KG_TD_BF16:
        return kg_bf16_widen(((const uint16_t *)src)[at]);
    case KG_TD_I64:
        return (double)((const int64_t *)src)[at];
    case KG_TD_I32:
        return ((const int32_t *)src)[at];
    case KG_TD_I16:
        return ((const int16_t *)src)[at];
    case KG_TD_I8:
        return ((const int8_t *)src)[at];
    case KG_TD_U8:
    case KG_TD_BOOL:
        return ((const uint8_t *)src)[at];
    case KG_TD_COUNT:
        break;
    }
    return 0;
}

static double clamp(double v, double least, double most)
{
    return v >= least ? v <= most ? v : most : least; /* NaN: least */
}

void kg_dj_store(enum kg_tdtype dtype, void *dst, uint64_t at, double v)
{
    switch (dtype) {
    case KG_TD_F32:
        ((float *)dst)[at] = (float)v;
        break;
    case KG_TD_F64:
        ((double *)dst)[at] = v;
        break;
    case KG_TD_F16:
        ((uint16_t *)dst)[at] = kg_half_narrow((float)v);
        break;
    case KG_TD_BF16:
        ((uint16_t *)dst)[at] = kg_bf16_narrow((float)v);
        break;
    case KG_TD_I64:
        ((int64_t *)dst)[at] = (int64_t)clamp(v, -0x1p63, 0x1.fffffffffffffp62);
        break;
    case KG_TD_I32:
        ((int32_t *)dst)[at] = (int32_t)clamp(v, INT32_MIN, INT32_MAX);
        break;
    case KG_TD_I16:
        ((int16_t *)dst)[at] = (int16_t)clamp(v, INT16_MIN, INT16_MAX);
        break;
    case KG_TD_I8:
        ((int8_t *)dst)[at] = (int8_t)clamp(v, INT8_MIN, INT8_MAX);
        break;
    case KG_TD_U8:
        ((uint8_t *)dst)[at] = (uint8_t)clamp(v, 0, UINT8_MAX);
        break;
    case KG_TD_BOOL:
        ((uint8_t *)dst)[at] = v != 0;
        break;
    case KG_TD_COUNT:
        break;
    }
}

static double rounded(enum kg_tdtype t, double v)
{
    union {
        double d;
        float f;
        uint16_t h;
    } kept = {0};
    kg_dj_store(t, &kept, 0, v);
    return kg_dj_load(t, &kept, 0);
}

/* The nearest value of t that is below x (up false) or not below it (up true). */
static double edge(enum kg_tdtype t, double x, bool up)
{
    double step = fabs(x), v = rounded(t, x);
    double unit = t == KG_TD_F64    ? 0x1p-53
                  : t == KG_TD_F32  ? 0x1p-24
                  : t == KG_TD_BF16 ? 0x1p-8
                                    : 0x1p-11;
    step = step > 0 ? step : 0x1p-126;
    for (double k = 1; k < 64 && (up ? v < x : v >= x); k++) {
        v = rounded(t, up ? x + k * unit * step : x - k * unit * step);
    }
    return v;
}

static double unit_of(uint64_t bits)
{
    return (double)(int64_t)(bits >> 11) * 0x1p-53;
}

static int64_t whole(const struct maker *m, uint64_t bits)
{
    uint64_t w = (uint64_t)((unsigned __int128)bits * m->range >> 64);
    return (int64_t)((uint64_t)m->from + w);
}

static double one(const struct maker *m, uint64_t bits, uint64_t i)
{
    const struct kg_dj_law *l = &m->law;
    double u = unit_of(bits);
    switch ((enum kg_dj_kind)l->kind) {
    case KG_DJ_NORMAL:
        return l->a + l->b * kg_gen_normal(bits);
    case KG_DJ_INTEGER:
        return (double)whole(m, bits);
    case KG_DJ_CONSTANT:
        return l->a;
    case KG_DJ_SPARSE:
        return u < 0.95 ? 0 : kg_gen_normal(bits * 0x9e3779b97f4a7c15u);
    case KG_DJ_OFFSET:
        return kg_gen_normal(bits) + 1e3;
    case KG_DJ_SMALL:
        return kg_gen_normal(bits) * 1e-4;
    case KG_DJ_LARGE:
        return kg_gen_normal(bits) * 1e3;
    case KG_DJ_SMALLINT:
        return floor(u * 17) - 8;
    case KG_DJ_WIDEINT:
        return (bits & 1 ? -1 : 1) * (2048 + floor(u * 2048));
    case KG_DJ_EQUAL:
        return m->constant;
    case KG_DJ_BF16:
        return kg_bf16_widen(kg_bf16_narrow((float)kg_gen_normal(bits)));
    case KG_DJ_SPIKE:
        if (i == m->spike_at) {
            return m->spike;
        }
        break;
    case KG_DJ_UNIFORM:
    case KG_DJ_HEAVY:
    case KG_DJ_KINDS:
        break;
    }
    return clamp(l->a + u * (l->b - l->a), m->least, m->top);
}

static double heavy(uint64_t bits, uint64_t more)
{
    return clamp(kg_gen_normal(bits) / sqrt(1 - unit_of(more)), -1e4, 1e4);
}

static void fill_floating(struct maker *m, void *dst, uint64_t n)
{
    uint64_t bits[CHUNK], more[CHUNK];
    bool two = m->law.kind == KG_DJ_HEAVY;
    for (uint64_t at = 0; at < n; at += CHUNK) {
        uint64_t part = n - at < CHUNK ? n - at : CHUNK;
        kg_rng_bytes(&m->rng, bits, part * sizeof *bits);
        if (two) {
            kg_rng_bytes(&m->rng, more, part * sizeof *more);
        }
        for (uint64_t i = 0; i < part; i++) {
            double v = two ? heavy(bits[i], more[i]) : one(m, bits[i], at + i);
            kg_dj_store(m->dtype, dst, at + i, v);
        }
    }
}

/* 24 random bits are a float of [0, 1) exactly. */
static void fill_uniform_f32(struct maker *m, float *dst, uint64_t n)
{
    uint32_t bits[CHUNK];
    float lo = (float)m->law.a, span = (float)(m->law.b - m->law.a);
    float least = (float)m->least, top = (float)m->top;
    for (uint64_t at = 0; at < n; at += CHUNK) {
        uint64_t part = n - at < CHUNK ? n - at : CHUNK;
        kg_rng_bytes(&m->rng, bits, sizeof bits);
        for (uint64_t i = 0; i < part; i++) {
            float x = lo + (float)(int32_t)(bits[i] >> 8) * 0x1p-24f * span;
            x = x > least ? x : least;
            dst[at + i] = x < top ? x : top;
        }
    }
}

static void fill_whole(struct maker *m, void *dst, uint64_t n)
{
    uint64_t bits[CHUNK];
    bool constant = m->law.kind == KG_DJ_CONSTANT || m->law.kind == KG_DJ_EQUAL;
    for (uint64_t at = 0; at < n; at += CHUNK) {
        uint64_t part = n - at < CHUNK ? n - at : CHUNK;
        kg_rng_bytes(&m->rng, bits, part * sizeof *bits);
        for (uint64_t i = 0; i < part; i++) {
            if (m->dtype == KG_TD_I64 && !constant) {
                ((int64_t *)dst)[at + i] = whole(m, bits[i]);
            } else {
                kg_dj_store(m->dtype, dst, at + i,
                            constant ? m->constant : (double)whole(m, bits[i]));
            }
        }
    }
}

/* [a, b) as whole numbers. */
static void set_range(struct maker *m)
{
    double a = clamp(ceil(m->law.a), -0x1p63, 0x1p62), b = clamp(ceil(m->law.b), -0x1p63, 0x1p62);
    bool coin = m->dtype == KG_TD_BOOL;
    if (coin || !(b > a)) {
        a = 0;
        b = coin ? 2 : 8;
    }
    m->from = (int64_t)a;
    m->range = (uint64_t)(int64_t)b - (uint64_t)(int64_t)a;
}

static void set_constants(struct maker *m, uint64_t n)
{
    struct kg_rng r;
    kg_rng_init(&r, m->law.key, ~m->law.stream);
    uint64_t bits = kg_rng_u64(&r);
    m->constant = m->law.kind == KG_DJ_CONSTANT  ? m->law.a
                  : kg_tdtype_floating(m->dtype) ? kg_gen_normal(bits)
                                                 : (double)whole(m, bits);
    uint64_t tile = n < LAST_TILE ? n : LAST_TILE;
    if (n > 0) {
        bool last = kg_rng_below(&r, 2) == 1;
        m->spike_at = last ? n - 1 - kg_rng_below(&r, tile) : kg_rng_below(&r, n);
    }
    double most = fmax(fmax(fabs(m->law.a), fabs(m->law.b)), 1);
    m->spike = fmin(1e4 * most, 3e4) * (kg_rng_below(&r, 2) == 1 ? 1 : -1);
    kg_rng_deinit(&r);
}

static struct maker make(enum kg_tdtype dtype, uint64_t n, const struct kg_dj_law *law)
{
    struct maker m = {.law = *law, .dtype = dtype};
    if (law->kind == KG_DJ_SPIKE && !(law->b > law->a)) {
        m.law.a = -1;
        m.law.b = 1;
    }
    set_range(&m);
    set_constants(&m, n);
    if (kg_tdtype_floating(dtype)) {
        m.least = edge(dtype, m.law.a, true);
        m.top = m.law.b > m.law.a ? fmax(edge(dtype, m.law.b, false), m.least) : m.least;
    }
    return m;
}

void kg_dj_plan_of(enum kg_tdtype dtype, uint64_t n, const struct kg_dj_law *law,
                   struct kg_dj_plan *out)
{
    struct maker m = make(dtype, n, law);
    *out = (struct kg_dj_plan){.a = m.law.a,
                               .b = m.law.b,
                               .least = m.least,
                               .top = m.top,
                               .constant = m.constant,
                               .spike = m.spike,
                               .spike_at = m.spike_at,
                               .from = m.from,
                               .range = m.range};
}

void kg_dj_law_fill(enum kg_tdtype dtype, void *dst, uint64_t n, const struct kg_dj_law *law)
{
    struct maker m = make(dtype, n, law);
    kg_rng_init(&m.rng, law->key, law->stream);
    if (!kg_tdtype_floating(dtype)) {
        fill_whole(&m, dst, n);
    } else if (law->kind == KG_DJ_UNIFORM && dtype == KG_TD_F32) {
        fill_uniform_f32(&m, dst, n);
    } else {
        fill_floating(&m, dst, n);
    }
    kg_rng_deinit(&m.rng);
}
