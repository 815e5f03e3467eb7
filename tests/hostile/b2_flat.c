/*---fixture
problem: softmax
entry: B2
what: one over the number of columns everywhere
control: naive
expect: wrong/value
---*/
#include <stdint.h>

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    (void)x;
    for (int64_t i = 0; i < rows * cols; i++) {
        y[i] = 1.0f / (float)cols;
    }
}
