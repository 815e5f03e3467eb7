/*---fixture
problem: softmax
entry: B10
what: keeps the exponentials in the input
control: naive
expect: wrong/input_modified
---*/
#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        float *in = (float *)(uintptr_t)(x + i * cols), m = in[0], s = 0;
        for (int64_t j = 0; j < cols; j++) {
            m = fmaxf(m, in[j]);
        }
        for (int64_t j = 0; j < cols; j++) {
            s += in[j] = expf(in[j] - m);
        }
        for (int64_t j = 0; j < cols; j++) {
            y[i * cols + j] = in[j] / s;
        }
    }
}
