/* The comparison of 16-bit floats on the host. Blocks in which all elements pass take a fast
 * loop. */
#include "gym/device/narrow.h"

#include <math.h>
#include <string.h>

#include "gym/device/half.h"
#include "gym/verify/limits.h"

#define BLOCK 1024

struct limits {
    double rel, abs;     /* bound: rel |c| + abs */
    double low, high, s; /* at least low (|c| + s), at most high (|c| + s) ... */
    double most;         /* ... or 4 max|r - o|, if that is larger */
    double rms;          /* limit of the rms of y - c */
    double fill;         /* elements with such a centre do not count there; 0: none */
    bool own_error;      /* also within 4 |r - c| */
};

struct scan {
    struct limits l;
    enum kg_tdtype dtype;
    const uint16_t *y, *r;
    const double *o;
    double square;
    uint64_t finite;
    struct kg_tcompare *out;
};

/* A block of answers as floats, with the centres of their bounds. */
struct window {
    float y[BLOCK], r[BLOCK];
    double c[BLOCK];
};

void kg_narrow_widen(enum kg_tdtype dtype, const uint16_t *v, float *out, uint64_t n)
{
    if (dtype == KG_TD_F16) {
        for (uint64_t i = 0; i < n; i++) {
            out[i] = kg_half_widen(v[i]);
        }
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        out[i] = kg_bf16_widen(v[i]);
    }
}

static struct limits limits_of(enum kg_tdtype dtype, const struct kg_tbound *b, bool oracle,
                               bool probe)
{
    bool half = dtype == KG_TD_F16;
    double u = half ? 0x1p-11 : 0x1p-8, acc = 0x1p-24 * sqrt((double)(b->k > 0 ? b->k : 1));
    double errors = oracle ? 1 : 2; /* y and r may err to opposite sides */
    struct limits l = {.rel = 2 * u, .s = b->rms, .most = 4 * b->max_ref, .fill = b->fill};
    l.low = half ? 1e-3 : 8e-3;
    l.high = half ? 1e-2 : 4e-2;
    l.abs = b->rms > 0 ? b->rms * fmax(8 * acc, 4 * errors * b->e_ref) : 4 * b->max_ref;
    double rms = 3 * fmax(errors * b->rms_ref, acc / 2 * b->rms);
    l.rms = b->rms > 0 ? fmax(rms, 2 * l.low * b->rms) : INFINITY;
    if (oracle && probe) {
        l.rel = fmax(0x1p-15, 2 * u);
        l.abs = 0;
        l.rms = INFINITY;
        l.own_error = true;
    }
    return l;
}

void kg_narrow_limits(enum kg_tdtype dtype, const struct kg_tbound *bound, bool oracle, bool probe,
                      struct kg_limits_of *out)
{
    struct limits l = limits_of(dtype, bound, oracle, probe);
    *out = (struct kg_limits_of){.rel = l.rel,
                                 .abs = l.abs,
                                 .low = l.low,
                                 .low_s = l.low * l.s,
                                 .high = l.high,
                                 .high_s = l.high * l.s,
                                 .most = l.most,
                                 .rms = l.rms,
                                 .fill = l.fill,
                                 .own_error = l.own_error};
}

static inline double limit_at(const struct limits *l, double c)
{
    double a = fabs(c), base = l->rel * a + l->abs;
    double low = l->low * (a + l->s), high = l->high * (a + l->s);
    double ceiling = high > l->most ? high : l->most, bound = base > low ? base : low;
    return bound < ceiling ? bound : ceiling;
}

static bool same_class(double a, double b)
{
    return (isfinite(a) && isfinite(b)) || a == b || (isnan(a) && isnan(b));
}

static void fail(struct scan *s, uint64_t i, double y, double c)
{
    if (s->out->n_bad++ == 0) {
        s->out->first_bad = i;
        s->out->got = y;
        s->out->want = c;
    }
}

static void element(struct scan *s, const struct window *w, uint64_t at, int i)
{
    double y = w->y[i], r = w->r[i], c = w->c[i], e = fabs(y - c);
    if (!same_class(r, c)) {
        return; /* reference and oracle disagree in class: no answer can be wrong here */
    }
    if (!same_class(y, c)) {
        s->out->nonfinite = true;
        s->out->worst = INFINITY;
        fail(s, at + (uint64_t)i, y, c);
        return;
    }
    if (!isfinite(c)) {
        return;
    }
    double bound = limit_at(&s->l, c);
    bound = s->l.own_error && 4 * fabs(r - c) > bound ? 4 * fabs(r - c) : bound;
    if (!kg_filled(s->l.fill, c)) {
        s->square += e * e;
        s->finite++;
    }
    if (!(e <= bound)) {
        fail(s, at + (uint64_t)i, y, c);
    }
    if (e > 0 && e / bound > s->out->worst) {
        s->out->worst = e / bound;
    }
}

static void load(const struct scan *s, uint64_t at, int n, struct window *w)
{
    kg_narrow_widen(s->dtype, s->y + at, w->y, (uint64_t)n);
    kg_narrow_widen(s->dtype, s->r + at, w->r, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        w->c[i] = s->o != NULL ? s->o[at + (uint64_t)i] : (double)w->r[i];
    }
}

/* The fast loop: true if the whole block passes, and no element is worse than the worst so far. NaN
 * fails both comparisons. */
static bool quick(struct scan *s, const struct window *w)
{
    struct limits l = s->l;
    double worst = s->out->worst, lane[8] = {0};
    int64_t pass = 0;
    for (int i = 0; i < BLOCK; i++) {
        double e = fabs((double)w->y[i] - w->c[i]), bound = limit_at(&l, w->c[i]);
        pass += (e <= bound) & (e <= worst * bound) & isfinite(w->r[i]);
    }
    if (pass < BLOCK) {
        return false;
    }
    for (int i = 0; i < BLOCK; i += 8) {
        for (int k = 0; k < 8; k++) {
            double e = (double)w->y[i + k] - w->c[i + k];
            lane[k] += e * e;
        }
    }
    for (int k = 0; k < 8; k++) {
        s->square += lane[k];
    }
    s->finite += BLOCK;
    return true;
}

/* Counts as bad the elements that are further off than the rms may be. This finds answers whose
 * elements all lean the same way, each within its own bound. */
static void check_rms(struct scan *s, uint64_t n)
{
    struct window w;
    if (s->finite == 0 || sqrt(s->square / (double)s->finite) <= s->l.rms) {
        return;
    }
    for (uint64_t at = 0; at < n; at += BLOCK) {
        int part = n - at < BLOCK ? (int)(n - at) : BLOCK;
        load(s, at, part, &w);
        for (int i = 0; i < part; i++) {
            double e = fabs((double)w.y[i] - w.c[i]);
            bool counts = isfinite(e) && isfinite(w.r[i]) && !kg_filled(s->l.fill, w.c[i]);
            if (counts && e > s->l.rms) {
                fail(s, at + (uint64_t)i, w.y[i], w.c[i]);
            }
        }
    }
    s->out->rms_failed = s->out->n_bad > 0;
}

void kg_narrow_compare(enum kg_tdtype dtype, const uint16_t *y, const uint16_t *r, const double *o,
                       uint64_t n, const struct kg_tbound *bound, bool probe,
                       struct kg_tcompare *out)
{
    struct window w;
    struct scan s = {.dtype = dtype, .y = y, .r = r, .o = o, .out = out};
    s.l = limits_of(dtype, bound, o != NULL, probe);
    *out = (struct kg_tcompare){.n = n, .bit_equal = memcmp(y, r, n * sizeof *y) == 0};
    for (uint64_t at = 0; at < n; at += BLOCK) {
        int part = n - at < BLOCK ? (int)(n - at) : BLOCK;
        load(&s, at, part, &w);
        if (part == BLOCK && !(s.l.fill > 0) && quick(&s, &w)) {
            continue;
        }
        for (int i = 0; i < part; i++) {
            element(&s, &w, at, i);
        }
    }
    out->finite = s.finite;
    out->square = s.square;
    if (bound->rms_ref > 0 && s.finite > 0) {
        out->rms_ratio = sqrt(s.square / (double)s.finite) / bound->rms_ref;
    }
    if (out->n_bad == 0) {
        check_rms(&s, n);
    }
    out->pass = out->n_bad == 0;
}
