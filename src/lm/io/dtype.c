/* Bit patterns of the float types: sign, exponent, mantissa, widened or rounded by integers. */
#include "lm/io/dtype.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} types[LM_DTYPE_OTHER] = {
    [LM_F32] = {"F32", 4},   [LM_F16] = {"F16", 2},         [LM_BF16] = {"BF16", 2},
    [LM_F64] = {"F64", 8},   [LM_I64] = {"I64", 8},         [LM_I32] = {"I32", 4},
    [LM_I16] = {"I16", 2},   [LM_I8] = {"I8", 1},           [LM_U8] = {"U8", 1},
    [LM_BOOL] = {"BOOL", 1}, [LM_F8_E4M3] = {"F8_E4M3", 1}, [LM_F8_E5M2] = {"F8_E5M2", 1},
};

const char *lm_dtype_name(enum lm_dtype t)
{
    return t < LM_DTYPE_OTHER ? types[t].name : "?";
}

enum lm_dtype lm_dtype_parse(const char *name)
{
    for (int t = 0; t < LM_DTYPE_OTHER; t++) {
        if (strcmp(types[t].name, name) == 0) {
            return (enum lm_dtype)t;
        }
    }
    return LM_DTYPE_OTHER;
}

size_t lm_dtype_bytes(enum lm_dtype t)
{
    return t < LM_DTYPE_OTHER ? types[t].bytes : 0;
}

bool lm_dtype_is_float(enum lm_dtype t)
{
    return t == LM_F32 || t == LM_F16 || t == LM_BF16 || t == LM_F64 || t == LM_F8_E4M3 ||
           t == LM_F8_E5M2;
}

bool lm_dtype_is_written(enum lm_dtype t)
{
    return t == LM_F32 || t == LM_F16 || t == LM_BF16;
}

static float from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* An IEEE-like small float. E4M3 has no infinity: its greatest exponent holds numbers, and only
 * all ones is a NaN. */
static float widen(uint32_t v, int exponent_bits, int mantissa_bits, bool has_infinity)
{
    uint32_t mantissa = v & ((1u << mantissa_bits) - 1);
    uint32_t exponent = (v >> mantissa_bits) & ((1u << exponent_bits) - 1);
    uint32_t top = (1u << exponent_bits) - 1, sign = v >> (exponent_bits + mantissa_bits);
    int bias = (1 << (exponent_bits - 1)) - 1;
    uint32_t out;
    if (exponent == top && (has_infinity || mantissa == (1u << mantissa_bits) - 1)) {
        out = 0x7F800000u | mantissa << (23 - mantissa_bits);
    } else if (exponent == 0) {
        float f = ldexpf((float)mantissa, 1 - bias - mantissa_bits);
        memcpy(&out, &f, sizeof out);
    } else {
        out = (uint32_t)((int)exponent - bias + 127) << 23 | mantissa << (23 - mantissa_bits);
    }
    return from_bits(out | sign << 31);
}

static float one_to_f32(enum lm_dtype t, const unsigned char *p)
{
    uint16_t half;
    double wide;
    switch (t) {
    case LM_F16:
        memcpy(&half, p, sizeof half);
        return widen(half, 5, 10, true);
    case LM_F64:
        memcpy(&wide, p, sizeof wide);
        return (float)wide;
    case LM_F8_E4M3:
        return widen(*p, 4, 3, false);
    default:
        return widen(*p, 5, 2, true);
    }
}

void lm_dtype_to_f32(enum lm_dtype t, const void *from, float *to, size_t n)
{
    KG_ASSERT(lm_dtype_is_float(t));
    const unsigned char *p = from;
    size_t width = lm_dtype_bytes(t);
    if (n == 0) {
        return; /* an empty tensor may have no address */
    }
    if (t == LM_F32) {
        memcpy(to, from, n * sizeof *to);
        return;
    }
    for (size_t i = 0; i < n; i++, p += width) {
        if (t == LM_BF16) {
            uint16_t half;
            memcpy(&half, p, sizeof half);
            to[i] = from_bits((uint32_t)half << 16);
        } else {
            to[i] = one_to_f32(t, p);
        }
    }
}

static uint16_t bf16_of(uint32_t bits)
{
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
        return (uint16_t)(bits >> 16 | 0x40); /* quiet, so that the cut does not make infinity */
    }
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* v / 2^shift, rounded to nearest even; 1 <= shift <= 31 */
static uint32_t shift_even(uint32_t v, int shift)
{
    uint32_t cut = v & ((1u << shift) - 1), half = 1u << (shift - 1);
    v >>= shift;
    return v + (cut > half || (cut == half && (v & 1) != 0));
}

static uint16_t f16_of(uint32_t bits)
{
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
    int exponent = (int)(size >> 23) - 127;
    if (size > 0x7F800000u) {
        return (uint16_t)(sign | 0x7E00 | (size >> 13 & 0x3FF));
    }
    if (exponent > 15) {
        return (uint16_t)(sign | 0x7C00);
    }
    if (exponent >= -14) {
        /* A carry out of the mantissa raises the exponent, up to infinity. */
        return (uint16_t)(sign | shift_even(size - (112u << 23), 13));
    }
    if (exponent < -25) {
        return (uint16_t)sign;
    }
    return (uint16_t)(sign | shift_even((size & 0x7FFFFF) | 0x800000, -1 - exponent));
}

void lm_dtype_from_f32(enum lm_dtype t, const float *from, void *to, size_t n)
{
    KG_ASSERT(lm_dtype_is_written(t));
    if (n == 0) {
        return;
    }
    if (t == LM_F32) {
        memcpy(to, from, n * sizeof *from);
        return;
    }
    unsigned char *p = to;
    for (size_t i = 0; i < n; i++, p += 2) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        uint16_t half = t == LM_BF16 ? bf16_of(bits) : f16_of(bits);
        memcpy(p, &half, sizeof half);
    }
}
