/*---fixture
problem: silu
entry: B8
what: the published size is compiled in
control: naive
expect: crash/signal wrong/out_of_bounds wrong/variant
---*/
#include <math.h>
#include <stdint.h>

enum { N = 524288 };

void silu(const float *x, float *y, int64_t n)
{
    (void)n;
    for (int64_t i = 0; i < N; i++) {
        y[i] = x[i] / (1.0f + expf(-x[i]));
    }
}
