/*---fixture
problem: axpby
entry: B11
what: writes whole vectors beyond the end
control: naive
expect: wrong/out_of_bounds
---*/
#include <stdint.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    for (int64_t i = 0; i < (n + 15) / 16 * 16; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
}
