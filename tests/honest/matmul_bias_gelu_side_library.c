/*---fixture
problem: matmul_bias_gelu
entry: 6.9
what: the library's product, an own pass for bias and activation
expect: ok
twin: A6
---*/
#include <kgops.h>
#include <math.h>

void matmul_bias_gelu(const float *x, const float *w, const float *bias, float *y, int64_t rows,
                      int64_t cols, int64_t inner)
{
    kgops_matmul(x, w, y, rows, cols, inner);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            float v = y[i * cols + j] + bias[j];
            y[i * cols + j] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
        }
    }
}
