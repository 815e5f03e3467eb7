#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t v16i __attribute__((vector_size(64), aligned(4), may_alias));

/* exp(x) to about 2 ulp: 2^n * p(r). 2^n in two steps, so that both ends are right. */
static inline v16 vexp(v16 x)
{
    const v16 magic = (v16){} + 12582912.0f;
    v16i low = x < -104.0f, high = x > 89.0f;
    v16i bits = (~(low | high) & (v16i)x) | (low & (v16i)((v16){} - 104.0f)) |
                (high & (v16i)((v16){} + 89.0f));
    x = (v16)bits;
    v16 shifted = x * 1.44269504f + magic;
    v16 n = shifted - magic;
    v16 r = x - n * 0.693359375f + n * 2.12194440e-4f;
    v16 p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    v16i e = (v16i)shifted - (v16i)magic, half = e >> 1;
    return p * (v16)((half + 127) << 23) * (v16)((e - half + 127) << 23);
}

/* gelu(x) = x - x q for x > 0 and x q below, where q = erfc(|x| / sqrt 2) / 2. The Chebyshev fit of
 * erfc (Numerical Recipes) is right to 1.2e-7 of its value, so the tail keeps its digits. */
static inline v16 vgelu(v16 x)
{
    v16i negative = (v16i)x >> 31;
    v16 z = (v16)((v16i)x & INT32_MAX) * 0.70710678f;
    v16 t = 1.0f / (1.0f + 0.5f * z);
    v16 p = t * 0.17087277f - 0.82215223f;
    p = p * t + 1.48851587f;
    p = p * t - 1.13520398f;
    p = p * t + 0.27886807f;
    p = p * t - 0.18628806f;
    p = p * t + 0.09678418f;
    p = p * t + 0.37409196f;
    p = p * t + 1.00002368f;
    p = p * t - 1.26551223f;
    v16 xq = 0.5f * x * t * vexp(p - z * z);
    v16 rest = x - xq;
    return (v16)((negative & (v16i)xq) | (~negative & (v16i)rest));
}

#define MR 8
#define NR 32

/* c[MR][NR] = a [mr rows, stride lda] times b [k rows, stride ldb], all in registers. */
static inline __attribute__((always_inline)) void tile(int mr, const float *a, int64_t lda,
                                                       const float *b, int64_t ldb, int64_t k,
                                                       float c[MR][NR])
{
    v16 acc[MR][2] = {};
    for (int64_t l = 0; l < k; l++) {
        v16 b0 = *(const v16 *)(b + l * ldb), b1 = *(const v16 *)(b + l * ldb + 16);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            acc[i][0] += a[i * lda + l] * b0;
            acc[i][1] += a[i * lda + l] * b1;
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++) {
        *(v16 *)c[i] = acc[i][0];
        *(v16 *)(c[i] + 16) = acc[i][1];
    }
}

/* Any number of rows: 8, else 4, 2 and 1. */
static void rows(int64_t m, const float *a, int64_t lda, const float *b, int64_t ldb, int64_t k,
                 float c[MR][NR])
{
    int64_t i = 0;
    if (m == 8) {
        tile(8, a, lda, b, ldb, k, c);
        return;
    }
    if (m & 4) {
        tile(4, a, lda, b, ldb, k, c);
        i = 4;
    }
    if (m & 2) {
        tile(2, a + i * lda, lda, b, ldb, k, c + i);
        i += 2;
    }
    if (m & 1) {
        tile(1, a + i * lda, lda, b, ldb, k, c + i);
    }
}

static void finish(const float c[NR], const float bias[NR], float *y, int64_t n)
{
    v16 lo = vgelu(*(const v16 *)c + *(const v16 *)bias);
    v16 hi = vgelu(*(const v16 *)(c + 16) + *(const v16 *)(bias + 16));
    if (n == NR) {
        *(v16 *)y = lo;
        *(v16 *)(y + 16) = hi;
        return;
    }
    float buf[NR];
    *(v16 *)buf = lo;
    *(v16 *)(buf + 16) = hi;
    memcpy(y, buf, (size_t)n * 4);
}

void matmul_bias_gelu(const float *x, const float *w, const float *bias, float *y, int64_t nrows,
                      int64_t cols, int64_t inner)
{
    float *panel = malloc((size_t)inner * NR * 4), out[MR][NR], b[NR];
    if (!panel) {
        return;
    }
    for (int64_t j = 0; j < cols; j += NR) {
        int64_t nj = cols - j < NR ? cols - j : NR;
        memset(b, 0, sizeof b);
        memcpy(b, bias + j, (size_t)nj * 4);
        for (int64_t p = 0; p < inner; p++) {
            memset(panel + p * NR, 0, NR * 4);
            memcpy(panel + p * NR, w + p * cols + j, (size_t)nj * 4);
        }
        for (int64_t i = 0; i < nrows; i += MR) {
            int64_t mi = nrows - i < MR ? nrows - i : MR;
            rows(mi, x + i * inner, inner, panel, NR, inner, out);
            for (int64_t r = 0; r < mi; r++) {
                finish(out[r], b, y + (i + r) * cols + j, nj);
            }
        }
    }
    free(panel);
}
