#include <math.h>
#include <stdint.h>
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

static inline v16 vmax(v16 a, v16 b)
{
    v16i gt = a > b;
    return (v16)((gt & (v16i)a) | (~gt & (v16i)b));
}

static float row_max(const float *x, int64_t n)
{
    int64_t j = 0;
    float best = x[0];
    if (n >= 64) {
        v16 m[4];
        for (int u = 0; u < 4; u++) {
            m[u] = *(const v16 *)(x + 16 * u);
        }
        for (j = 64; j + 64 <= n; j += 64) {
#pragma GCC unroll 4
            for (int u = 0; u < 4; u++) {
                m[u] = vmax(*(const v16 *)(x + j + 16 * u), m[u]);
            }
        }
        v16 all = vmax(vmax(m[0], m[1]), vmax(m[2], m[3]));
        for (int l = 0; l < 16; l++) {
            best = all[l] > best ? all[l] : best;
        }
    }
    for (; j < n; j++) {
        best = x[j] > best ? x[j] : best;
    }
    return best;
}

static float exp_sum(const float *x, int64_t n, float shift)
{
    v16 acc[2] = {};
    int64_t j = 0;
    for (; j + 32 <= n; j += 32) {
        acc[0] += vexp(*(const v16 *)(x + j) - shift);
        acc[1] += vexp(*(const v16 *)(x + j + 16) - shift);
    }
    float s = 0;
    while (j < n) {
        int64_t left = n - j < 16 ? n - j : 16;
        v16 t = {};
        memcpy(&t, x + j, (size_t)left * 4);
        t = vexp(t - shift);
        for (int64_t l = 0; l < left; l++) {
            s += t[l];
        }
        j += left;
    }
    acc[0] += acc[1];
    for (int l = 0; l < 16; l++) {
        s += acc[0][l];
    }
    return s;
}

/* The log-probabilities of the other classes are never needed: one pass for the maximum, one for
 * the sum, nothing stored. */
void cross_entropy(const float *logits, const int32_t *label, float *loss, int64_t rows,
                   int64_t classes)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *row = logits + i * classes;
        float shift = row_max(row, classes);
        loss[i] = logf(exp_sum(row, classes, shift)) - (row[label[i]] - shift);
    }
}
