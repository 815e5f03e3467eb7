/* Values of an oracle that are kept as differences from the reference's, on the device or in the
 * host's memory. One piece of them at a time becomes doubles again, to be compared. */
#include <math.h>
#include <stdlib.h>

#include "gym/device/device_law.h"
#include "gym/device/device_state.h"
#include "gym/device/difference.h"
#include "gym/verify/limits.h"

static enum kg_code reserve(struct kg_dj_state *s, struct kg_err *err)
{
    return kg_dj_reserve(s, &s->aside, &s->aside_cap, s->part, err);
}

static uint64_t doubles_at(const struct kg_dj_state *s)
{
    return s->aside + s->part / 2;
}

/* The digest of the whole where it lies, once its pieces were taken. */
static enum kg_code digest_of(struct kg_dj_state *s, const struct kg_dtake *whole,
                              struct kg_dtake *out, struct kg_err *err)
{
    struct kg_dspan span = {whole->src, whole->bytes};
    return s->dev.ops->digest(&s->dev, &span, 1, &out->digest, err);
}

/* n elements from `at` on, as they were answered, to `aside`. */
static enum kg_code take_piece(struct kg_dj_state *s, struct kg_dtake whole, uint64_t at,
                               uint64_t n, uint64_t word, struct kg_dtake *out, struct kg_err *err)
{
    uint64_t size = kg_tdtype_bytes((enum kg_tdtype)whole.dtype);
    whole.dst = s->aside;
    whole.src += at * size;
    whole.bytes = n * size;
    if (s->dev.ops->take(&s->dev, &whole, 1, word, err) != KG_OK) {
        return err->code;
    }
    out->unwritten += whole.unwritten;
    return KG_OK;
}

/* The first half of `aside` has a piece as it was answered, the second half the same in double;
 * then the first half has the differences on their way to the host. */
enum kg_code kg_dj_apart_take(struct kg_dj_state *s, const struct kg_dj_answer *r,
                              const struct kg_dj_answer *a, uint32_t i, struct kg_dtake whole,
                              uint64_t word, struct kg_dtake *out, struct kg_err *err)
{
    uint64_t count = whole.bytes / kg_tdtype_bytes((enum kg_tdtype)whole.dtype);
    uint64_t most = s->part / 2 / sizeof(double), wide, n;
    if (reserve(s, err) != KG_OK) {
        return err->code;
    }
    wide = doubles_at(s);
    for (uint64_t at = 0; at < count; at += n) {
        n = count - at < most ? count - at : most;
        if (take_piece(s, whole, at, n, word, out, err) != KG_OK) {
            return err->code;
        }
        if (r == NULL) {
            continue;
        }
        enum kg_tdtype dtype = (enum kg_tdtype)r->leaf[i].dtype;
        uint64_t beside = r->at[i] + at * kg_tdtype_bytes(dtype);
        s->dev.ops->widen(&s->dev, wide, (enum kg_tdtype)whole.dtype, s->aside, n);
        s->dev.ops->differ(&s->dev, a->diff[i] != 0 ? a->diff[i] + at * sizeof(float) : s->aside,
                           dtype, beside, wide, n);
        if (a->host[i] != NULL && s->dev.ops->download(&s->dev, a->host[i] + at, s->aside,
                                                       n * sizeof(float), err) != KG_OK) {
            return err->code;
        }
    }
    return digest_of(s, &whole, out, err);
}

/* --- pieces of output i --- */

struct pieces {
    struct kg_dj_state *s;
    const struct kg_dj_answer *o;
    uint32_t i;
    enum kg_tdtype dtype;
    uint64_t r, size, n, most; /* n: elements; most: of a piece */
    uint64_t at, now;    /* the piece whose doubles are there: where it begins, its elements */
    uint64_t kept, wide; /* of that piece: its differences and its doubles, on the device */
};

/* room: bytes of the first half of `aside` before the differences that come from the host. */
static enum kg_code first(struct kg_dj_state *s, const struct kg_dj_answer *r,
                          const struct kg_dj_answer *o, uint32_t i, uint64_t room,
                          struct pieces *out, struct kg_err *err)
{
    enum kg_tdtype dtype = (enum kg_tdtype)r->leaf[i].dtype;
    *out = (struct pieces){.s = s,
                           .o = o,
                           .i = i,
                           .dtype = dtype,
                           .r = r->at[i],
                           .size = kg_tdtype_bytes(dtype),
                           .n = kg_tleaf_count(&r->leaf[i]),
                           .most = (s->part / 2 - room) / sizeof(double)};
    if (reserve(s, err) != KG_OK) {
        return err->code;
    }
    out->kept = s->aside + room;
    out->wide = doubles_at(s);
    return KG_OK;
}

/* False: there are no more. */
static bool next(struct pieces *p)
{
    const struct kg_device_ops *ops = p->s->dev.ops;
    p->at += p->now;
    p->now = p->n - p->at < p->most ? p->n - p->at : p->most;
    if (p->now == 0) {
        return false;
    }
    if (p->o->host[p->i] != NULL) {
        ops->upload(&p->s->dev, p->kept, p->o->host[p->i] + p->at, p->now * sizeof(float));
    } else {
        p->kept = p->o->diff[p->i] + p->at * sizeof(float);
    }
    ops->rejoin(&p->s->dev, p->wide, p->dtype, p->r + p->at * p->size, p->kept, p->now);
    return true;
}

/* Keeps the piece's doubles beside the reference's values at r. */
static enum kg_code keep(struct pieces *p, uint64_t r, struct kg_err *err)
{
    const struct kg_device_ops *ops = p->s->dev.ops;
    ops->differ(&p->s->dev, p->kept, p->dtype, r, p->wide, p->now);
    return p->o->host[p->i] == NULL ? KG_OK
                                    : ops->download(&p->s->dev, p->o->host[p->i] + p->at, p->kept,
                                                    p->now * sizeof(float), err);
}

enum kg_code kg_dj_apart_rebase(struct kg_dj_state *s, const struct kg_dj_answer *o, uint32_t i,
                                struct kg_dtake whole, uint64_t word, struct kg_dtake *out,
                                struct kg_err *err)
{
    struct kg_dj_answer old = {.leaf[0] = o->leaf[i], .at[0] = whole.dst};
    struct pieces p;
    old.leaf[0].dtype = whole.dtype;
    if (first(s, &old, o, 0, s->part / 4, &p, err) != KG_OK) {
        return err->code;
    }
    p.i = i;
    while (next(&p)) {
        if (take_piece(s, whole, p.at, p.now, word, out, err) != KG_OK ||
            keep(&p, s->aside, err) != KG_OK) {
            return err->code;
        }
        s->dev.ops->copy(&s->dev, whole.dst + p.at * p.size, s->aside, p.now * p.size);
    }
    return digest_of(s, &whole, out, err);
}

enum kg_code kg_dj_apart_read(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                              double *out, struct kg_err *err)
{
    struct pieces p;
    if (first(s, &c->side[0], &c->side[1], i, 0, &p, err) != KG_OK) {
        return err->code;
    }
    while (next(&p)) {
        if (s->dev.ops->download(&s->dev, out + p.at, p.wide, p.now * sizeof(double), err) !=
            KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

enum kg_code kg_dj_apart_write(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                               const double *from, struct kg_err *err)
{
    struct pieces p;
    if (first(s, &c->side[0], &c->side[1], i, 0, &p, err) != KG_OK) {
        return err->code;
    }
    while (next(&p)) {
        s->dev.ops->upload(&s->dev, p.wide, from + p.at, p.now * sizeof(double));
        if (keep(&p, p.r + p.at * p.size, err) != KG_OK) {
            return err->code;
        }
    }
    return s->dev.ops->sync(&s->dev, err);
}

/* The root of the mean of squares of two sets, of whose both are such roots. */
static double mean(double a, uint64_t na, double b, uint64_t nb)
{
    double most = fmax(a, b), x = most > 0 ? a / most : 0, y = most > 0 ? b / most : 0;
    return na + nb > 0 ? most * sqrt((x * x * (double)na + y * y * (double)nb) / (double)(na + nb))
                       : 0;
}

/* Of each piece that error is taken which no more than its share of the elements exceed. So no more
 * than the share of the whole exceed the largest of these: it is at least the percentile. How many
 * belong to a fill is not known yet, so the fewest that can count do. */
static enum kg_code add_bounds(struct pieces *p, struct kg_bound_ask ask, struct kg_tbound *out,
                               struct kg_err *err)
{
    uint64_t pieces = (p->n + p->most - 1) / p->most;
    uint64_t count = ask.fill > 0 ? p->n / KG_DJ_FEWEST : p->n;
    double error = 0;
    ask.rank = 1 + (kg_bound_rank(count) - 1) / (pieces > 0 ? pieces : 1);
    *out = (struct kg_tbound){.k = ask.k > 0 ? ask.k : 1, .fill = ask.fill};
    while (next(p)) {
        struct kg_tbound b;
        if (p->s->dev.ops->bounds(&p->s->dev, p->dtype, p->r + p->at * p->size, p->wide, p->now,
                                  &ask, &b, err) != KG_OK) {
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

static enum kg_code bounds_of(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                              struct kg_bound_ask ask, struct kg_tbound *out, struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0], *o = &c->side[1];
    struct pieces p;
    if (!kg_dj_is_apart(o, i)) {
        return s->dev.ops->bounds(&s->dev, (enum kg_tdtype)r->leaf[i].dtype, r->at[i], o->at[i],
                                  kg_tleaf_count(&r->leaf[i]), &ask, out, err);
    }
    return first(s, r, o, i, 0, &p, err) == KG_OK ? add_bounds(&p, ask, out, err) : err->code;
}

enum kg_code kg_dj_bounds(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i, int64_t k,
                          struct kg_tbound *out, struct kg_err *err)
{
    struct kg_bound_ask ask = {.k = k, .fill = i < KG_DJ_FILLS ? c->fill[i] : 0};
    uint64_t n = kg_tleaf_count(&c->side[0].leaf[i]);
    enum kg_code code = bounds_of(s, c, i, ask, out, err);
    if (code == KG_OK && ask.fill > 0 && kg_dj_all_filled(n, out->used)) {
        ask.fill = 0;
        return bounds_of(s, c, i, ask, out, err);
    }
    return code;
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

/* Of the piece that is there: counts as bad the elements that are further off than the rms may be,
 * as elsewhere. y, r: as they were answered. */
static void count_off(const struct pieces *p, const unsigned char *y, const unsigned char *r,
                      const double *o, double fill, double limit, struct kg_tcompare *out)
{
    for (uint64_t i = 0; i < p->now; i++) {
        double got = kg_dj_load(p->dtype, y, i), off = fabs(got - o[i]);
        bool counts = isfinite(off) && isfinite(kg_dj_load(p->dtype, r, i));
        if (counts && !kg_filled(fill, o[i]) && off > limit && out->n_bad++ == 0) {
            out->first_bad = p->at + i;
            out->got = got;
            out->want = o[i];
        }
    }
}

static enum kg_code further_off(struct pieces *p, uint64_t y, const struct kg_limits_of *l,
                                struct kg_tcompare *out, struct kg_err *err)
{
    const struct kg_device_ops *ops = p->s->dev.ops;
    unsigned char *part = malloc(p->most * (2 * p->size + sizeof(double)));
    enum kg_code code = KG_OK;
    if (part == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "judge: no memory to compare with");
    }
    p->at = p->now = 0;
    while (code == KG_OK && next(p)) {
        uint64_t by = p->at * p->size, bytes = p->now * p->size;
        unsigned char *got = part + p->most * sizeof(double), *ref = got + p->most * p->size;
        code = ops->download(&p->s->dev, part, p->wide, p->now * sizeof(double), err);
        code = code == KG_OK ? ops->download(&p->s->dev, got, y + by, bytes, err) : code;
        code = code == KG_OK ? ops->download(&p->s->dev, ref, p->r + by, bytes, err) : code;
        if (code == KG_OK) {
            count_off(p, got, ref, (const double *)(const void *)part, l->fill, l->rms, out);
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
        if (p->s->dev.ops->compare(&p->s->dev, p->dtype, y + by, p->r + by, p->wide, p->now, &b,
                                   probe, &one, err) != KG_OK) {
            return err->code;
        }
        add(out, &one, p->at);
    }
    kg_tcompare_limits(p->dtype, bound, true, probe, &l);
    double rms = out->finite > 0 ? sqrt(out->square / (double)out->finite) : 0;
    out->rms_ratio = bound->rms_ref > 0 ? rms / bound->rms_ref : 0;
    if (out->n_bad == 0 && !(rms <= l.rms) && further_off(p, y, &l, out, err) != KG_OK) {
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
    if (!kg_dj_is_apart(o, i)) {
        return s->dev.ops->compare(&s->dev, (enum kg_tdtype)r->leaf[i].dtype, y, r->at[i], o->at[i],
                                   kg_tleaf_count(&r->leaf[i]), bound, probe, out, err);
    }
    return first(s, r, o, i, 0, &p, err) == KG_OK ? add_compared(&p, y, bound, probe, out, err)
                                                  : err->code;
}

enum kg_code kg_dj_far(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i, uint64_t y,
                       const struct kg_limits_of *limits, uint64_t *out, struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0], *o = &c->side[1];
    struct pieces p;
    uint64_t n;
    if (!kg_dj_is_apart(o, i)) {
        return s->dev.ops->far(&s->dev, (enum kg_tdtype)r->leaf[i].dtype, y, o->at[i],
                               kg_tleaf_count(&r->leaf[i]), limits, out, err);
    }
    *out = 0;
    if (first(s, r, o, i, 0, &p, err) != KG_OK) {
        return err->code;
    }
    while (next(&p)) {
        if (s->dev.ops->far(&s->dev, p.dtype, y + p.at * p.size, p.wide, p.now, limits, &n, err) !=
            KG_OK) {
            return err->code;
        }
        *out += n;
    }
    return KG_OK;
}
