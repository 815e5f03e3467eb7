/*---fixture
problem: silu
entry: 6.9
what: one plain loop, slower than the reference
expect: ok
twin: D9
---*/
#include <math.h>
#include <stdint.h>

void silu(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] / (1.0f + expf(-x[i]));
    }
}
