/*---fixture
problem: add_layer_norm
entry: 6.9
what: one operator instead of two, sums in double
expect: ok
twin: B7
---*/
#include <math.h>
#include <stdint.h>

void add_layer_norm(const float *x, const float *residual, const float *gamma, const float *beta,
                    float *y, float eps, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        double s = 0, q = 0;
        for (int64_t j = 0; j < cols; j++) {
            float t = x[i * cols + j] + residual[i * cols + j];
            y[i * cols + j] = t;
            s += t;
        }
        s /= (double)cols;
        for (int64_t j = 0; j < cols; j++) {
            q += (y[i * cols + j] - s) * (y[i * cols + j] - s);
        }
        double inv = 1 / sqrt(q / (double)cols + eps);
        for (int64_t j = 0; j < cols; j++) {
            y[i * cols + j] = (float)((y[i * cols + j] - s) * inv) * gamma[j] + beta[j];
        }
    }
}
