#include <math.h>
#include <stdint.h>

typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));

static float total(const v16 acc[4])
{
    v16 v = (acc[0] + acc[1]) + (acc[2] + acc[3]);
    float s = 0;
    for (int l = 0; l < 16; l++) {
        s += v[l];
    }
    return s;
}

/* t = a + b, and the sum of it. t stays in the first-level cache until the row is done. */
static float add_sum(const float *a, const float *b, float *t, int64_t n)
{
    v16 acc[4] = {};
    int64_t j = 0;
    for (; j + 64 <= n; j += 64) {
#pragma GCC unroll 4
        for (int u = 0; u < 64; u += 16) {
            v16 s = *(const v16 *)(a + j + u) + *(const v16 *)(b + j + u);
            *(v16 *)(t + j + u) = s;
            acc[u / 16] += s;
        }
    }
    float tail = 0;
    for (; j < n; j++) {
        t[j] = a[j] + b[j];
        tail += t[j];
    }
    return total(acc) + tail;
}

static float squares(const float *t, int64_t n, float mean)
{
    v16 acc[4] = {};
    int64_t j = 0;
    for (; j + 64 <= n; j += 64) {
#pragma GCC unroll 4
        for (int u = 0; u < 64; u += 16) {
            v16 d = *(const v16 *)(t + j + u) - mean;
            acc[u / 16] += d * d;
        }
    }
    float tail = 0;
    for (; j < n; j++) {
        tail += (t[j] - mean) * (t[j] - mean);
    }
    return total(acc) + tail;
}

void add_layer_norm(const float *x, const float *residual, const float *gamma, const float *beta,
                    float *y, float eps, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        float *out = y + i * cols;
        float mean = add_sum(x + i * cols, residual + i * cols, out, cols) / (float)cols;
        float inv = 1.0f / sqrtf(squares(out, cols, mean) / (float)cols + eps);
        int64_t j = 0;
        for (; j + 16 <= cols; j += 16) {
            v16 d = *(v16 *)(out + j) - mean;
            *(v16 *)(out + j) = d * (inv * *(const v16 *)(gamma + j)) + *(const v16 *)(beta + j);
        }
        for (; j < cols; j++) {
            out[j] = (out[j] - mean) * (inv * gamma[j]) + beta[j];
        }
    }
}
