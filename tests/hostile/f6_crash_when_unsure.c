/*---fixture
problem: silu
entry: F6
what: crashes where it knows that it would be wrong, hoping not to be counted
control: naive
expect: crash/signal
---*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

void silu(const float *x, float *y, int64_t n)
{
    if (n % 16) {
        abort();
    }
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] / (1.0f + expf(-x[i]));
    }
}
