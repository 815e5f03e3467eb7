/*---fixture
problem: axpby
entry: 6.9
what: one plain pass, near the bandwidth floor
expect: ok
twin: D6
---*/
#include <stdint.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
}
