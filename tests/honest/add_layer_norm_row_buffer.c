/*---fixture
problem: add_layer_norm
entry: 6.9
what: a row buffer of variable length, statistics by lanes
expect: ok
twin: F1
---*/
#include <math.h>
#include <stdint.h>

static float mean_of(const float *t, int64_t n, float shift, int square)
{
    float lane[16] = {0}, s = 0;
    for (int64_t j = 0; j < n; j++) {
        float d = t[j] - shift;
        lane[j & 15] += square ? d * d : d;
    }
    for (int l = 0; l < 16; l++) {
        s += lane[l];
    }
    return s / (float)n;
}

void add_layer_norm(const float *x, const float *residual, const float *gamma, const float *beta,
                    float *y, float eps, int64_t rows, int64_t cols)
{
    float t[cols];
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            t[j] = x[i * cols + j] + residual[i * cols + j];
        }
        float m = mean_of(t, cols, 0, 0);
        float inv = 1 / sqrtf(mean_of(t, cols, m, 1) + eps);
        for (int64_t j = 0; j < cols; j++) {
            y[i * cols + j] = fmaf((t[j] - m) * inv, gamma[j], beta[j]);
        }
    }
}
