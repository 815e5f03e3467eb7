#include <stdint.h>
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

#define KC 256

/* Panels of 32 columns of b, at most 256 rows deep, are packed (padded with zeros) so that they stay
 * in the first-level cache while all rows of a pass over them. */
void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    float panel[KC * NR], out[MR][NR];
    for (int64_t j = 0; j < n; j += NR) {
        int64_t nj = n - j < NR ? n - j : NR;
        for (int64_t l = 0; l < k; l += KC) {
            int64_t kl = k - l < KC ? k - l : KC;
            if (nj < NR) {
                memset(panel, 0, sizeof panel);
            }
            for (int64_t p = 0; p < kl; p++) {
                memcpy(panel + p * NR, b + (l + p) * n + j, (size_t)nj * 4);
            }
            for (int64_t i = 0; i < m; i += MR) {
                int64_t mi = m - i < MR ? m - i : MR;
                rows(mi, a + i * k + l, k, panel, NR, kl, out);
                for (int64_t r = 0; r < mi; r++) {
                    float *dst = c + (i + r) * n + j;
                    for (int64_t q = 0; q < nj; q++) {
                        dst[q] = l ? dst[q] + out[r][q] : out[r][q];
                    }
                }
            }
        }
    }
}
