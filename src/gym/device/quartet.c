/* Four answers side by side: which elements are choices? */
#include "gym/device/quartet.h"

#include <math.h>

#include "gym/device/device_law.h"

#define MOST_INDEX 67108864.0
#define FEW        1000 /* one element of so many may jump where a law is asked */
#define SHARE      8    /* one row of so many may hang on a choice where FLOAT and ORACLE differ */
/* Of floating answers, in widths (below): as near as a rounding error to OTHER's, which is far from
 * the expected one. What moves by less is no choice, and the bound allows for it. */
#define NEAR 2.0
#define FAR  16.0

/* Of OTHER's integers, those that jump where FLOAT and ORACLE agree. x: what they point into, if
 * they were shown to: then those that point at another value. */
static uint64_t jumps(const struct kg_quartet *q, const struct kg_lines *l, const void *x)
{
    uint64_t n = 0;
    if (x != NULL) {
        return kg_points_unlike(l, x, q->a, q->r, q->o, false, &n);
    }
    for (uint64_t i = 0; i < q->n; i++) {
        double r = kg_dj_load(q->dtype, q->r, i);
        n += kg_dj_load(q->wide, q->o, i) == r && kg_dj_load(q->dtype, q->a, i) != r;
    }
    return n;
}

/* `times` rounding errors of an element, as the bound has it (tensor_compare.h), whatever the
 * reference itself is off by at its worst. */
static struct kg_limits_of widths(enum kg_tdtype dtype, const struct kg_tbound *b, double times)
{
    bool f16 = dtype == KG_TD_F16, bf16 = dtype == KG_TD_BF16, f64 = dtype == KG_TD_F64;
    double shrink = f64 ? ldexp(1, -29) : 1;
    double low = times * (f16 ? 1e-3 : bf16 ? 8e-3 : 1e-5) * shrink;
    double high = times * (f16 ? 1e-2 : bf16 ? 4e-2 : 1e-3) * shrink;
    double base = b->rms * fmax(ldexp(8, -24) * shrink * sqrt((double)b->k), 4 * b->e_ref);
    return (struct kg_limits_of){.abs = times * base,
                                 .low = low,
                                 .low_s = low * b->rms,
                                 .high = high,
                                 .high_s = high * b->rms,
                                 .rms = INFINITY};
}

void kg_quartet_far(enum kg_tdtype dtype, const struct kg_tbound *b, struct kg_limits_of *out)
{
    *out = widths(dtype, b, FAR);
}

bool kg_quartet_spares(enum kg_dj_choice what, uint64_t n, uint64_t row, uint64_t far)
{
    return what == KG_DJ_JUMPS    ? far * row <= n / FEW
           : what == KG_DJ_SETTLE ? far / row * SHARE > n / row + SHARE
                                  : far == 0;
}

/* Whether OTHER's floats jump somewhere in a row: of several experts another one answers there. */
static bool row_jumps(const struct kg_quartet *q, const struct kg_limits_of *far, uint64_t from,
                      uint64_t n)
{
    bool jumps = false;
    for (uint64_t i = from; i < from + n && !jumps; i++) {
        double o = kg_dj_load(q->wide, q->o, i), a = kg_dj_load(q->dtype, q->a, i);
        jumps = isfinite(a) && isfinite(o) && fabs(a - o) > kg_limit_at(far, o);
    }
    return jumps;
}

bool kg_quartet_jumps(const struct kg_quartet *q, const struct kg_tbound *b, uint64_t row,
                      const struct kg_lines *l, const void *x)
{
    struct kg_limits_of far = widths(q->dtype, b, FAR);
    uint64_t n = 0;
    if (!kg_tdtype_floating(q->dtype)) {
        return jumps(q, l, x) * FEW > q->n;
    }
    for (uint64_t i = 0; i < q->n; i += row) {
        n += row_jumps(q, &far, i, row);
    }
    return n * row * FEW > q->n;
}

uint64_t kg_quartet_accept(struct kg_quartet *q, const struct kg_tbound *b, uint64_t row)
{
    struct kg_limits_of one = widths(q->dtype, b, 1), near = widths(q->dtype, b, NEAR);
    struct kg_limits_of far = widths(q->dtype, b, FAR);
    uint64_t n = 0;
    bool floating = kg_tdtype_floating(q->dtype), jumps = false;
    for (uint64_t i = 0; i < q->n; i++) {
        double y = kg_dj_load(q->dtype, q->y, i), o = kg_dj_load(q->wide, q->o, i);
        double a = kg_dj_load(q->dtype, q->a, i);
        bool seen = y == a && y != o;
        if (floating) {
            jumps = i % row == 0 ? row_jumps(q, &far, i, row) : jumps;
            seen = jumps && isfinite(y) && isfinite(a) && isfinite(o) &&
                   fabs(y - o) > kg_limit_at(&one, o) && fabs(y - a) <= kg_limit_at(&near, a);
        }
        if (seen) {
            kg_dj_store(q->dtype, q->y, i, o);
            n++;
        }
    }
    return n;
}

/* How FLOAT's row differs from ORACLE's. *reached: OTHER's is ORACLE's. */
static bool row_differs(const struct kg_quartet *q, const struct kg_limits_of *off,
                        const struct kg_limits_of *near, uint64_t from, uint64_t n, bool *reached)
{
    bool floating = kg_tdtype_floating(q->dtype), far = false;
    *reached = true;
    for (uint64_t i = from; i < from + n; i++) {
        double r = kg_dj_load(q->dtype, q->r, i), o = kg_dj_load(q->wide, q->o, i);
        double a = kg_dj_load(q->dtype, q->a, i);
        far = far || (floating ? fabs(r - o) > kg_limit_at(off, o) : r != o);
        *reached = *reached && (floating ? fabs(a - o) <= kg_limit_at(near, o) : a == o);
    }
    return far;
}

uint64_t kg_quartet_settle(struct kg_quartet *q, const struct kg_tbound *b, uint64_t row)
{
    uint64_t differ = 0, n = 0, size = kg_tdtype_floating(q->dtype) && row > 0 ? row : 1;
    struct kg_limits_of off = widths(q->dtype, b, FAR), near = widths(q->dtype, b, NEAR);
    bool reached;
    for (uint64_t i = 0; i < q->n; i += size) {
        differ += row_differs(q, &off, &near, i, size, &reached);
    }
    for (uint64_t i = 0; i < q->n && differ * SHARE <= q->n / size + SHARE; i += size) {
        if (row_differs(q, &off, &near, i, size, &reached) && reached) {
            for (uint64_t k = i; k < i + size; k++) {
                kg_dj_store(q->wide, q->o, k, kg_dj_load(q->dtype, q->r, k));
            }
            n++;
        }
    }
    return n;
}

bool kg_quartet_once(const struct kg_quartet *q, const struct kg_tleaf *leaf,
                     const struct kg_lines *shown)
{
    struct kg_lines lines = {1, 1, 1, 1, q->dtype, q->dtype};
    uint64_t where;
    double most = 0;
    if (shown != NULL) {
        return !kg_points_once(shown, q->r, &where) || kg_points_once(shown, q->y, &where);
    }
    for (uint64_t i = 0; i < q->n; i++) {
        most = fmax(most, fmax(kg_dj_load(q->dtype, q->r, i), kg_dj_load(q->dtype, q->y, i)));
    }
    if (leaf->rank < 2 || most >= MOST_INDEX) {
        return true;
    }
    lines.count = leaf->shape[leaf->rank - 1];
    lines.outer = lines.count > 0 ? (int64_t)q->n / lines.count : 0;
    lines.length = (int64_t)most + 1;
    return !kg_points_once(&lines, q->r, &where) || kg_points_once(&lines, q->y, &where);
}
