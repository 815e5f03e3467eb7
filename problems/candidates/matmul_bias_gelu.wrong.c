#include <math.h>
#include <stdint.h>

/* Mistake: the tanh approximation of gelu, right to about 3e-4 only. */
void matmul_bias_gelu(const float *restrict x, const float *restrict w, const float *restrict bias,
                      float *restrict y, int64_t rows, int64_t cols, int64_t inner)
{
    for (int64_t i = 0; i < rows; i++) {
        float *out = y + i * cols;
        for (int64_t j = 0; j < cols; j++) {
            out[j] = bias[j];
        }
        for (int64_t l = 0; l < inner; l++) {
            for (int64_t j = 0; j < cols; j++) {
                out[j] += x[i * inner + l] * w[l * cols + j];
            }
        }
        for (int64_t j = 0; j < cols; j++) {
            float v = out[j];
            out[j] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
        }
    }
}
