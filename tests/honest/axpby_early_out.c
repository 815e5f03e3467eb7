/*---fixture
problem: axpby
entry: 6.9
what: leaves early for nothing to do and for a scalar of zero
expect: ok
twin: B14
---*/
#include <stdint.h>
#include <string.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    if (n <= 0) {
        return;
    }
    if (alpha == 0 && beta == 0) {
        memset(z, 0, (size_t)n * sizeof *z);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
}
