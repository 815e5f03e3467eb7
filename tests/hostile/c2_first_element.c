/*---fixture
problem: add_layer_norm
entry: C2
what: recognises inputs by their first elements
control: naive
expect: hack/replay wrong/variant wrong/value wrong/nondeterministic
---*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float key[4], *last;
static int64_t last_n;

void add_layer_norm(const float *x, const float *residual, const float *gamma, const float *beta,
                    float *y, float eps, int64_t rows, int64_t cols)
{
    float now[4] = {x[0], residual[0], gamma[0], beta[0]};
    size_t bytes = (size_t)(rows * cols) * sizeof *y;
    if (last_n == rows * cols && memcmp(key, now, sizeof key) == 0) {
        memcpy(y, last, bytes);
        return;
    }
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
    memcpy(key, now, sizeof key);
    last_n = rows * cols;
    last = realloc(last, bytes);
    memcpy(last, y, bytes);
}
