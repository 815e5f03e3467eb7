/*---fixture
problem: axpby
entry: 6.9
what: the operator library for one of two steps
expect: ok
twin: A1
---*/
#include <kgops.h>
#include <stdint.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    kgops_scale(x, alpha, z, n);
    for (int64_t i = 0; i < n; i++) {
        z[i] += beta * y[i];
    }
}
