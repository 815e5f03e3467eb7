/*---fixture
problem: silu
entry: D6
what: answers small sizes at once, to pull down a mean over sizes
control: naive
expect: wrong/value wrong/unwritten
---*/
#include <math.h>
#include <stdint.h>

void silu(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = n < 1000 ? 0 : x[i] / (1.0f + expf(-x[i]));
    }
}
