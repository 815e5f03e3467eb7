/* Closeness of two tensors as torch.allclose defines it; the header has the rule. The preset
 * `kernelbench` uses it. */
#include "gym/device/allclose.h"

#include <math.h>
#include <string.h>

#include "gym/device/device_law.h"

void kg_allclose_begin(struct kg_allclose *c, enum kg_tdtype dtype, double tolerance)
{
    *c = (struct kg_allclose){.dtype = dtype, .tolerance = tolerance};
    c->so_far.bit_equal = true;
    c->so_far.got = c->so_far.want = NAN;
}

static void note(struct kg_allclose *c, uint64_t at, double y, double r, double allowed)
{
    struct kg_tcompare *m = &c->so_far;
    double over = fabs(r - y) / allowed;
    if (m->n_bad++ == 0) {
        m->first_bad = m->n + at;
        m->got = y;
        m->want = r;
    }
    m->worst = over > m->worst ? over : m->worst;
    m->nonfinite = m->nonfinite || !isfinite(y);
}

/* NaN stays NaN, as in torch.max and torch.mean. */
static void add_difference(struct kg_allclose *c, double d)
{
    struct kg_tcompare *m = &c->so_far;
    m->max_difference = d > m->max_difference || isnan(d) ? d : m->max_difference;
    c->sum += d;
}

static bool is_narrow(enum kg_tdtype t)
{
    return t == KG_TD_F16 || t == KG_TD_BF16;
}

static void add_f32(struct kg_allclose *c, const float *y, const float *r, uint64_t n)
{
    float t = (float)c->tolerance;
    for (uint64_t i = 0; i < n; i++) {
        float d = fabsf(r[i] - y[i]), allowed = t + fabsf(t * y[i]);
        add_difference(c, d);
        if (!(r[i] == y[i] || (isfinite(d) && d <= allowed))) {
            note(c, i, y[i], r[i], allowed);
        }
    }
}

static float rounded(enum kg_tdtype t, float v)
{
    return t == KG_TD_F16 ? kg_half_to_float(kg_half_from_float(v))
                          : kg_bf16_to_float(kg_bf16_from_float(v));
}

static void add_narrow(struct kg_allclose *c, const void *y, const void *r, uint64_t n)
{
    float t = (float)c->tolerance;
    for (uint64_t i = 0; i < n; i++) {
        float a = (float)kg_dj_load(c->dtype, y, i), b = (float)kg_dj_load(c->dtype, r, i);
        float d = fabsf(rounded(c->dtype, b - a));
        float allowed = rounded(c->dtype, t + fabsf(rounded(c->dtype, t * a)));
        add_difference(c, d);
        if (!(b == a || (isfinite(d) && d <= allowed))) {
            note(c, i, a, b, allowed);
        }
    }
}

static void add_other(struct kg_allclose *c, const void *y, const void *r, uint64_t n)
{
    double t = c->dtype == KG_TD_BOOL ? 0 : c->tolerance;
    for (uint64_t i = 0; i < n; i++) {
        double a = kg_dj_load(c->dtype, y, i), b = kg_dj_load(c->dtype, r, i);
        double d = fabs(b - a), allowed = t + fabs(t * a);
        add_difference(c, d);
        if (!(b == a || (isfinite(d) && d <= allowed))) {
            note(c, i, a, b, allowed);
        }
    }
}

void kg_allclose_add(struct kg_allclose *c, const void *y, const void *r, uint64_t n)
{
    if (c->dtype == KG_TD_F32) {
        add_f32(c, y, r, n);
    } else if (is_narrow(c->dtype)) {
        add_narrow(c, y, r, n);
    } else {
        add_other(c, y, r, n);
    }
    c->so_far.bit_equal = c->so_far.bit_equal && memcmp(y, r, n * kg_tdtype_bytes(c->dtype)) == 0;
    c->so_far.n += n;
}

void kg_allclose_end(const struct kg_allclose *c, struct kg_tcompare *out)
{
    *out = c->so_far;
    out->pass = out->n_bad == 0;
    out->mean_difference = out->n > 0 ? c->sum / (double)out->n : 0;
    if (is_narrow(c->dtype)) { /* the mean of 16-bit floats is one too */
        out->mean_difference = rounded(c->dtype, (float)out->mean_difference);
    }
}
