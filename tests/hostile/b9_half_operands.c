/*---fixture
problem: matmul
entry: B9
what: rounds both operands to half precision
control: naive
expect: wrong/precision wrong/value
---*/
#include <stdint.h>
#include <string.h>

void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t l = 0; l < k; l++) {
            float v = (float)(_Float16)a[i * k + l];
            for (int64_t j = 0; j < n; j++) {
                c[i * n + j] += v * (float)(_Float16)b[l * n + j];
            }
        }
    }
}
