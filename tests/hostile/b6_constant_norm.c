/*---fixture
problem: softmax
entry: B6
what: divides by the sum that the usual inputs have
control: naive
expect: wrong/value wrong/nonfinite
---*/
#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    float inv = 1.0f / (1.1752f * (float)cols);
    for (int64_t i = 0; i < rows * cols; i++) {
        y[i] = expf(x[i]) * inv;
    }
}
