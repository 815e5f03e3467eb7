/* expf that the compiler can vectorise inside a loop: no branch, no call. Within 2 ulp of exp over
 * all floats, with its limits: 0 below -104, infinity above 89, NaN stays NaN. */
#ifndef KGOPS_VEXP_H
#define KGOPS_VEXP_H

#include <stdint.h>

static inline float kgops_pow2(int32_t e)
{
    union {
        uint32_t u;
        float f;
    } bits = {.u = (uint32_t)(e + 127) << 23}; /* unsigned: e is arbitrary where x is NaN */
    return bits.f;
}

static inline float kgops_vexp(float x)
{
    const float round = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    float c = x < -104.0f ? -104.0f : x;
    c = c > 89.0f ? 89.0f : c;
    float shifted = c * 1.44269504f + round;
    float n = shifted - round;
    /* ln 2 in two parts: the first has trailing zeros, so n times it is exact. */
    float r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    /* 2^n in two steps, since n reaches beyond the exponents of normal floats on both ends. */
    union {
        float f;
        int32_t i;
    } bits = {.f = shifted};
    int32_t e = bits.i - 0x4b400000;
    int32_t half = e >> 1;
    return p * kgops_pow2(half) * kgops_pow2(e - half);
}

#endif
