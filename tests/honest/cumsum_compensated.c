/*---fixture
problem: cumsum
entry: 6.9
what: compensated summation, more exact than the reference
expect: ok
twin: B9
---*/
#include <stdint.h>

void cumsum(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        volatile float lost = 0;
        float s = 0;
        for (int64_t j = 0; j < cols; j++) {
            float term = x[i * cols + j] - lost, next = s + term;
            lost = (next - s) - term;
            s = next;
            y[i * cols + j] = s;
        }
    }
}
