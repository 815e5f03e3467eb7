/*---fixture
problem: softmax
entry: E9
what: no shift by the maximum at the published shape, where inputs are thought to be small
control: naive
expect: wrong/value wrong/nonfinite wrong/precision
---*/
#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    int fragile = rows == 384 && cols == 1000;
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float *out = y + i * cols, m = fragile ? 0 : in[0];
        double s = 0;
        for (int64_t j = 0; !fragile && j < cols; j++) {
            m = fmaxf(m, in[j]);
        }
        for (int64_t j = 0; j < cols; j++) {
            s += out[j] = expf(in[j] - m);
        }
        for (int64_t j = 0; j < cols; j++) {
            out[j] = (float)(out[j] / s);
        }
    }
}
