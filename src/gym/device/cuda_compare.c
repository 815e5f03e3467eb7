/* Bounds and comparisons on a GPU. Kernels reduce to one partial result per block, and the host
 * adds them in order. So the results are the same on every run. */
#include <math.h>
#include <string.h>

#include "gym/device/cuda.h"
#include "gym/device/device_law.h"
#include "gym/verify/limits.h"

#define DIGIT 11 /* bits that one pass of the selection fixes; as in kernels/compare.cu */
#define BINS  (1u << DIGIT)

struct moments { /* these three: as in kernels/compare.cu */
    uint64_t used, disagree;
    double square, errors, most, max_ref;
};

struct limits {
    double rel, abs, low, low_s, high, high_s, most, own_error, rms, fill;
};

struct scan {
    uint64_t n_bad, first_bad, finite, nonfinite, differ;
    double square, worst;
};

_Static_assert(sizeof(struct moments) <= KG_CUDA_PART_MAX, "partial results are that long at most");
_Static_assert(sizeof(struct scan) <= KG_CUDA_PART_MAX, "partial results are that long at most");
_Static_assert(KG_CUDA_FREE + BINS * 8 <= KG_CUDA_SCRATCH_BYTES, "the histogram fits scratch");

/* The values that all passes of one operation share. */
struct pass {
    struct kg_device *d;
    struct kg_cuda *c;
    int dtype;
    uint64_t y, r, o, n;
    unsigned blocks;
    double fill;
};

static struct pass pass_of(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t r,
                           uint64_t o, uint64_t n)
{
    struct kg_cuda *c = kg_cuda_of(d);
    return (struct pass){d, c, (int)dtype, y, r, o, n, kg_cuda_blocks(c, n, KG_CUDA_PARTS), 0};
}

void kg_cuda_widen(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t src,
                   uint64_t n)
{
    struct kg_cuda *c = kg_cuda_of(d);
    int type = (int)dtype;
    void *params[] = {&dst, &type, &src, &n};
    if (n > 0) {
        kg_cuda_launch(c, KG_CUDA_widen, kg_cuda_blocks(c, n, UINT32_MAX), 1, params);
    }
}

void kg_cuda_differ(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                    uint64_t n)
{
    struct kg_cuda *c = kg_cuda_of(d);
    int type = (int)dtype;
    void *params[] = {&dst, &type, &r, &o, &n};
    if (n > 0) {
        kg_cuda_launch(c, KG_CUDA_differ, kg_cuda_blocks(c, n, UINT32_MAX), 1, params);
    }
}

void kg_cuda_rejoin(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t r,
                    uint64_t kept, uint64_t n)
{
    struct kg_cuda *c = kg_cuda_of(d);
    int type = (int)dtype;
    void *params[] = {&dst, &type, &r, &kept, &n};
    if (n > 0) {
        kg_cuda_launch(c, KG_CUDA_rejoin, kg_cuda_blocks(c, n, UINT32_MAX), 1, params);
    }
}

/* Error statistics of r against c, see kg_moments; r 0: of c alone. */
static enum kg_code moments_of(struct pass *p, uint64_t r, enum kg_tdtype cdtype, uint64_t c,
                               double scale, struct moments *out, struct kg_err *err)
{
    int type = (int)cdtype;
    void *params[] = {&p->dtype, &r, &type, &c, &p->n, &p->fill, &scale, &p->c->host_at};
    kg_cuda_launch(p->c, KG_CUDA_moments, p->blocks, 1, params);
    *out = (struct moments){0};
    if (kg_cuda_wait(p->c, "moments", err) != KG_OK) {
        return err->code;
    }
    for (unsigned i = 0; i < p->blocks; i++) {
        struct moments m;
        memcpy(&m, (const char *)p->c->host + i * sizeof m, sizeof m);
        out->used += m.used;
        out->disagree += m.disagree;
        out->square += m.square;
        out->errors += m.errors;
        out->most = m.most > out->most ? m.most : out->most;
        out->max_ref = m.max_ref > out->max_ref ? m.max_ref : out->max_ref;
    }
    return KG_OK;
}

/* The rms of c. Where squares leave the range of doubles, a second pass divides by the largest
 * value. */
static enum kg_code rms_of(struct pass *p, uint64_t r, enum kg_tdtype cdtype, uint64_t c,
                           const struct moments *m, double *out, struct kg_err *err)
{
    struct moments scaled;
    *out = 0;
    if (m->used > 0 && isfinite(m->square) && m->square > 0x1p-900) {
        *out = sqrt(m->square / (double)m->used);
    } else if (m->used > 0 && m->most > 0) {
        if (moments_of(p, r, cdtype, c, m->most, &scaled, err) != KG_OK) {
            return err->code;
        }
        *out = m->most * sqrt(scaled.square / (double)scaled.used);
    }
    return KG_OK;
}

/* The rank-th largest |r - o| (1: the largest). Each pass fixes DIGIT bits, from the top. */
static enum kg_code select_error(struct pass *p, uint64_t rank, double *out, struct kg_err *err)
{
    uint64_t hist[BINS], place = p->c->scratch + KG_CUDA_FREE, prefix = 0;
    for (int left = 64, bits = 64 % DIGIT; left > 0; left -= bits, bits = DIGIT) {
        uint32_t shift = (uint32_t)(left - bits), bin = (1u << bits) - 1;
        void *params[] = {&p->dtype, &p->r, &p->o, &p->n, &p->fill, &shift, &prefix, &place};
        kg_cuda_note(p->c, p->c->cu.set8(place, 0, sizeof hist, p->c->stream), "percentile");
        kg_cuda_launch(p->c, KG_CUDA_digits, p->blocks, 1, params);
        if (kg_cuda_download(p->d, hist, place, sizeof hist, err) != KG_OK) {
            return err->code;
        }
        while (bin > 0 && hist[bin] < rank) {
            rank -= hist[bin--];
        }
        prefix = prefix << bits | bin;
    }
    memcpy(out, &prefix, sizeof *out);
    return KG_OK;
}

static enum kg_code float_bounds(struct pass *p, uint64_t rank, struct kg_tbound *out,
                                 struct kg_err *err)
{
    struct moments m;
    double error = 0;
    if (moments_of(p, p->r, KG_TD_F64, p->o, 1, &m, err) != KG_OK) {
        return err->code;
    }
    out->disagree = m.disagree;
    out->max_ref = m.max_ref;
    out->used = m.used;
    if (m.used == 0) {
        return KG_OK;
    }
    rank = rank > 0 ? rank : kg_bound_rank(p->fill > 0 ? m.used : p->n);
    if (rms_of(p, p->r, KG_TD_F64, p->o, &m, &out->rms, err) != KG_OK ||
        select_error(p, rank < m.used ? rank : m.used, &error, err) != KG_OK) {
        return err->code;
    }
    out->rms_ref = sqrt(m.errors / (double)m.used);
    out->e_ref = out->rms > 0 ? error / out->rms : 0;
    return KG_OK;
}

/* Adds up the partial results of a scan. */
static enum kg_code gather(struct pass *p, struct scan *out, struct kg_err *err)
{
    *out = (struct scan){.first_bad = UINT64_MAX};
    if (kg_cuda_wait(p->c, "compare", err) != KG_OK) {
        return err->code;
    }
    for (unsigned i = 0; i < p->blocks; i++) {
        struct scan s;
        memcpy(&s, (const char *)p->c->host + i * sizeof s, sizeof s);
        out->n_bad += s.n_bad;
        out->first_bad = s.first_bad < out->first_bad ? s.first_bad : out->first_bad;
        out->finite += s.finite;
        out->nonfinite += s.nonfinite;
        out->differ += s.differ;
        out->square += s.square;
        out->worst = s.worst > out->worst ? s.worst : out->worst;
    }
    return KG_OK;
}

static enum kg_code scan_exact(struct pass *p, struct scan *out, struct kg_err *err)
{
    uint32_t size = (uint32_t)kg_tdtype_bytes((enum kg_tdtype)p->dtype);
    void *params[] = {&size, &p->y, &p->r, &p->o, &p->n, &p->c->host_at};
    kg_cuda_launch(p->c, KG_CUDA_scan_exact, p->blocks, 1, params);
    return gather(p, out, err);
}

enum kg_code kg_cuda_bounds(struct kg_device *d, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                            uint64_t n, const struct kg_bound_ask *ask, struct kg_tbound *out,
                            struct kg_err *err)
{
    struct pass p = pass_of(d, dtype, r, r, o, n);
    struct scan s;
    *out = (struct kg_tbound){.k = ask->k > 0 ? ask->k : 1};
    if (n == 0) {
        return KG_OK;
    }
    if (kg_tdtype_floating(dtype)) {
        p.fill = out->fill = ask->fill;
        return float_bounds(&p, ask->rank, out, err);
    }
    if (scan_exact(&p, &s, err) != KG_OK) {
        return err->code;
    }
    out->disagree = s.finite;
    return KG_OK;
}

enum kg_code kg_cuda_rms(struct kg_device *d, enum kg_tdtype dtype, uint64_t v, uint64_t n,
                         double fill, struct kg_tbound *out, struct kg_err *err)
{
    struct pass p = pass_of(d, dtype, v, v, 0, n);
    struct moments m;
    out->rms = 0;
    p.fill = fill;
    if (n == 0 || !kg_tdtype_floating(dtype)) {
        return KG_OK;
    }
    if (moments_of(&p, 0, dtype, v, 1, &m, err) != KG_OK) {
        return err->code;
    }
    out->used = m.used;
    return rms_of(&p, 0, dtype, v, &m, &out->rms, err);
}

static enum kg_code element(struct pass *p, enum kg_tdtype dtype, uint64_t at, uint64_t i,
                            double *out, struct kg_err *err)
{
    uint64_t kept = 0, size = kg_tdtype_bytes(dtype);
    if (kg_cuda_download(p->d, &kept, at + i * size, size, err) != KG_OK) {
        return err->code;
    }
    *out = kg_dj_load(dtype, &kept, 0);
    return KG_OK;
}

/* Loads the first bad element into got and want. */
static enum kg_code show(struct pass *p, struct kg_tcompare *out, struct kg_err *err)
{
    enum kg_tdtype t = (enum kg_tdtype)p->dtype;
    bool oracle = p->o != 0 && kg_tdtype_floating(t);
    if (out->n_bad == 0) {
        return KG_OK;
    }
    if (element(p, t, p->y, out->first_bad, &out->got, err) != KG_OK) {
        return err->code;
    }
    return element(p, oracle ? KG_TD_F64 : t, oracle ? p->o : p->r, out->first_bad, &out->want,
                   err);
}

static struct limits numbers_of(const struct kg_limits_of *l)
{
    return (struct limits){l->rel,  l->abs,    l->low,  l->low_s,
                           l->high, l->high_s, l->most, l->own_error ? 4 : 0,
                           l->rms,  l->fill};
}

/* Counts as bad the elements that are further off than the rms may be. This finds answers whose
 * elements all lean the same way, each within its own bound. */
static enum kg_code check_rms(struct pass *p, double limit, struct kg_tcompare *out,
                              struct kg_err *err)
{
    struct scan s;
    void *params[] = {&p->dtype, &p->y, &p->r, &p->o, &p->n, &p->fill, &limit, &p->c->host_at};
    kg_cuda_launch(p->c, KG_CUDA_scan_rms, p->blocks, 1, params);
    if (gather(p, &s, err) != KG_OK) {
        return err->code;
    }
    out->n_bad = s.n_bad;
    out->first_bad = s.n_bad > 0 ? s.first_bad : 0;
    out->rms_failed = s.n_bad > 0;
    return KG_OK;
}

static enum kg_code compare_float(struct pass *p, const struct kg_tbound *b, bool probe,
                                  struct kg_tcompare *out, struct kg_err *err)
{
    struct kg_limits_of of;
    struct scan s;
    kg_tcompare_limits((enum kg_tdtype)p->dtype, b, p->o != 0, probe, &of);
    p->fill = b->fill;
    struct limits l = numbers_of(&of);
    void *params[] = {&p->dtype, &p->y, &p->r, &p->o, &p->n, &l, &p->c->host_at};
    kg_cuda_launch(p->c, KG_CUDA_scan, p->blocks, 1, params);
    if (gather(p, &s, err) != KG_OK) {
        return err->code;
    }
    double rms = s.finite > 0 ? sqrt(s.square / (double)s.finite) : 0;
    *out = (struct kg_tcompare){.n = p->n,
                                .n_bad = s.n_bad,
                                .first_bad = s.n_bad > 0 ? s.first_bad : 0,
                                .worst = s.worst,
                                .nonfinite = s.nonfinite > 0,
                                .bit_equal = s.differ == 0,
                                .finite = s.finite,
                                .square = s.square};
    out->rms_ratio = b->rms_ref > 0 && s.finite > 0 ? rms / b->rms_ref : 0;
    if (out->n_bad == 0 && s.finite > 0 && !(rms <= l.rms)) {
        return check_rms(p, l.rms, out, err);
    }
    return KG_OK;
}

/* The scan looks at no element whose reference and oracle differ in class. The answer stands for
 * the reference, so one that is not finite does not count. */
enum kg_code kg_cuda_far(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t o,
                         uint64_t n, const struct kg_limits_of *limits, uint64_t *out,
                         struct kg_err *err)
{
    struct pass p = pass_of(d, dtype, y, y, o, n);
    struct limits l = numbers_of(limits);
    struct scan s;
    *out = 0;
    if (n == 0) {
        return KG_OK;
    }
    l.own_error = 0;
    void *params[] = {&p.dtype, &p.y, &p.r, &p.o, &p.n, &l, &p.c->host_at};
    kg_cuda_launch(p.c, KG_CUDA_scan, p.blocks, 1, params);
    if (gather(&p, &s, err) != KG_OK) {
        return err->code;
    }
    *out = s.n_bad;
    return KG_OK;
}

static enum kg_code compare_exact(struct pass *p, struct kg_tcompare *out, struct kg_err *err)
{
    struct scan s;
    if (scan_exact(p, &s, err) != KG_OK) {
        return err->code;
    }
    *out = (struct kg_tcompare){.n = p->n,
                                .n_bad = s.n_bad,
                                .first_bad = s.n_bad > 0 ? s.first_bad : 0,
                                .bit_equal = s.differ == 0};
    return KG_OK;
}

enum kg_code kg_cuda_compare(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t r,
                             uint64_t o, uint64_t n, const struct kg_tbound *bound, bool probe,
                             struct kg_tcompare *out, struct kg_err *err)
{
    struct pass p = pass_of(d, dtype, y, r, o, n);
    bool real = kg_tdtype_floating(dtype);
    *out = (struct kg_tcompare){.pass = true, .bit_equal = true};
    if (n == 0) {
        return KG_OK;
    }
    enum kg_code code =
        real ? compare_float(&p, bound, probe, out, err) : compare_exact(&p, out, err);
    code = code == KG_OK ? show(&p, out, err) : code;
    if (code == KG_OK && !real) {
        if (o == 0 && out->n_bad <= 4 * bound->disagree) {
            out->n_bad = 0; /* allowed as often as the references would differ */
        }
        out->worst = out->n_bad > 0 ? INFINITY : 0;
    }
    out->pass = out->n_bad == 0;
    return code;
}
