/* The rule of comparison for tensors on the host: f32 and f64 by verify/compare.c, 16-bit floats by
 * narrow.c, integers exactly. */
#include "gym/device/tensor_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gym/device/half.h"
#include "gym/device/narrow.h"
#include "gym/verify/limits.h"

float kg_half_to_float(uint16_t h)
{
    return kg_half_widen(h);
}

uint16_t kg_half_from_float(float f)
{
    return kg_half_narrow(f);
}

float kg_bf16_to_float(uint16_t h)
{
    return kg_bf16_widen(h);
}

uint16_t kg_bf16_from_float(float f)
{
    return kg_bf16_narrow(f);
}

static bool is_narrow(enum kg_tdtype t)
{
    return t == KG_TD_F16 || t == KG_TD_BF16;
}

/* The dtype in verify/, which compares f32 and f64. */
static enum kg_dtype native(enum kg_tdtype t)
{
    return t == KG_TD_F64 ? KG_F64 : KG_F32;
}

static void from_native(const struct kg_bound *b, struct kg_tbound *out)
{
    *out = (struct kg_tbound){.rms = b->rms,
                              .e_ref = b->e_ref,
                              .max_ref = b->max_ref,
                              .rms_ref = b->rms_ref,
                              .k = b->k,
                              .disagree = b->disagree,
                              .used = b->used,
                              .fill = b->fill};
}

/* 16-bit floats as floats. The conversion is exact, so statistics of the floats are those of the
 * originals. */
static float *widened(enum kg_tdtype t, const void *v, uint64_t n)
{
    float *out = malloc(n * sizeof *out + 1);
    KG_ASSERT(out != NULL);
    kg_narrow_widen(t, v, out, n);
    return out;
}

static uint64_t count_unlike(size_t size, const unsigned char *a, const unsigned char *b,
                             uint64_t n)
{
    uint64_t count = 0;
    if (memcmp(a, b, n * size) == 0) {
        return 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        count += memcmp(a + i * size, b + i * size, size) != 0;
    }
    return count;
}

void kg_tbound_of(enum kg_tdtype dtype, const void *r, const void *o, uint64_t n, int64_t k,
                  struct kg_tbound *out)
{
    kg_tbound_asked(dtype, r, o, n, &(struct kg_bound_ask){.k = k}, out);
}

void kg_tbound_asked(enum kg_tdtype dtype, const void *r, const void *o, uint64_t n,
                     const struct kg_bound_ask *ask, struct kg_tbound *out)
{
    struct kg_bound b;
    if (!kg_tdtype_floating(dtype)) {
        *out = (struct kg_tbound){.k = ask->k > 0 ? ask->k : 1};
        out->disagree = count_unlike(kg_tdtype_bytes(dtype), r, o, n);
        return;
    }
    if (is_narrow(dtype)) {
        float *wide = widened(dtype, r, n);
        kg_bound_asked(KG_F32, wide, o, n, ask, &b);
        free(wide);
    } else {
        kg_bound_asked(native(dtype), r, o, n, ask, &b);
    }
    from_native(&b, out);
}

/* Without a fill *used does not matter. */
static double rms_of(enum kg_dtype dtype, const void *v, uint64_t n, double fill, uint64_t *used)
{
    *used = n;
    return fill > 0 ? kg_compare_rms_without(dtype, v, n, fill, used) : kg_compare_rms(dtype, v, n);
}

double kg_tcompare_rms(enum kg_tdtype dtype, const void *v, uint64_t n, double fill, uint64_t *used)
{
    *used = 0;
    if (!kg_tdtype_floating(dtype)) {
        return 0;
    }
    if (!is_narrow(dtype)) {
        return rms_of(native(dtype), v, n, fill, used);
    }
    float *wide = widened(dtype, v, n);
    double rms = rms_of(KG_F32, wide, n, fill, used);
    free(wide);
    return rms;
}

static enum kg_compare_mode mode_of(bool oracle, bool probe)
{
    return !oracle ? KG_COMPARE_FLOAT : probe ? KG_COMPARE_PRECISION : KG_COMPARE_ORACLE;
}

static struct kg_bound to_native(const struct kg_tbound *b)
{
    return (struct kg_bound){.rms = b->rms,
                             .e_ref = b->e_ref,
                             .max_ref = b->max_ref,
                             .rms_ref = b->rms_ref,
                             .k = b->k,
                             .disagree = b->disagree,
                             .fill = b->fill};
}

void kg_tcompare_limits(enum kg_tdtype dtype, const struct kg_tbound *b, bool oracle, bool probe,
                        struct kg_limits_of *out)
{
    if (is_narrow(dtype)) {
        kg_narrow_limits(dtype, b, oracle, probe, out);
        return;
    }
    struct kg_bound bound = to_native(b);
    kg_limits_set(native(dtype), mode_of(oracle, probe), &bound, out);
}

static void run_native(enum kg_tdtype dtype, const void *y, const void *r, const void *o,
                       uint64_t n, const struct kg_tbound *bound, bool probe,
                       struct kg_tcompare *out)
{
    struct kg_bound b = to_native(bound);
    struct kg_compare c;
    kg_compare_run(native(dtype), mode_of(o != NULL, probe), y, r, o, n, &b, &c);
    *out = (struct kg_tcompare){.pass = c.pass,
                                .n = c.n,
                                .n_bad = c.n_bad,
                                .first_bad = c.first_bad,
                                .got = c.got,
                                .want = c.want,
                                .worst = c.worst,
                                .rms_ratio = c.rms_ratio,
                                .nonfinite = c.nonfinite,
                                .rms_failed = c.rms_failed,
                                .bit_equal = c.bit_equal,
                                .finite = c.finite,
                                .square = c.square};
}

static double integer_at(enum kg_tdtype t, const void *v, uint64_t i)
{
    switch (t) {
    case KG_TD_I64:
        return (double)((const int64_t *)v)[i];
    case KG_TD_I32:
        return ((const int32_t *)v)[i];
    case KG_TD_I16:
        return ((const int16_t *)v)[i];
    case KG_TD_I8:
        return ((const int8_t *)v)[i];
    default:
        return ((const uint8_t *)v)[i];
    }
}

/* Compares integers. Without an oracle, y may differ from r in as many elements as four times the
 * differences of the references on earlier inputs. */
static void run_exact(enum kg_tdtype t, const void *y, const void *r, const void *o, uint64_t n,
                      const struct kg_tbound *bound, struct kg_tcompare *out)
{
    size_t size = kg_tdtype_bytes(t);
    const unsigned char *got = y, *want = r, *also = o;
    *out = (struct kg_tcompare){.n = n, .bit_equal = memcmp(y, r, n * size) == 0};
    for (uint64_t i = 0; i < n && !out->bit_equal; i++) {
        bool asked = also == NULL || memcmp(also + i * size, want + i * size, size) == 0;
        if (!asked || memcmp(got + i * size, want + i * size, size) == 0) {
            continue;
        }
        if (out->n_bad++ == 0) {
            out->first_bad = i;
            out->got = integer_at(t, y, i);
            out->want = integer_at(t, r, i);
        }
    }
    if (also == NULL && out->n_bad <= 4 * bound->disagree) {
        out->n_bad = 0;
    }
    out->pass = out->n_bad == 0;
    out->worst = out->pass ? 0 : INFINITY;
}

void kg_tcompare_run(enum kg_tdtype dtype, const void *y, const void *r, const void *o, uint64_t n,
                     const struct kg_tbound *bound, bool probe, struct kg_tcompare *out)
{
    if (n == 0) {
        *out = (struct kg_tcompare){.pass = true, .bit_equal = true};
    } else if (is_narrow(dtype)) {
        kg_narrow_compare(dtype, y, r, o, n, bound, probe, out);
    } else if (kg_tdtype_floating(dtype)) {
        run_native(dtype, y, r, o, n, bound, probe, out);
    } else {
        run_exact(dtype, y, r, o, n, bound, out);
    }
}
