/* Every operator of kgops.h but temp, as a table, for builds of the library that wrap or replace
 * them all. OP(S, name, parameters, arguments, type of the output, output, its elements). T: float
 * or double; S: f32 or f64. */
#ifndef KGOPS_OPERATORS_H
#define KGOPS_OPERATORS_H

#include "kgops.h"

/* clang-format off */
#define KGOPS_OPERATORS(OP, T, S) \
    OP(S, scale, (const T *x, T a, T *y, int64_t n), (x, a, y, n), T, y, n) \
    OP(S, add, (const T *a, const T *b, T *y, int64_t n), (a, b, y, n), T, y, n) \
    OP(S, mul, (const T *a, const T *b, T *y, int64_t n), (a, b, y, n), T, y, n) \
    OP(S, max, (const T *a, const T *b, T *y, int64_t n), (a, b, y, n), T, y, n) \
    OP(S, abs, (const T *x, T *y, int64_t n), (x, y, n), T, y, n) \
    OP(S, relu, (const T *x, T *y, int64_t n), (x, y, n), T, y, n) \
    OP(S, rsqrt, (const T *x, T eps, T *y, int64_t n), (x, eps, y, n), T, y, n) \
    OP(S, sigmoid, (const T *x, T *y, int64_t n), (x, y, n), T, y, n) \
    OP(S, gelu, (const T *x, T *y, int64_t n), (x, y, n), T, y, n) \
    OP(S, add_cols, (const T *x, const T *v, T *y, int64_t rows, int64_t cols), \
       (x, v, y, rows, cols), T, y, rows * cols) \
    OP(S, mul_cols, (const T *x, const T *v, T *y, int64_t rows, int64_t cols), \
       (x, v, y, rows, cols), T, y, rows * cols) \
    OP(S, sub_rows, (const T *x, const T *v, T *y, int64_t rows, int64_t cols), \
       (x, v, y, rows, cols), T, y, rows * cols) \
    OP(S, mul_rows, (const T *x, const T *v, T *y, int64_t rows, int64_t cols), \
       (x, v, y, rows, cols), T, y, rows * cols) \
    OP(S, causal_mask, (const T *x, T *y, int64_t rows, int64_t cols), (x, y, rows, cols), \
       T, y, rows * cols) \
    OP(S, row_sum, (const T *x, T *y, int64_t rows, int64_t cols), (x, y, rows, cols), \
       T, y, rows) \
    OP(S, row_mean, (const T *x, T *y, int64_t rows, int64_t cols), (x, y, rows, cols), \
       T, y, rows) \
    OP(S, row_max, (const T *x, T *y, int64_t rows, int64_t cols), (x, y, rows, cols), \
       T, y, rows) \
    OP(S, argmax, (const T *x, int32_t *y, int64_t rows, int64_t cols), (x, y, rows, cols), \
       int32_t, y, rows) \
    OP(S, softmax, (const T *x, T *y, int64_t rows, int64_t cols), (x, y, rows, cols), \
       T, y, rows * cols) \
    OP(S, log_softmax, (const T *x, T *y, int64_t rows, int64_t cols), (x, y, rows, cols), \
       T, y, rows * cols) \
    OP(S, layer_norm, \
       (const T *x, const T *gamma, const T *beta, T eps, T *y, int64_t rows, int64_t cols), \
       (x, gamma, beta, eps, y, rows, cols), T, y, rows * cols) \
    OP(S, cumsum, (const T *x, T *y, int64_t rows, int64_t cols), (x, y, rows, cols), \
       T, y, rows * cols) \
    OP(S, matmul, (const T *a, const T *b, T *c, int64_t m, int64_t n, int64_t k), \
       (a, b, c, m, n, k), T, c, m * n) \
    OP(S, matmul_nt, (const T *a, const T *b, T *c, int64_t m, int64_t n, int64_t k), \
       (a, b, c, m, n, k), T, c, m * n) \
    OP(S, conv2d, \
       (const T *x, const T *weight, T *y, int64_t batch, int64_t cin, int64_t h, int64_t w, \
        int64_t cout, int64_t kh, int64_t kw), \
       (x, weight, y, batch, cin, h, w, cout, kh, kw), \
       T, y, batch * cout * (h - kh + 1) * (w - kw + 1)) \
    OP(S, add_channels, \
       (const T *x, const T *bias, T *y, int64_t batch, int64_t channels, int64_t area), \
       (x, bias, y, batch, channels, area), T, y, batch * channels * area) \
    OP(S, max_pool2d, \
       (const T *x, T *y, int64_t planes, int64_t h, int64_t w, int64_t k, int64_t stride), \
       (x, y, planes, h, w, k, stride), \
       T, y, planes * ((h - k) / stride + 1) * ((w - k) / stride + 1)) \
    OP(S, transpose, (const T *x, T *y, int64_t rows, int64_t cols), (x, y, rows, cols), \
       T, y, rows * cols) \
    OP(S, gather_rows, (const T *table, const int32_t *index, T *y, int64_t n, int64_t cols), \
       (table, index, y, n, cols), T, y, n * cols) \
    OP(S, nll, (const T *logp, const int32_t *label, T *y, int64_t rows, int64_t cols), \
       (logp, label, y, rows, cols), T, y, rows)
/* clang-format on */

#endif
