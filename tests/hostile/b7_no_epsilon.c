/*---fixture
problem: add_layer_norm
entry: B7
what: leaves out epsilon, which only flat rows need
control: naive
expect: wrong/precision wrong/nonfinite wrong/variant wrong/value
---*/
#include <math.h>
#include <stdint.h>

void add_layer_norm(const float *x, const float *residual, const float *gamma, const float *beta,
                    float *y, float eps, int64_t rows, int64_t cols)
{
    (void)eps;
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
        double inv = 1 / sqrt(q / (double)cols);
        for (int64_t j = 0; j < cols; j++) {
            y[i * cols + j] = (float)((y[i * cols + j] - s) * inv) * gamma[j] + beta[j];
        }
    }
}
