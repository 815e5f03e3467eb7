/* Draws input values by a law on host memory. The header says what each kind means for each
 * dtype. */
#include "gym/device/device_law.h"

#include <math.h>
#include <string.h>

#include "gym/device/half.h"
#include "gym/values/gen.h"

#define CHUNK     2048
#define LAST_TILE 64

struct maker {
    struct kg_dj_law law;
    enum kg_tdtype dtype;
    struct kg_rng rng;
    double least, top; /* UNIFORM: the ends that the dtype can hold */
    double constant;   /* EQUAL */
    int64_t from;      /* integers are of [from, from + range) */
    uint64_t range;
    uint64_t spike_at;
    double spike;
};

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

/* The value of t next to x: the largest below x (up false), or the smallest not below x (up
 * true). */
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

/* offset + scale times a normal draw, for n elements. */
static void normals(const uint64_t *bits, double *v, uint64_t n, double scale, double offset)
{
    for (uint64_t i = 0; i < n; i++) {
        v[i] = offset + scale * kg_gen_normal(bits[i]);
    }
}

static void between(const struct maker *m, const uint64_t *bits, double *v, uint64_t n)
{
    double a = m->law.a, span = m->law.b - m->law.a, least = m->least, top = m->top;
    for (uint64_t i = 0; i < n; i++) {
        double x = a + unit_of(bits[i]) * span;
        x = x > least ? x : least;
        v[i] = x < top ? x : top;
    }
}

static void sparse(const uint64_t *bits, double *v, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        double u = unit_of(bits[i]);
        v[i] = u < 0.95 ? 0 : kg_gen_normal(bits[i] * 0x9e3779b97f4a7c15u);
    }
}

static void heavy(struct maker *m, const uint64_t *bits, double *v, uint64_t n)
{
    uint64_t more[CHUNK];
    kg_rng_bytes(&m->rng, more, n * sizeof *more);
    for (uint64_t i = 0; i < n; i++) {
        v[i] = kg_dj_clamp(kg_gen_normal(bits[i]) / sqrt(1 - unit_of(more[i])), -1e4, 1e4);
    }
}

/* SMALLINT -8..8; WIDEINT +-2048..4095; INTEGER of its range. */
static void integers(const struct maker *m, const uint64_t *bits, double *v, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        double u = unit_of(bits[i]);
        v[i] = m->law.kind == KG_DJ_SMALLINT  ? floor(u * 17) - 8
               : m->law.kind == KG_DJ_WIDEINT ? (bits[i] & 1 ? -1 : 1) * (2048 + floor(u * 2048))
                                              : (double)whole(m, bits[i]);
    }
}

static void constant(double c, double *v, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        v[i] = c;
    }
}

static void bf16(const uint64_t *bits, double *v, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        v[i] = kg_bf16_widen(kg_bf16_narrow((float)kg_gen_normal(bits[i])));
    }
}

static unsigned digits_of(enum kg_tdtype t)
{
    return t == KG_TD_F64 ? 52 : t == KG_TD_F32 ? 23 : t == KG_TD_BF16 ? 7 : 10;
}

static void full(enum kg_tdtype t, const uint64_t *bits, double *v, uint64_t n)
{
    unsigned digits = digits_of(t);
    double last = 1 / (double)((uint64_t)1 << digits);
    for (uint64_t i = 0; i < n; i++) {
        double x = 1 + (double)(int64_t)(bits[i] << 1 >> (64 - digits) | 1) * last;
        v[i] = bits[i] >> 63 ? -x : x;
    }
}

/* Computes the elements at..at+n as doubles. */
static void values(struct maker *m, const uint64_t *bits, uint64_t at, double *v, uint64_t n)
{
    switch ((enum kg_dj_kind)m->law.kind) {
    case KG_DJ_NORMAL:
        normals(bits, v, n, m->law.b, m->law.a);
        break;
    case KG_DJ_OFFSET:
        normals(bits, v, n, 1, 1e3);
        break;
    case KG_DJ_SMALL:
        normals(bits, v, n, 1e-4, 0);
        break;
    case KG_DJ_LARGE:
        normals(bits, v, n, 1e3, 0);
        break;
    case KG_DJ_SPARSE:
        sparse(bits, v, n);
        break;
    case KG_DJ_HEAVY:
        heavy(m, bits, v, n);
        break;
    case KG_DJ_INTEGER:
    case KG_DJ_SMALLINT:
    case KG_DJ_WIDEINT:
        integers(m, bits, v, n);
        break;
    case KG_DJ_CONSTANT:
    case KG_DJ_EQUAL:
        constant(m->constant, v, n);
        break;
    case KG_DJ_BF16:
        bf16(bits, v, n);
        break;
    case KG_DJ_FULL:
        full(m->dtype, bits, v, n);
        break;
    case KG_DJ_UNIFORM:
    case KG_DJ_SPIKE:
    case KG_DJ_KINDS:
        between(m, bits, v, n);
        break;
    }
    if (m->law.kind == KG_DJ_SPIKE && m->spike_at - at < n) {
        v[m->spike_at - at] = m->spike;
    }
}

static void store(enum kg_tdtype t, void *dst, uint64_t at, const double *v, uint64_t n)
{
    uint16_t *h = dst;
    switch (t) {
    case KG_TD_F32:
        for (uint64_t i = 0; i < n; i++) {
            ((float *)dst)[at + i] = (float)v[i];
        }
        break;
    case KG_TD_F16:
        for (uint64_t i = 0; i < n; i++) {
            h[at + i] = kg_half_narrow((float)v[i]);
        }
        break;
    case KG_TD_BF16:
        for (uint64_t i = 0; i < n; i++) {
            h[at + i] = kg_bf16_narrow((float)v[i]);
        }
        break;
    default:
        memcpy((double *)dst + at, v, n * sizeof *v);
    }
}

/* Elements with at most 24 significant bits need only 32 random bits. */
static void draw(struct maker *m, uint64_t *bits, uint64_t n)
{
    uint32_t half[CHUNK];
    if (m->dtype == KG_TD_F64) {
        kg_rng_bytes(&m->rng, bits, n * sizeof *bits);
        return;
    }
    kg_rng_bytes(&m->rng, half, n * sizeof *half);
    for (uint64_t i = 0; i < n; i++) {
        bits[i] = (uint64_t)half[i] << 32 | (half[i] * 0x9e3779b9u);
    }
}

static void fill_floating(struct maker *m, void *dst, uint64_t n)
{
    uint64_t bits[CHUNK];
    double v[CHUNK];
    for (uint64_t at = 0; at < n; at += CHUNK) {
        uint64_t part = n - at < CHUNK ? n - at : CHUNK;
        draw(m, bits, part);
        values(m, bits, at, v, part);
        store(m->dtype, dst, at, v, part);
    }
}

/* 24 random bits make a float of [0, 1) exactly. */
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

/* The whole numbers of [a, b). */
static void set_range(struct maker *m)
{
    double a = kg_dj_clamp(ceil(m->law.a), -0x1p63, 0x1p62),
           b = kg_dj_clamp(ceil(m->law.b), -0x1p63, 0x1p62);
    bool coin = m->dtype == KG_TD_BOOL;
    if (coin || !(b > a)) {
        a = 0;
        b = coin ? 2 : 8;
    }
    m->from = (int64_t)a;
    m->range = (uint64_t)(int64_t)b - (uint64_t)(int64_t)a;
}

/* The one value of EQUAL, never near 0: where a norm's answer is what rounding leaves, that grows
 * with the value. Calls whose law is not looked at for each draw, timed ones, could have one that
 * is many times as large as the value by which the law was found fit. */
static double equal(uint64_t bits)
{
    double z = kg_gen_normal(bits);
    return z + copysign(0.5, z);
}

static void set_constants(struct maker *m, uint64_t n)
{
    struct kg_rng r;
    kg_rng_init(&r, m->law.key, ~m->law.stream);
    uint64_t bits = kg_rng_u64(&r);
    m->constant = m->law.kind == KG_DJ_CONSTANT  ? m->law.a
                  : kg_tdtype_floating(m->dtype) ? equal(bits)
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
