/* The generator of one argument's values: its ranges, and storing in the argument's type. */
#include "gym/values/gen.h"

#include <float.h>
#include <math.h>

#define INT_EDGE 9007199254740992.0 /* 2^53: ranges are computed in doubles */

static double greatest_below(enum kg_dtype t, double hi)
{
    if (t == KG_F64) {
        return nextafter(hi, -INFINITY);
    }
    float f = (float)hi;
    return (double)f < hi ? f : nextafterf(f, -INFINITY);
}

static double least_from(enum kg_dtype t, double lo)
{
    float f = (float)lo;
    return t == KG_F64 ? lo : (double)f >= lo ? f : nextafterf(f, INFINITY);
}

static void float_range(struct kg_gen *g, double lo, double hi)
{
    g->lo = lo;
    g->span = hi - lo;
    g->floor = least_from(g->dtype, lo);
    g->top = fmax(greatest_below(g->dtype, hi), g->floor);
}

/* An integer without a range is drawn from [-100, 100). */
static void integer_range(struct kg_gen *g, double lo, double hi)
{
    double edge = g->dtype == KG_I32 ? 2147483648.0 : INT_EDGE;
    g->floor = fmax(ceil(g->ranged ? lo : -100), -edge);
    g->top = fmin(ceil(g->ranged ? hi : 100) - 1, edge - 1);
    g->top = fmax(g->top, g->floor);
}

void kg_gen_init(struct kg_gen *g, const struct kg_problem *p, const struct kg_shape *s, int arg,
                 enum kg_law law, struct kg_key key)
{
    const struct kg_arg *a = &p->args[arg];
    double lo = -1, hi = 1;
    *g = (struct kg_gen){.law = law, .dtype = a->dtype};
    kg_rng_init(&g->rng, key, 0);
    kg_rng_init(&g->shape, key, 1);
    g->n = (size_t)kg_arg_count(p, arg, s);
    g->ranged = a->has_range && kg_arg_range(p, arg, s, &lo, &hi) && hi > lo;
    if (!g->ranged) {
        lo = -1, hi = 1;
    }
    int64_t last = 64;
    if (a->rank > 1 && kg_expr_int(a->extent[a->rank - 1], s->dim, &last) && last < 1) {
        last = 1;
    }
    g->row = (size_t)last;
    if (a->dtype == KG_I32 || a->dtype == KG_I64) {
        integer_range(g, lo, hi);
    } else {
        float_range(g, lo, hi);
    }
}

void kg_gen_deinit(struct kg_gen *g)
{
    kg_rng_deinit(&g->rng);
    kg_rng_deinit(&g->shape);
}

double kg_gen_own(const struct kg_gen *g, double u)
{
    return g->lo + u * g->span;
}

/* PRECISION needs every bit of the significand, so a value that ends in a zero bit is made odd. */
static float odd_f32(float x)
{
    union {
        float f;
        uint32_t u;
    } b = {.f = x};
    b.u |= 1;
    return b.f;
}

static double odd_f64(double x)
{
    union {
        double f;
        uint64_t u;
    } b = {.f = x};
    b.u |= 1;
    return b.f;
}

static void store_f32(const struct kg_gen *g, float *dst, const double *v, size_t n)
{
    bool odd = g->law == KG_LAW_PRECISION && g->first;
    for (size_t i = 0; i < n; i++) {
        float x = odd ? odd_f32((float)v[i]) : (float)v[i];
        if (g->ranged) {
            x = x > (float)g->floor ? x : (float)g->floor;
            x = x < (float)g->top ? x : (float)g->top;
        }
        dst[i] = x;
    }
}

static void store_f64(const struct kg_gen *g, double *dst, const double *v, size_t n)
{
    bool odd = g->law == KG_LAW_PRECISION && g->first;
    for (size_t i = 0; i < n; i++) {
        double x = odd ? odd_f64(v[i]) : v[i];
        if (g->ranged) {
            x = x > g->floor ? x : g->floor;
            x = x < g->top ? x : g->top;
        }
        dst[i] = x;
    }
}

void kg_gen_store(const struct kg_gen *g, void *dst, size_t at, const double *v, size_t n)
{
    if (g->dtype == KG_F32) {
        store_f32(g, (float *)dst + at, v, n);
    } else {
        store_f64(g, (double *)dst + at, v, n);
    }
}
