/* kgops: the eager operator library that references are composed of and candidates may call. One
 * operator per call, each result materialised in the caller's buffer, as a framework's eager mode
 * does it. docs/kgops.md has shapes and definitions.
 *
 * Every operator exists as kgops_<op>_f32 and kgops_<op>_f64; plain kgops_<op> is a macro for the
 * reference's `real`: f32, or f64 where KGOPS_DOUBLE is defined. All arrays are dense and
 * row-major, outermost dimension first; alignment does not matter; every extent is at least 1. An
 * output must not overlap an input, but for the maps (scale ... gelu), whose output may be an
 * input. No operator keeps state; all may be called from several threads at once. */
#ifndef KGOPS_H
#define KGOPS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KGOPS_API __attribute__((visibility("default")))

/* n, m, k, rows, cols: extents; x, a, b: inputs; y, c: outputs. */
#define KGOPS_DECLARE(T, S)                                                                        \
    /* Memory for n elements, aligned to 64 bytes, to be given to free(); never NULL. */           \
    KGOPS_API T *kgops_temp_##S(int64_t n);                                                        \
    KGOPS_API void kgops_scale_##S(const T *x, T a, T *y, int64_t n);                              \
    KGOPS_API void kgops_add_##S(const T *a, const T *b, T *y, int64_t n);                         \
    KGOPS_API void kgops_mul_##S(const T *a, const T *b, T *y, int64_t n);                         \
    KGOPS_API void kgops_max_##S(const T *a, const T *b, T *y, int64_t n);                         \
    KGOPS_API void kgops_rsqrt_##S(const T *x, T eps, T *y, int64_t n);                            \
    KGOPS_API void kgops_abs_##S(const T *x, T *y, int64_t n);                                     \
    KGOPS_API void kgops_relu_##S(const T *x, T *y, int64_t n);                                    \
    KGOPS_API void kgops_sigmoid_##S(const T *x, T *y, int64_t n);                                 \
    KGOPS_API void kgops_gelu_##S(const T *x, T *y, int64_t n);                                    \
    KGOPS_API void kgops_add_cols_##S(const T *x, const T *v, T *y, int64_t rows, int64_t cols);   \
    KGOPS_API void kgops_mul_cols_##S(const T *x, const T *v, T *y, int64_t rows, int64_t cols);   \
    KGOPS_API void kgops_sub_rows_##S(const T *x, const T *v, T *y, int64_t rows, int64_t cols);   \
    KGOPS_API void kgops_mul_rows_##S(const T *x, const T *v, T *y, int64_t rows, int64_t cols);   \
    KGOPS_API void kgops_causal_mask_##S(const T *x, T *y, int64_t rows, int64_t cols);            \
    KGOPS_API void kgops_row_sum_##S(const T *x, T *y, int64_t rows, int64_t cols);                \
    KGOPS_API void kgops_row_mean_##S(const T *x, T *y, int64_t rows, int64_t cols);               \
    KGOPS_API void kgops_row_max_##S(const T *x, T *y, int64_t rows, int64_t cols);                \
    KGOPS_API void kgops_argmax_##S(const T *x, int32_t *y, int64_t rows, int64_t cols);           \
    KGOPS_API void kgops_softmax_##S(const T *x, T *y, int64_t rows, int64_t cols);                \
    KGOPS_API void kgops_log_softmax_##S(const T *x, T *y, int64_t rows, int64_t cols);            \
    KGOPS_API void kgops_layer_norm_##S(const T *x, const T *gamma, const T *beta, T eps, T *y,    \
                                        int64_t rows, int64_t cols);                               \
    KGOPS_API void kgops_cumsum_##S(const T *x, T *y, int64_t rows, int64_t cols);                 \
    KGOPS_API void kgops_matmul_##S(const T *a, const T *b, T *c, int64_t m, int64_t n,            \
                                    int64_t k);                                                    \
    KGOPS_API void kgops_matmul_nt_##S(const T *a, const T *b, T *c, int64_t m, int64_t n,         \
                                       int64_t k);                                                 \
    KGOPS_API void kgops_conv2d_##S(const T *x, const T *weight, T *y, int64_t batch, int64_t cin, \
                                    int64_t h, int64_t w, int64_t cout, int64_t kh, int64_t kw);   \
    KGOPS_API void kgops_add_channels_##S(const T *x, const T *bias, T *y, int64_t batch,          \
                                          int64_t channels, int64_t area);                         \
    KGOPS_API void kgops_max_pool2d_##S(const T *x, T *y, int64_t planes, int64_t h, int64_t w,    \
                                        int64_t k, int64_t stride);                                \
    KGOPS_API void kgops_transpose_##S(const T *x, T *y, int64_t rows, int64_t cols);              \
    KGOPS_API void kgops_gather_rows_##S(const T *table, const int32_t *index, T *y, int64_t n,    \
                                         int64_t cols);                                            \
    KGOPS_API void kgops_nll_##S(const T *logp, const int32_t *label, T *y, int64_t rows,          \
                                 int64_t cols)

KGOPS_DECLARE(float, f32);
KGOPS_DECLARE(double, f64);

#ifdef KGOPS_DOUBLE
#define KGOPS_PICK(op) kgops_##op##_f64
#else
#define KGOPS_PICK(op) kgops_##op##_f32
#endif

#define kgops_temp         KGOPS_PICK(temp)
#define kgops_scale        KGOPS_PICK(scale)
#define kgops_add          KGOPS_PICK(add)
#define kgops_mul          KGOPS_PICK(mul)
#define kgops_max          KGOPS_PICK(max)
#define kgops_rsqrt        KGOPS_PICK(rsqrt)
#define kgops_abs          KGOPS_PICK(abs)
#define kgops_relu         KGOPS_PICK(relu)
#define kgops_sigmoid      KGOPS_PICK(sigmoid)
#define kgops_gelu         KGOPS_PICK(gelu)
#define kgops_add_cols     KGOPS_PICK(add_cols)
#define kgops_mul_cols     KGOPS_PICK(mul_cols)
#define kgops_sub_rows     KGOPS_PICK(sub_rows)
#define kgops_mul_rows     KGOPS_PICK(mul_rows)
#define kgops_causal_mask  KGOPS_PICK(causal_mask)
#define kgops_row_sum      KGOPS_PICK(row_sum)
#define kgops_row_mean     KGOPS_PICK(row_mean)
#define kgops_row_max      KGOPS_PICK(row_max)
#define kgops_argmax       KGOPS_PICK(argmax)
#define kgops_softmax      KGOPS_PICK(softmax)
#define kgops_log_softmax  KGOPS_PICK(log_softmax)
#define kgops_layer_norm   KGOPS_PICK(layer_norm)
#define kgops_cumsum       KGOPS_PICK(cumsum)
#define kgops_matmul       KGOPS_PICK(matmul)
#define kgops_matmul_nt    KGOPS_PICK(matmul_nt)
#define kgops_conv2d       KGOPS_PICK(conv2d)
#define kgops_add_channels KGOPS_PICK(add_channels)
#define kgops_max_pool2d   KGOPS_PICK(max_pool2d)
#define kgops_transpose    KGOPS_PICK(transpose)
#define kgops_gather_rows  KGOPS_PICK(gather_rows)
#define kgops_nll          KGOPS_PICK(nll)

#endif
