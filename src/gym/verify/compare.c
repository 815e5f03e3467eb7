/* Compares one output with the reference or the oracle: float types within the bound, integers
 * exactly. */
#include "gym/verify/compare.h"

#include <string.h>

#include "gym/verify/limits.h"

/* Finds answers whose elements all lean the same way, each within its own bound. The elements that
 * are further off than the rms may be count as bad; there is at least one. */
static void check_rms(struct kg_scan *s, uint64_t n)
{
    struct kg_compare *out = s->out;
    double limit = s->limits->rms;
    if (s->finite == 0 || sqrt(s->square / (double)s->finite) <= limit) {
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        double y = kg_value_at(s->y, s->f32, i), r = kg_value_at(s->r, s->f32, i);
        double c = s->o ? s->o[i] : r;
        bool compared = isfinite(y) && isfinite(r) && isfinite(c) && !kg_filled(s->limits->fill, c);
        if (compared && fabs(y - c) > limit && out->n_bad++ == 0) {
            out->first_bad = i;
            out->got = y;
            out->want = c;
        }
    }
    out->rms_failed = out->n_bad > 0;
}

static void compare_float(bool f32, enum kg_compare_mode mode, const void *y, const void *r,
                          const void *o, uint64_t n, const struct kg_bound *bound,
                          struct kg_compare *out)
{
    struct kg_limits_of limits;
    bool oracle = mode == KG_COMPARE_ORACLE || mode == KG_COMPARE_PRECISION;
    kg_limits_set(f32 ? KG_F32 : KG_F64, mode, bound, &limits);
    struct kg_scan s = {.limits = &limits, .y = y, .r = r, .f32 = f32, .out = out};
    s.o = oracle ? o : NULL;
    kg_scan_all(&s, n);
    out->finite = s.finite;
    out->square = s.square;
    if (bound->rms_ref > 0 && s.finite > 0) {
        out->rms_ratio = sqrt(s.square / (double)s.finite) / bound->rms_ref;
    }
    if (out->n_bad == 0) {
        check_rms(&s, n);
    }
}

static int64_t integer_at(const void *v, enum kg_dtype t, uint64_t i)
{
    return t == KG_I32 ? ((const int32_t *)v)[i] : ((const int64_t *)v)[i];
}

/* Compares integers. Without an oracle (mode FLOAT), y may differ from r in four times as many
 * elements as the references did on earlier inputs. */
static void compare_integer(enum kg_dtype t, enum kg_compare_mode mode, const void *y,
                            const void *r, const void *o, uint64_t n, const struct kg_bound *bound,
                            struct kg_compare *out)
{
    bool oracle = mode == KG_COMPARE_ORACLE || mode == KG_COMPARE_PRECISION;
    out->n = n;
    for (uint64_t i = 0; i < n; i++) {
        int64_t got = integer_at(y, t, i), want = integer_at(r, t, i);
        if (got == want || (oracle && integer_at(o, t, i) != want)) {
            continue;
        }
        if (out->n_bad++ == 0) {
            out->first_bad = i;
            out->got = (double)got;
            out->want = (double)want;
        }
    }
    if (mode == KG_COMPARE_FLOAT && out->n_bad <= 4 * bound->disagree) {
        out->n_bad = 0;
    }
    out->worst = out->n_bad > 0 ? INFINITY : 0;
}

void kg_compare_run(enum kg_dtype dtype, enum kg_compare_mode mode, const void *y, const void *r,
                    const void *o, uint64_t n, const struct kg_bound *bound, struct kg_compare *out)
{
    *out = (struct kg_compare){.n = 0};
    if (n == 0) {
        out->pass = out->bit_equal = true;
        return;
    }
    if (dtype == KG_F32 || dtype == KG_F64) {
        compare_float(dtype == KG_F32, mode, y, r, o, n, bound, out);
    } else {
        compare_integer(dtype, mode, y, r, o, n, bound, out);
    }
    out->pass = out->n_bad == 0;
    out->bit_equal = memcmp(y, r, n * kg_dtype_bytes(dtype)) == 0;
}

const char *kg_compare_bucket(const struct kg_compare *c)
{
    double share = c->n > 0 ? (double)c->n_bad / (double)c->n : 0;
    return kg_share_bucket(share);
}

const char *kg_share_bucket(double share)
{
    return share < 0.01 ? "<1%" : share < 0.1 ? "<10%" : share < 0.5 ? "<50%" : "more";
}

const char *kg_share_words(double share)
{
    return share < 0.01   ? "under 1 %"
           : share < 0.1  ? "under 10 %"
           : share < 0.5  ? "under half"
           : share == 0.5 ? "exactly half"
           : share < 1    ? "more than half"
                          : "all";
}

#define FEW_NUMBERS  4 /* distinct ones that are enough to tell an answer by */
#define FEW_INTEGERS 8

bool kg_few_values(const void *v, size_t n, size_t bytes, bool floating)
{
    size_t seen = 0, wanted = floating ? FEW_NUMBERS : FEW_INTEGERS;
    uint64_t value[FEW_INTEGERS];
    if (!floating && n < 2 * FEW_INTEGERS) {
        return true;
    }
    for (size_t i = 0; i < n && seen < wanted; i++) {
        uint64_t x = 0;
        size_t k = 0;
        memcpy(&x, (const char *)v + i * bytes, bytes);
        while (k < seen && value[k] != x) {
            k++;
        }
        if (k == seen) {
            value[seen++] = x;
        }
    }
    return seen < wanted;
}
