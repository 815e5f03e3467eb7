/*---fixture
problem: softmax
entry: 6.9
what: maximum and sum in one pass, rescaled on the way
expect: ok
twin: B4
---*/
#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float m = -INFINITY, s = 0;
        for (int64_t j = 0; j < cols; j++) {
            float higher = fmaxf(m, in[j]);
            s = s * expf(m - higher) + expf(in[j] - higher);
            m = higher;
        }
        for (int64_t j = 0; j < cols; j++) {
            y[i * cols + j] = expf(in[j] - m) / s;
        }
    }
}
