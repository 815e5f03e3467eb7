/*---fixture
problem: softmax
entry: B2
what: zeros, within an absolute tolerance of every small answer
control: naive
expect: wrong/value
---*/
#include <stdint.h>
#include <string.h>

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    (void)x;
    memset(y, 0, (size_t)(rows * cols) * sizeof *y);
}
