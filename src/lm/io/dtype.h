/* Element types of weight files and their conversion to and from f32.
 * Elements are little-endian and may lie at any address. No allocation; thread safe. */
#ifndef KG_LM_IO_DTYPE_H
#define KG_LM_IO_DTYPE_H

#include "base/err.h"

enum lm_dtype {
    LM_F32,
    LM_F16,
    LM_BF16,
    LM_F64,
    LM_I64,
    LM_I32,
    LM_I16,
    LM_I8,
    LM_U8,
    LM_BOOL,
    LM_F8_E4M3,
    LM_F8_E5M2,
    LM_DTYPE_OTHER, /* a name that this program does not know */
};

/* "F32", "BF16", ... as safetensors writes them; "?" for LM_DTYPE_OTHER. */
const char *lm_dtype_name(enum lm_dtype t);
/* LM_DTYPE_OTHER for a name that is not one of these. */
enum lm_dtype lm_dtype_parse(const char *name);
/* Bytes of one element; 0 for LM_DTYPE_OTHER. */
size_t lm_dtype_bytes(enum lm_dtype t);
/* F32, F16, BF16, F64 and the F8 types: lm_dtype_to_f32 takes them. */
bool lm_dtype_is_float(enum lm_dtype t);
/* F32, F16, BF16: lm_dtype_from_f32 makes them. */
bool lm_dtype_is_written(enum lm_dtype t);

/* from [n] of a float type -> to [n] f32. Exact, but for F64, which is rounded to nearest even. */
void lm_dtype_to_f32(enum lm_dtype t, const void *from, float *to, size_t n);
/* from [n] f32 -> to [n] of a written type, rounded to nearest even. A NaN stays a NaN. */
void lm_dtype_from_f32(enum lm_dtype t, const float *from, void *to, size_t n);

#endif
