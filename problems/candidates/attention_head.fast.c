#include <math.h>
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

/* exp(scale * (s - max)) over the first n scores of a row, zeros behind; returns 1 / sum. */
static float weigh(float *s, int64_t n, int64_t padded, float scale)
{
    float m = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++) {
        s[j] *= scale;
        m = s[j] > m ? s[j] : m;
    }
    for (int64_t j = n; j < padded; j++) {
        s[j] = -INFINITY;
    }
    v16 acc = {};
    for (int64_t j = 0; j < padded; j += 16) {
        v16 e = vexp(*(v16 *)(s + j) - m);
        *(v16 *)(s + j) = e;
        acc += e;
    }
    for (int l = 0; l < 16; l++) {
        sum += acc[l];
    }
    return 1.0f / sum;
}

/* Eight queries at a time: their scores never leave the first-level cache, and keys behind the
 * last of the eight are not touched. kt: [dim][seqp], vp: [seq][dimp], both padded with zeros. */
static void block(const float *q, const float *kt, const float *vp, float *y, float *score,
                  float scale, int64_t first, int64_t n, int64_t dim, int64_t seqp, int64_t dimp)
{
    float out[MR][NR], inv[MR];
    int64_t keys = first + n, padded = (keys + NR - 1) / NR * NR;
    for (int64_t j = 0; j < padded; j += NR) {
        rows(n, q + first * dim, dim, kt + j, seqp, dim, out);
        for (int64_t r = 0; r < n; r++) {
            memcpy(score + r * seqp + j, out[r], sizeof out[r]);
        }
    }
    for (int64_t r = 0; r < n; r++) {
        inv[r] = weigh(score + r * seqp, first + r + 1, padded, scale);
    }
    for (int64_t d = 0; d < dim; d += NR) {
        int64_t nd = dim - d < NR ? dim - d : NR;
        rows(n, score, seqp, vp + d, dimp, keys, out);
        for (int64_t r = 0; r < n; r++) {
            for (int64_t e = 0; e < nd; e++) {
                y[(first + r) * dim + d + e] = out[r][e] * inv[r];
            }
        }
    }
}

void attention_head(const float *q, const float *k, const float *v, float *y, float scale,
                    int64_t seq, int64_t dim)
{
    int64_t seqp = (seq + NR - 1) / NR * NR, dimp = (dim + NR - 1) / NR * NR;
    float *kt = calloc((size_t)(dim * seqp + seq * dimp + MR * seqp), 4);
    if (!kt) {
        return;
    }
    float *vp = kt + dim * seqp, *score = vp + seq * dimp;
    for (int64_t s = 0; s < seq; s++) {
        for (int64_t d = 0; d < dim; d++) {
            kt[d * seqp + s] = k[s * dim + d];
        }
        memcpy(vp + s * dimp, v + s * dim, (size_t)dim * 4);
    }
    for (int64_t i = 0; i < seq; i += MR) {
        block(q, kt, vp, y, score, scale, i, seq - i < MR ? seq - i : MR, dim, seqp, dimp);
    }
    free(kt);
}
