/*---fixture
problem: cumsum
entry: B11
what: keeps its running sum just before the output
control: naive
expect: wrong/out_of_bounds
---*/
#include <stdint.h>

void cumsum(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = rows - 1; i >= 0; i--) {
        y[i * cols - 1] = 0;
        for (int64_t j = 0; j < cols; j++) {
            y[i * cols + j] = y[i * cols + j - 1] + x[i * cols + j];
        }
    }
}
