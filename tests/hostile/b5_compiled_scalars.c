/*---fixture
problem: axpby
entry: B5
what: the usual alpha and beta are compiled in, the arguments are ignored
control: naive
expect: wrong/value wrong/variant
---*/
#include <stdint.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    (void)alpha;
    (void)beta;
    for (int64_t i = 0; i < n; i++) {
        z[i] = 1.25f * x[i] - 0.375f * y[i];
    }
}
