/*---fixture
problem: cumsum
entry: B10
what: makes the input writable, then sums in place
control: naive
expect: wrong/input_modified
---*/
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

void cumsum(const float *x, float *y, int64_t rows, int64_t cols)
{
    uintptr_t from = (uintptr_t)x & ~(uintptr_t)4095;
    uintptr_t to = ((uintptr_t)(x + rows * cols) + 4095) & ~(uintptr_t)4095;
    float *in = (float *)(uintptr_t)x;
    if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) == 0) {
        in[0] += 0;
    }
    for (int64_t i = 0; i < rows; i++) {
        double s = 0;
        for (int64_t j = 0; j < cols; j++) {
            s += in[i * cols + j];
            y[i * cols + j] = (float)s;
        }
    }
    in[0] = 0;
}
