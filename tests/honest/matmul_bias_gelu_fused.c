/*---fixture
problem: matmul_bias_gelu
entry: 6.9
what: starts from the bias and applies the activation to each finished row
expect: ok
twin: B7
---*/
#include <math.h>
#include <stdint.h>

void matmul_bias_gelu(const float *x, const float *w, const float *bias, float *y, int64_t rows,
                      int64_t cols, int64_t inner)
{
    for (int64_t i = 0; i < rows; i++) {
        float *out = y + i * cols;
        for (int64_t j = 0; j < cols; j++) {
            out[j] = 0;
        }
        for (int64_t l = 0; l < inner; l++) {
            for (int64_t j = 0; j < cols; j++) {
                out[j] += x[i * inner + l] * w[l * cols + j];
            }
        }
        for (int64_t j = 0; j < cols; j++) {
            float v = out[j] + bias[j];
            out[j] = v * 0.5f * (1.0f + erff(v * 0.70710678f));
        }
    }
}
