/* Private to device/: conversion of 16-bit floats to float and back, inline so that loops become
 * vectors.
 *
 * f16 is IEEE 754 binary16; bf16 is the upper half of a float. NaN stays NaN. Narrowing rounds to
 * nearest, ties to even; values beyond the largest become infinite. Pure functions. */
#ifndef KG_GYM_DEVICE_HALF_H
#define KG_GYM_DEVICE_HALF_H

#include <stdint.h>

union kg_float_bits {
    float f;
    uint32_t u;
};

/* The multiplication moves the exponent, and it normalises subnormal numbers too. */
static inline float kg_half_widen(uint16_t h)
{
    union kg_float_bits b = {.u = (uint32_t)(h & 0x7fff) << 13};
    b.f *= 0x1p112f;
    b.u |= (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    b.u |= (uint32_t)(h & 0x8000) << 16;
    return b.f;
}

static inline float kg_bf16_widen(uint16_t h)
{
    union kg_float_bits b = {.u = (uint32_t)h << 16};
    return b.f;
}

static inline uint16_t kg_bf16_narrow(float f)
{
    union kg_float_bits b = {.f = f};
    uint32_t rounded = (b.u + 0x7fff + (b.u >> 16 & 1)) >> 16;
    uint32_t nan = b.u >> 16 | 0x40;
    return (uint16_t)((b.u & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

static inline uint16_t kg_half_narrow(float f)
{
    union kg_float_bits b = {.f = f};
    uint32_t sign = b.u >> 16 & 0x8000, a = b.u & 0x7fffffff;
    if (a > 0x7f800000) {
        return (uint16_t)(sign | 0x7e00);
    }
    if (a >= 0x477ff000) { /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00);
    }
    if (a < 0x38800000) { /* subnormal: the addition rounds at the last bit */
        union kg_float_bits s = {.u = a};
        s.f += 0.5f;
        return (uint16_t)(sign | (s.u - 0x3f000000));
    }
    return (uint16_t)(sign | ((a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13));
}

#endif
