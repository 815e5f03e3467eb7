/*---fixture
problem: transpose
entry: B8
what: right for the published shape, a copy elsewhere
control: naive
expect: wrong/value wrong/variant wrong/unwritten wrong/out_of_bounds
---*/
#include <stdint.h>
#include <string.h>

void transpose(const float *x, float *y, int64_t rows, int64_t cols)
{
    if (rows != 1440 || cols != 840) {
        memcpy(y, x, (size_t)(rows * cols) * sizeof *y);
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            y[j * rows + i] = x[i * cols + j];
        }
    }
}
