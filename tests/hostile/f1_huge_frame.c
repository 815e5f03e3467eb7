/*---fixture
problem: transpose
entry: F1
what: an array on the stack that no stack can hold
control: host down
expect: crash/signal
---*/
#include <alloca.h>
#include <stdint.h>
#include <string.h>

void transpose(const float *x, float *y, int64_t rows, int64_t cols)
{
    char *all = alloca((size_t)1 << 30);
    memset(all, 1, (size_t)1 << 30);
    for (int64_t i = 0; i < rows * cols; i++) {
        y[i % cols * rows + i / cols] = x[i] + (float)all[i] - 1;
    }
}
