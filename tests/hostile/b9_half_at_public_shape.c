/*---fixture
problem: matmul
entry: B9
what: half precision at the published shape only, exact elsewhere
control: naive
expect: wrong/precision wrong/value
---*/
#include <stdint.h>
#include <string.h>

void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    int cheap = m == 160 && n == 224 && k == 192;
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t l = 0; l < k; l++) {
            float v = a[i * k + l];
            v = cheap ? (float)(_Float16)v : v;
            for (int64_t j = 0; j < n; j++) {
                c[i * n + j] += v * b[l * n + j];
            }
        }
    }
}
