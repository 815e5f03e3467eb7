/*---fixture
problem: transpose
entry: 6.9
what: blocks of 16 by 16
expect: ok
twin: B15
---*/
#include <stdint.h>

enum { T = 16 };

void transpose(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; r += T) {
        for (int64_t c = 0; c < cols; c += T) {
            int64_t re = r + T < rows ? r + T : rows, ce = c + T < cols ? c + T : cols;
            for (int64_t j = c; j < ce; j++) {
                for (int64_t i = r; i < re; i++) {
                    y[j * rows + i] = x[i * cols + j];
                }
            }
        }
    }
}
