/*---fixture
problem: matmul
entry: 6.9
what: the sum in four parts, added in another order
expect: ok
twin: B12
---*/
#include <stdint.h>
#include <string.h>

void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (int64_t part = 3; part >= 0; part--) {
        int64_t from = k * part / 4, to = k * (part + 1) / 4;
        for (int64_t i = 0; i < m; i++) {
            for (int64_t l = from; l < to; l++) {
                for (int64_t j = 0; j < n; j++) {
                    c[i * n + j] += a[i * k + l] * b[l * n + j];
                }
            }
        }
    }
}
