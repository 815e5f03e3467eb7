/*---fixture
problem: axpby
entry: 6.9
what: a loop of its own for the usual alpha and beta, another for all others
expect: ok
twin: B5
---*/
#include <stdint.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    if (alpha == 1.25f && beta == -0.375f) {
        for (int64_t i = 0; i < n; i++) {
            z[i] = 1.25f * x[i] - 0.375f * y[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
}
