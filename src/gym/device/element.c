/* Loads and stores one element of a tensor of any dtype, as a double. */
#include "gym/device/device_law.h"
#include "gym/device/half.h"

double kg_dj_load(enum kg_tdtype dtype, const void *src, uint64_t at)
{
    switch (dtype) {
    case KG_TD_F32:
        return ((const float *)src)[at];
    case KG_TD_F64:
        return ((const double *)src)[at];
    case KG_TD_F16:
        return kg_half_widen(((const uint16_t *)src)[at]);
    case KG_TD_BF16:
        return kg_bf16_widen(((const uint16_t *)src)[at]);
    case KG_TD_I64:
        return (double)((const int64_t *)src)[at];
    case KG_TD_I32:
        return ((const int32_t *)src)[at];
    case KG_TD_I16:
        return ((const int16_t *)src)[at];
    case KG_TD_I8:
        return ((const int8_t *)src)[at];
    case KG_TD_U8:
    case KG_TD_BOOL:
        return ((const uint8_t *)src)[at];
    case KG_TD_COUNT:
        break;
    }
    return 0;
}

void kg_dj_store(enum kg_tdtype dtype, void *dst, uint64_t at, double v)
{
    switch (dtype) {
    case KG_TD_F32:
        ((float *)dst)[at] = (float)v;
        break;
    case KG_TD_F64:
        ((double *)dst)[at] = v;
        break;
    case KG_TD_F16:
        ((uint16_t *)dst)[at] = kg_half_narrow((float)v);
        break;
    case KG_TD_BF16:
        ((uint16_t *)dst)[at] = kg_bf16_narrow((float)v);
        break;
    case KG_TD_I64:
        ((int64_t *)dst)[at] = (int64_t)kg_dj_clamp(v, -0x1p63, 0x1.fffffffffffffp62);
        break;
    case KG_TD_I32:
        ((int32_t *)dst)[at] = (int32_t)kg_dj_clamp(v, INT32_MIN, INT32_MAX);
        break;
    case KG_TD_I16:
        ((int16_t *)dst)[at] = (int16_t)kg_dj_clamp(v, INT16_MIN, INT16_MAX);
        break;
    case KG_TD_I8:
        ((int8_t *)dst)[at] = (int8_t)kg_dj_clamp(v, INT8_MIN, INT8_MAX);
        break;
    case KG_TD_U8:
        ((uint8_t *)dst)[at] = (uint8_t)kg_dj_clamp(v, 0, UINT8_MAX);
        break;
    case KG_TD_BOOL:
        ((uint8_t *)dst)[at] = v != 0;
        break;
    case KG_TD_COUNT:
        break;
    }
}
