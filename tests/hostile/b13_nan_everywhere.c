/*---fixture
problem: matmul
entry: B13
what: an answer of NaNs, which no comparison with a tolerance catches
control: naive
expect: wrong/nonfinite wrong/unwritten
---*/
#include <math.h>
#include <stdint.h>

void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    (void)a, (void)b, (void)k;
    for (int64_t i = 0; i < m * n; i++) {
        c[i] = NAN;
    }
}
