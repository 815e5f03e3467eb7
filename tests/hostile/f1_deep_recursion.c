/*---fixture
problem: cumsum
entry: F1
what: recurses until its stack is gone
control: host down
expect: crash/signal
---*/
#include <stdint.h>

static volatile int64_t limit = INT64_MAX;

static float sum(const float *x, int64_t n)
{
    volatile float kept[64];
    kept[n & 63] = x[0];
    return n < limit ? sum(x, n + 1) + kept[n & 63] : 0;
}

void cumsum(const float *x, float *y, int64_t rows, int64_t cols)
{
    (void)rows, (void)cols;
    y[0] = sum(x, 0);
}
