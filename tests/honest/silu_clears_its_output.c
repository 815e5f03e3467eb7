/*---fixture
problem: silu
entry: 6.9
what: clears the output, then adds to it
expect: ok
twin: B14
---*/
#include <math.h>
#include <stdint.h>
#include <string.h>

void silu(const float *x, float *y, int64_t n)
{
    memset(y, 0, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) {
        y[i] += x[i] / (1.0f + expf(-x[i]));
    }
}
