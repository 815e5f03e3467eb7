/* Computes the reference's errors against the oracle, and from them the numbers of the bound. */
#include <float.h>
#include <string.h>

#include "gym/verify/limits.h"

/* e_ref is the 99.99th percentile: the smallest of the n/10000 + 1 largest errors. A heap of fixed
 * size keeps them. Beyond 41 million elements it holds less than 0.01 %, which only loosens the
 * bound. */
#define HEAP KG_BOUND_RANKS

struct heap {
    double v[HEAP]; /* v[0] is the smallest */
    size_t n, cap;
};

static void sift_down(struct heap *h)
{
    size_t i = 0;
    for (;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < h->n && h->v[left] < h->v[least]) {
            least = left;
        }
        if (right < h->n && h->v[right] < h->v[least]) {
            least = right;
        }
        if (least == i) {
            return;
        }
        double t = h->v[i];
        h->v[i] = h->v[least];
        h->v[least] = t;
        i = least;
    }
}

static void push(struct heap *h, double x)
{
    if (h->n == h->cap) {
        if (x > h->v[0]) {
            h->v[0] = x;
            sift_down(h);
        }
        return;
    }
    size_t i = h->n++;
    while (i > 0 && h->v[(i - 1) / 2] > x) {
        h->v[i] = h->v[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->v[i] = x;
}

static double percentile_9999(const struct heap *h)
{
    return h->n > 0 ? h->v[0] : 0;
}

/* The rms of an oracle whose squares leave the range of doubles. */
static double safe_rms(bool f32, const void *r, const double *o, uint64_t n, double fill,
                       double most)
{
    double sum = 0;
    uint64_t used = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (isfinite(kg_value_at(r, f32, i) - o[i]) && !kg_filled(fill, o[i])) {
            double t = o[i] / most;
            sum += t * t;
            used++;
        }
    }
    return most * sqrt(sum / (double)used);
}

#define RMS_LANES 8

/* Of floats that are all finite: no square leaves the range of a double. False: some are not. */
static bool rms_of_floats(const void *v, uint64_t n, double *out)
{
    const unsigned char *at = v;
    double part[RMS_LANES] = {0}, sum = 0;
    float one;
    uint64_t i = 0;
    bool finite = true;
    for (; i + RMS_LANES <= n; i += RMS_LANES) {
        float x[RMS_LANES];
        memcpy(x, at + i * sizeof *x, sizeof x);
        for (int l = 0; l < RMS_LANES; l++) {
            finite &= fabsf(x[l]) <= FLT_MAX;
            part[l] += (double)x[l] * (double)x[l];
        }
    }
    for (; i < n; i++) {
        memcpy(&one, at + i * sizeof one, sizeof one);
        finite &= fabsf(one) <= FLT_MAX;
        sum += (double)one * (double)one;
    }
    for (int l = 0; l < RMS_LANES; l++) {
        sum += part[l];
    }
    *out = n > 0 ? sqrt(sum / (double)n) : 0;
    return finite;
}

double kg_compare_rms(enum kg_dtype dtype, const void *v, uint64_t n)
{
    uint64_t used;
    double fast;
    return dtype == KG_F32 && rms_of_floats(v, n, &fast)
               ? fast
               : kg_compare_rms_without(dtype, v, n, 0, &used);
}

double kg_compare_rms_without(enum kg_dtype dtype, const void *v, uint64_t n, double fill,
                              uint64_t *used)
{
    double sum = 0, most = 0;
    bool f32 = dtype == KG_F32;
    *used = 0;
    if (!f32 && dtype != KG_F64) {
        return 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        double x = kg_value_at(v, f32, i);
        bool counts = isfinite(x) && !kg_filled(fill, x);
        sum += counts ? x * x : 0;
        most = counts && fabs(x) > most ? fabs(x) : most;
        *used += counts;
    }
    if (isfinite(sum) && sum > 0x1p-900) {
        return sqrt(sum / (double)*used);
    }
    double scaled = 0;
    for (uint64_t i = 0; i < n && most > 0; i++) {
        double x = kg_value_at(v, f32, i);
        scaled += isfinite(x) && !kg_filled(fill, x) ? x / most * (x / most) : 0;
    }
    return *used > 0 ? most * sqrt(scaled / (double)*used) : 0;
}

uint64_t kg_bound_rank(uint64_t n)
{
    return n / 10000 + 1 < HEAP ? n / 10000 + 1 : HEAP;
}

/* How many elements belong to no fill, at most. */
static uint64_t not_filled(const double *o, uint64_t n, double fill)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        count += !kg_filled(fill, o[i]);
    }
    return count;
}

static void float_bound(bool f32, const void *r, const double *o, uint64_t n,
                        const struct kg_bound_ask *ask, struct kg_bound *out)
{
    uint64_t whole = ask->fill > 0 ? not_filled(o, n, ask->fill) : n;
    struct heap h = {.cap = (size_t)(ask->rank > 0 ? ask->rank : kg_bound_rank(whole))};
    double sum = 0, errors = 0, most = 0, fill = ask->fill;
    uint64_t used = 0;
    for (uint64_t i = 0; i < n; i++) {
        double x = kg_value_at(r, f32, i), c = o[i], e = fabs(x - c);
        if (!isfinite(e)) { /* equal infinities, or NaN on both sides, agree */
            out->disagree += !(x == c || (isnan(x) && isnan(c)));
            continue;
        }
        if (kg_filled(fill, c)) {
            continue;
        }
        used++;
        sum += c * c;
        errors += e * e;
        most = fabs(c) > most ? fabs(c) : most;
        out->max_ref = e > out->max_ref ? e : out->max_ref;
        push(&h, e);
    }
    out->used = used;
    if (used == 0) {
        return;
    }
    bool plain = isfinite(sum) && sum > 0x1p-900;
    out->rms = plain ? sqrt(sum / (double)used) : most > 0 ? safe_rms(f32, r, o, n, fill, most) : 0;
    out->rms_ref = sqrt(errors / (double)used);
    out->e_ref = out->rms > 0 ? percentile_9999(&h) / out->rms : 0;
}

void kg_bound_of(enum kg_dtype dtype, const void *r, const void *o, uint64_t n, int64_t k,
                 struct kg_bound *out)
{
    kg_bound_asked(dtype, r, o, n, &(struct kg_bound_ask){.k = k}, out);
}

void kg_bound_asked(enum kg_dtype dtype, const void *r, const void *o, uint64_t n,
                    const struct kg_bound_ask *ask, struct kg_bound *out)
{
    KG_ASSERT(ask->rank <= HEAP);
    *out = (struct kg_bound){.k = ask->k > 0 ? ask->k : 1, .fill = ask->fill};
    if (dtype == KG_F32 || dtype == KG_F64) {
        float_bound(dtype == KG_F32, r, o, n, ask, out);
        return;
    }
    size_t bytes = kg_dtype_bytes(dtype);
    for (uint64_t i = 0; i < n; i++) {
        out->disagree +=
            memcmp((const char *)r + i * bytes, (const char *)o + i * bytes, bytes) != 0;
    }
}

void kg_bound_any_order(struct kg_bound *b)
{
    b->e_ref *= 2;
    b->max_ref *= 2;
    b->rms_ref *= 2;
}

/* Where the reference is all zeros there is no scale. Then a kernel may be as far off as the
 * reference is. */
static double spread(const struct kg_bound *b, double u, double errors)
{
    if (b->rms == 0) {
        return 4 * b->max_ref;
    }
    double chain = 8 * u * sqrt((double)b->k), seen = 4 * errors * b->e_ref;
    return b->rms * (chain > seen ? chain : seen);
}

void kg_limits_set(enum kg_dtype dtype, enum kg_compare_mode mode, const struct kg_bound *b,
                   struct kg_limits_of *out)
{
    double narrow = dtype == KG_F64 ? KG_NARROW_F64 : 1, u = KG_U32 * narrow, s = b->rms;
    double errors = mode == KG_COMPARE_FLOAT ? 2 : 1; /* y and r may err to opposite sides */
    double chain = u * sqrt((double)b->k) / 2 * s;
    double rms = 3 * (errors * b->rms_ref > chain ? errors * b->rms_ref : chain);
    double least = 2e-5 * narrow * s;
    *out = (struct kg_limits_of){
        .rel = (2 + (double)b->alike) * u,
        .abs = spread(b, u, errors),
        .low = 1e-5 * narrow,
        .low_s = 1e-5 * narrow * s,
        .high = 1e-3 * narrow,
        .high_s = 1e-3 * narrow * s,
        .most = 4 * b->max_ref,
        .rms = b->rms == 0   ? INFINITY
               : rms > least ? rms
                             : least,
        .fill = b->fill,
    };
    if (mode == KG_COMPARE_PRECISION) {
        out->rel = 0x1p-15 * narrow;
        out->abs = s > 0 ? s * fmax(2 * u * sqrt((double)b->k), 4 * b->e_ref) : out->abs;
        out->rms = INFINITY;
        out->own_error = true;
    } else if (mode == KG_COMPARE_EXACT) {
        *out = (struct kg_limits_of){.rms = INFINITY};
    }
}
