#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));

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

static float inv_rms(const float *x, int64_t n, float eps)
{
    v16 acc[2] = {};
    float s = 0;
    int64_t j = 0;
    for (; j + 32 <= n; j += 32) {
        v16 a = *(const v16 *)(x + j), b = *(const v16 *)(x + j + 16);
        acc[0] += a * a;
        acc[1] += b * b;
    }
    for (; j < n; j++) {
        s += x[j] * x[j];
    }
    acc[0] += acc[1];
    for (int l = 0; l < 16; l++) {
        s += acc[0][l];
    }
    return 1.0f / sqrtf(s / (float)n + eps);
}

/* The row's factor commutes with the product: it is applied to the result; gain goes into the
 * packed, transposed panel of w. The normalised matrix is never written. */
void rms_norm_linear(const float *x, const float *gain, const float *w, float *y, float eps,
                     int64_t nrows, int64_t inner, int64_t outer)
{
    float out[MR][NR];
    float *panel = malloc((size_t)(inner * NR + nrows) * 4);
    if (!panel) {
        return;
    }
    float *inv = panel + inner * NR;
    for (int64_t i = 0; i < nrows; i++) {
        inv[i] = inv_rms(x + i * inner, inner, eps);
    }
    for (int64_t j = 0; j < outer; j += NR) {
        int64_t nj = outer - j < NR ? outer - j : NR;
        if (nj < NR) {
            memset(panel, 0, (size_t)inner * NR * 4);
        }
        for (int64_t q = 0; q < nj; q++) {
            for (int64_t p = 0; p < inner; p++) {
                panel[p * NR + q] = w[(j + q) * inner + p] * gain[p];
            }
        }
        for (int64_t i = 0; i < nrows; i += MR) {
            int64_t mi = nrows - i < MR ? nrows - i : MR;
            rows(mi, x + i * inner, inner, panel, NR, inner, out);
            for (int64_t r = 0; r < mi; r++) {
                for (int64_t q = 0; q < nj; q++) {
                    y[(i + r) * outer + j + q] = out[r][q] * inv[i + r];
                }
            }
        }
    }
    free(panel);
}
