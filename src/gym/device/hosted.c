/* Values of an oracle in the host's memory. The device has one piece of them at a time, beside the
 * same piece of the answers that it keeps. */
#include <math.h>
#include <stdlib.h>

#include "gym/device/device_law.h"
#include "gym/device/device_state.h"
#include "gym/verify/limits.h"

/* A block that nobody uses is kept for the next answer, since making its pages takes as long as
 * the copies to it. */
enum kg_code kg_dj_hosted_room(struct kg_dj_state *s, struct kg_dj_answer *a, uint64_t bytes,
                               struct kg_err *err)
{
    if (a->host_cap >= bytes && (bytes == 0) == (a->host_cap == 0)) {
        return KG_OK;
    }
    kg_dj_hosted_drop(s, a);
    if (bytes == 0) {
        return KG_OK;
    }
    if (s->spare_cap >= bytes) {
        a->host_block = s->spare;
        a->host_cap = s->spare_cap;
        s->spare = NULL;
        s->spare_cap = 0;
        return KG_OK;
    }
    kg_dj_hosted_drop_spare(s);
    a->host_block = bytes <= KG_DJM_MOST ? s->dev.ops->host_alloc(&s->dev, bytes) : NULL;
    if (a->host_block == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "judge: the host has no memory for %llu bytes",
                              (unsigned long long)bytes);
    }
    a->host_cap = bytes;
    return KG_OK;
}

void kg_dj_hosted_drop(struct kg_dj_state *s, struct kg_dj_answer *a)
{
    if (a->host_cap == 0) {
        return;
    }
    if (a->host_cap > s->spare_cap) {
        kg_dj_hosted_drop_spare(s);
        s->spare = a->host_block;
        s->spare_cap = a->host_cap;
    } else {
        s->dev.ops->host_free(&s->dev, a->host_block);
    }
    a->host_block = NULL;
    a->host_cap = 0;
}

void kg_dj_hosted_drop_spare(struct kg_dj_state *s)
{
    if (s->spare_cap == 0) {
        return;
    }
    s->dev.ops->host_free(&s->dev, s->spare);
    s->spare = NULL;
    s->spare_cap = 0;
}

/* The first half of `aside` has a piece as it was answered, the second half the same in double. */
enum kg_code kg_dj_hosted_take(struct kg_dj_state *s, double *to, struct kg_dtake whole,
                               uint64_t word, struct kg_dtake *out, struct kg_err *err)
{
    uint64_t size = kg_tdtype_bytes((enum kg_tdtype)whole.dtype), n;
    uint64_t count = whole.bytes / size, most = s->part / 2 / sizeof(double);
    if (kg_dj_reserve(s, &s->aside, &s->aside_cap, s->part, err) != KG_OK) {
        return err->code;
    }
    uint64_t wide = s->aside + s->part / 2;
    for (uint64_t at = 0; at < count; at += n) {
        n = count - at < most ? count - at : most;
        struct kg_dtake piece = whole;
        piece.dst = s->aside;
        piece.src += at * size;
        piece.bytes = n * size;
        if (s->dev.ops->take(&s->dev, &piece, 1, word, err) != KG_OK) {
            return err->code;
        }
        out->unwritten += piece.unwritten;
        s->dev.ops->widen(&s->dev, wide, (enum kg_tdtype)whole.dtype, s->aside, n);
        if (s->dev.ops->download(&s->dev, to + at, wide, n * sizeof(double), err) != KG_OK) {
            return err->code;
        }
    }
    struct kg_dspan span = {whole.src, whole.bytes};
    return s->dev.ops->digest(&s->dev, &span, 1, &out->digest, err);
}

/* --- pieces of output i --- */

struct pieces {
    struct kg_dj_state *s;
    const struct kg_tleaf *leaf;
    const double *o;
    enum kg_tdtype dtype;
    uint64_t r, size, n, most; /* n: elements; most: of a piece */
    uint64_t at, now;          /* the piece that `aside` has: where it begins, its elements */
};

static enum kg_code first(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                          struct pieces *out, struct kg_err *err)
{
    const struct kg_tleaf *l = &c->side[0].leaf[i];
    enum kg_tdtype dtype = (enum kg_tdtype)l->dtype;
    *out = (struct pieces){.s = s,
                           .leaf = l,
                           .o = c->side[1].host[i],
                           .dtype = dtype,
                           .r = c->side[0].at[i],
                           .size = kg_tdtype_bytes(dtype),
                           .n = kg_tleaf_count(l),
                           .most = s->part / 2 / sizeof(double)};
    return kg_dj_reserve(s, &s->aside, &s->aside_cap, s->part, err);
}

/* False: there are no more. */
static bool next(struct pieces *p)
{
    p->at += p->now;
    p->now = p->n - p->at < p->most ? p->n - p->at : p->most;
    if (p->now > 0) {
        p->s->dev.ops->upload(&p->s->dev, p->s->aside, p->o + p->at, p->now * sizeof(double));
    }
    return p->now > 0;
}

/* The root of the mean of squares of two sets, of whose both are such roots. */
static double mean(double a, uint64_t na, double b, uint64_t nb)
{
    double most = fmax(a, b), x = most > 0 ? a / most : 0, y = most > 0 ? b / most : 0;
    return na + nb > 0 ? most * sqrt((x * x * (double)na + y * y * (double)nb) / (double)(na + nb))
                       : 0;
}

/* Of each piece that error is taken which no more than its share of the elements exceed. So no more
 * than the share of the whole exceed the largest of these: it is at least the percentile. */
static enum kg_code add_bounds(struct pieces *p, int64_t k, struct kg_tbound *out,
                               struct kg_err *err)
{
    uint64_t pieces = (p->n + p->most - 1) / p->most;
    uint64_t rank = 1 + (kg_bound_rank(p->n) - 1) / (pieces > 0 ? pieces : 1);
    double error = 0;
    *out = (struct kg_tbound){.k = k > 0 ? k : 1};
    while (next(p)) {
        struct kg_tbound b;
        if (p->s->dev.ops->bounds(&p->s->dev, p->dtype, p->r + p->at * p->size, p->s->aside, p->now,
                                  k, rank, &b, err) != KG_OK) {
            return err->code;
        }
        error = fmax(error, b.rms > 0 ? b.e_ref * b.rms : b.max_ref);
        out->rms = mean(out->rms, out->used, b.rms, b.used);
        out->rms_ref = mean(out->rms_ref, out->used, b.rms_ref, b.used);
        out->max_ref = fmax(out->max_ref, b.max_ref);
        out->disagree += b.disagree;
        out->used += b.used;
    }
    out->e_ref = out->rms > 0 ? error / out->rms : 0;
    return KG_OK;
}

enum kg_code kg_dj_bounds(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i, int64_t k,
                          struct kg_tbound *out, struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0], *o = &c->side[1];
    struct pieces p;
    if (o->host[i] == NULL) {
        return s->dev.ops->bounds(&s->dev, (enum kg_tdtype)r->leaf[i].dtype, r->at[i], o->at[i],
                                  kg_tleaf_count(&r->leaf[i]), k, 0, out, err);
    }
    return first(s, c, i, &p, err) == KG_OK ? add_bounds(&p, k, out, err) : err->code;
}

static void add(struct kg_tcompare *all, const struct kg_tcompare *one, uint64_t at)
{
    if (all->n_bad == 0 && one->n_bad > 0) {
        all->first_bad = at + one->first_bad;
        all->got = one->got;
        all->want = one->want;
    }
    all->n += one->n;
    all->n_bad += one->n_bad;
    all->worst = fmax(all->worst, one->worst);
    all->nonfinite = all->nonfinite || one->nonfinite;
    all->bit_equal = all->bit_equal && one->bit_equal;
    all->finite += one->finite;
    all->square += one->square;
}

/* Counts as bad the elements that are further off than the rms may be, as elsewhere. */
static enum kg_code further_off(struct pieces *p, uint64_t y, double limit, struct kg_tcompare *out,
                                struct kg_err *err)
{
    unsigned char *part = malloc(2 * p->most * p->size);
    enum kg_code code =
        part != NULL ? KG_OK : kg_fail_memory(err, KG_E_HOST, "judge: no memory to compare with");
    for (uint64_t at = 0, n; code == KG_OK && at < p->n; at += n) {
        n = p->n - at < p->most ? p->n - at : p->most;
        unsigned char *ref = part + p->most * p->size;
        code = p->s->dev.ops->download(&p->s->dev, part, y + at * p->size, n * p->size, err);
        code = code == KG_OK
                   ? p->s->dev.ops->download(&p->s->dev, ref, p->r + at * p->size, n * p->size, err)
                   : code;
        for (uint64_t i = 0; code == KG_OK && i < n; i++) {
            double got = kg_dj_load(p->dtype, part, i), want = p->o[at + i];
            double off = fabs(got - want);
            if (isfinite(off) && isfinite(kg_dj_load(p->dtype, ref, i)) && off > limit &&
                out->n_bad++ == 0) {
                out->first_bad = at + i;
                out->got = got;
                out->want = want;
            }
        }
    }
    free(part);
    out->rms_failed = out->n_bad > 0;
    return code;
}

/* The rms is that of the whole: a piece has no limit of its own. */
static enum kg_code add_compared(struct pieces *p, uint64_t y, const struct kg_tbound *bound,
                                 bool probe, struct kg_tcompare *out, struct kg_err *err)
{
    struct kg_tbound b = *bound;
    struct kg_limits_of l;
    b.rms_ref = INFINITY;
    *out = (struct kg_tcompare){.bit_equal = true};
    while (next(p)) {
        struct kg_tcompare one;
        uint64_t by = p->at * p->size;
        if (p->s->dev.ops->compare(&p->s->dev, p->dtype, y + by, p->r + by, p->s->aside, p->now, &b,
                                   probe, &one, err) != KG_OK) {
            return err->code;
        }
        add(out, &one, p->at);
    }
    kg_tcompare_limits(p->dtype, bound, true, probe, &l);
    double rms = out->finite > 0 ? sqrt(out->square / (double)out->finite) : 0;
    out->rms_ratio = bound->rms_ref > 0 ? rms / bound->rms_ref : 0;
    if (out->n_bad == 0 && !(rms <= l.rms) && further_off(p, y, l.rms, out, err) != KG_OK) {
        return err->code;
    }
    out->pass = out->n_bad == 0;
    return KG_OK;
}

enum kg_code kg_dj_against(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                           uint64_t y, const struct kg_tbound *bound, bool probe,
                           struct kg_tcompare *out, struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0], *o = &c->side[1];
    struct pieces p;
    if (o->host[i] == NULL) {
        return s->dev.ops->compare(&s->dev, (enum kg_tdtype)r->leaf[i].dtype, y, r->at[i], o->at[i],
                                   kg_tleaf_count(&r->leaf[i]), bound, probe, out, err);
    }
    return first(s, c, i, &p, err) == KG_OK ? add_compared(&p, y, bound, probe, out, err)
                                            : err->code;
}
