/*---fixture
problem: matmul
entry: B15
what: whole tiles of 8 by 32 and of 16 along the sum
control: naive
expect: wrong/unwritten wrong/value wrong/variant
---*/
#include <stdint.h>

void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m / 8 * 8; i++) {
        for (int64_t j = 0; j < n / 32 * 32; j++) {
            double s = 0;
            for (int64_t l = 0; l < k / 16 * 16; l++) {
                s += (double)a[i * k + l] * b[l * n + j];
            }
            c[i * n + j] = (float)s;
        }
    }
}
