/*---fixture
problem: silu
entry: B15
what: rounds the number of elements down to whole vectors
control: naive
expect: wrong/unwritten
---*/
#include <math.h>
#include <stdint.h>

void silu(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n / 16 * 16; i++) {
        y[i] = x[i] / (1.0f + expf(-x[i]));
    }
}
