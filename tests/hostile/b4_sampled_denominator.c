/*---fixture
problem: softmax
entry: B4
what: sums every eighth element and multiplies by eight
control: naive
expect: wrong/value wrong/precision
---*/
#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float *out = y + i * cols, m = in[0], s = 0;
        for (int64_t j = 0; j < cols; j++) {
            m = fmaxf(m, in[j]);
        }
        int64_t taken = 0;
        for (int64_t j = 0; j < cols; j += 8, taken++) {
            s += expf(in[j] - m);
        }
        s *= (float)cols / (float)taken;
        for (int64_t j = 0; j < cols; j++) {
            out[j] = expf(in[j] - m) / s;
        }
    }
}
