/* One pass over float outputs. A block in which every element passes takes a fast loop of constant
 * length, which the compiler vectorises. Any other block is checked element by element. */
#include "gym/verify/limits.h"

#define LANES 8
#define AHEAD 512 /* elements; centres are read from memory once, page by page */

/* The fast test needs one line per element: flat |c| + flat_s is never above the bound, also in
 * floating-point arithmetic, because rounding keeps order. So an element within it passes. Below
 * the ceiling, the bound is the larger of two such lines. */
static void draw_line(struct kg_scan *s)
{
    const struct kg_limits_of *l = s->limits;
    if (l->abs > l->low_s && l->rel <= l->high && l->abs <= l->high_s) {
        s->flat = l->rel;
        s->flat_s = l->abs;
    } else if (l->low <= l->high && l->low_s <= l->high_s) {
        s->flat = l->low;
        s->flat_s = l->low_s;
    }
}

struct tally {
    int64_t pass, tame; /* elements that pass, and those at most `worst` times their bound off */
    double squares;     /* sum of squared errors */
};

/* NaN fails both comparisons. The order of additions is fixed, so the sum is the same with any
 * vector width. Contraction to fused operations would change it. */
static inline __attribute__((always_inline)) void tally(const void *y, bool y32, const void *c,
                                                        bool c32, const struct kg_limits_of *limits,
                                                        double worst, struct tally *out)
{
    double error[KG_BLOCK], lane[LANES] = {0};
    struct kg_limits_of l = *limits;
    int64_t pass = 0, tame = 0;
    for (uint64_t i = 0; i < KG_BLOCK; i++) {
        double centre = kg_value_at(c, c32, i), e = fabs(kg_value_at(y, y32, i) - centre);
        double bound = kg_limit_at(&l, centre);
        pass += e <= bound;
        tame += e <= worst * bound;
        error[i] = e;
    }
    for (int i = 0; i < KG_BLOCK; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            lane[j] += error[i + j] * error[i + j];
        }
    }
    *out = (struct tally){.pass = pass, .tame = tame};
    for (int j = 0; j < LANES; j++) {
        out->squares += lane[j];
    }
}

/* True if the line alone shows that every element passes and is at most `worst` times its bound
 * off. The sum of squares equals that of tally(). */
static inline __attribute__((always_inline)) bool all_below(const void *y, bool y32, const void *c,
                                                            bool c32, const struct kg_scan *s,
                                                            double *squares)
{
    double lane[LANES] = {0}, flat = s->flat, flat_s = s->flat_s;
    double share = s->out->worst < 1 ? s->out->worst : 1;
    int64_t above[LANES] = {0}, any = 0;
    for (uint64_t i = 0; i < KG_BLOCK; i += LANES) {
        __builtin_prefetch((const char *)c + (i + AHEAD) * (c32 ? 4 : 8));
        for (uint64_t j = 0; j < LANES; j++) {
            double centre = kg_value_at(c, c32, i + j);
            double e = fabs(kg_value_at(y, y32, i + j) - centre);
            above[j] |= !(e <= share * (flat * fabs(centre) + flat_s));
            lane[j] += e * e;
        }
    }
    *squares = 0;
    for (int j = 0; j < LANES; j++) {
        *squares += lane[j];
        any |= above[j];
    }
    return any == 0;
}

static inline __attribute__((always_inline)) void tally_kind(const struct kg_scan *s, uint64_t at,
                                                             struct tally *out)
{
    double worst = s->out->worst;
    const struct kg_limits_of *l = s->limits;
    const char *y = s->y;
    y += at * (s->f32 ? 4 : 8);
    *out = (struct tally){.pass = KG_BLOCK, .tame = KG_BLOCK};
    if (!s->f32) {
        const double *c = (s->o ? s->o : (const double *)s->r) + at;
        if (!all_below(y, false, c, false, s, &out->squares)) {
            tally(y, false, c, false, l, worst, out);
        }
    } else if (s->o) {
        if (!all_below(y, true, s->o + at, false, s, &out->squares)) {
            tally(y, true, s->o + at, false, l, worst, out);
        }
    } else {
        const float *c = (const float *)s->r + at;
        if (!all_below(y, true, c, true, s, &out->squares)) {
            tally(y, true, c, true, l, worst, out);
        }
    }
}

static void tally_plain(const struct kg_scan *s, uint64_t at, struct tally *out)
{
    tally_kind(s, at, out);
}

__attribute__((target("avx2"))) static void tally_avx2(const struct kg_scan *s, uint64_t at,
                                                       struct tally *out)
{
    tally_kind(s, at, out);
}

static void raise_worst(struct kg_scan *s, double ratio)
{
    if (ratio > s->out->worst) {
        s->out->worst = ratio;
    }
}

static void fail(struct kg_scan *s, uint64_t i, double y, double c)
{
    struct kg_compare *out = s->out;
    if (out->n_bad++ == 0) {
        out->first_bad = i;
        out->got = y;
        out->want = c;
    }
}

static void finite_element(struct kg_scan *s, uint64_t i, double y, double r, double c)
{
    double e = fabs(y - c), bound = kg_limit_at(s->limits, c);
    if (s->limits->own_error && 4 * fabs(r - c) > bound) {
        bound = 4 * fabs(r - c);
    }
    if (!kg_filled(s->limits->fill, c)) {
        s->square += e * e;
        s->finite++;
    }
    if (!(e <= bound)) {
        fail(s, i, y, c);
    }
    if (e > 0) {
        raise_worst(s, e / bound);
    }
}

static void element(struct kg_scan *s, uint64_t i)
{
    double y = kg_value_at(s->y, s->f32, i), r = kg_value_at(s->r, s->f32, i);
    double c = s->o ? s->o[i] : r;
    s->out->n++;
    if (!kg_same_class(r, c)) {
        return; /* reference and oracle disagree in class: no answer can be wrong here */
    }
    if (!kg_same_class(y, c)) {
        s->out->nonfinite = true;
        fail(s, i, y, c);
        raise_worst(s, INFINITY);
    } else if (isfinite(c)) {
        finite_element(s, i, y, r, c);
    }
}

static void whole_block(struct kg_scan *s, uint64_t at, bool avx2)
{
    struct tally t;
    if (avx2) {
        tally_avx2(s, at, &t);
    } else {
        tally_plain(s, at, &t);
    }
    /* An infinite error is within the infinite bound of an infinite centre, so this block is
     * checked element by element. */
    if (t.pass < KG_BLOCK || t.tame < KG_BLOCK || !isfinite(t.squares)) {
        for (uint64_t i = at; i < at + KG_BLOCK; i++) {
            element(s, i);
        }
        return;
    }
    s->out->n += KG_BLOCK;
    s->finite += KG_BLOCK;
    s->square += t.squares;
}

void kg_scan_all(struct kg_scan *s, uint64_t n)
{
    bool avx2 = __builtin_cpu_supports("avx2"), whole = !(s->limits->fill > 0);
    uint64_t at = 0;
    draw_line(s);
    for (; whole && at + KG_BLOCK <= n; at += KG_BLOCK) {
        whole_block(s, at, avx2);
    }
    for (; at < n; at++) {
        element(s, at);
    }
}
