#include "gym/verify/limits.h"

/* One pass over float outputs. Blocks in which every element passes cost only the arithmetic of the
 * bound, in loops of constant length that the compiler vectorises; a block with a doubt is looked
 * at again element by element. */

#define LANES 8

struct tally {
    int64_t pass, tame; /* elements that pass; at most `worst` times their bound off */
    double squares;     /* sum of squared errors */
};

/* NaN is in neither count. The order of additions is fixed, so the sum is the same with any vector
 * width; nothing may be contracted to fused operations, or it would not be. */
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

static inline __attribute__((always_inline)) void tally_kind(const struct kg_scan *s, uint64_t at,
                                                             struct tally *out)
{
    double worst = s->out->worst;
    const struct kg_limits_of *l = s->limits;
    if (!s->f32) {
        const double *c = s->o ? s->o : s->r;
        tally((const double *)s->y + at, false, c + at, false, l, worst, out);
    } else if (s->o) {
        tally((const float *)s->y + at, true, s->o + at, false, l, worst, out);
    } else {
        tally((const float *)s->y + at, true, (const float *)s->r + at, true, l, worst, out);
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
    s->square += e * e;
    s->finite++;
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
        return; /* the references disagree: nothing can be asked here */
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
    if (t.pass < KG_BLOCK || t.tame < KG_BLOCK) {
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
    bool avx2 = __builtin_cpu_supports("avx2");
    uint64_t at = 0;
    for (; at + KG_BLOCK <= n; at += KG_BLOCK) {
        whole_block(s, at, avx2);
    }
    for (; at < n; at++) {
        element(s, at);
    }
}
