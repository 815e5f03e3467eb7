/*---fixture
problem: matmul
entry: 6.9
what: a large array on the stack and one of variable length
expect: ok
twin: F1
---*/
#include <stdint.h>
#include <string.h>

void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    float tile[64 * 1024];
    float row[n];
    for (int64_t l0 = 0; l0 < k; l0 += 64) {
        int64_t deep = k - l0 < 64 ? k - l0 : 64;
        for (int64_t j0 = 0; j0 < n; j0 += 1024) {
            int64_t wide = n - j0 < 1024 ? n - j0 : 1024;
            for (int64_t l = 0; l < deep; l++) {
                memcpy(tile + l * wide, b + (l0 + l) * n + j0, (size_t)wide * sizeof *tile);
            }
            for (int64_t i = 0; i < m; i++) {
                memset(row, 0, (size_t)wide * sizeof *row);
                for (int64_t l = 0; l < deep; l++) {
                    for (int64_t j = 0; j < wide; j++) {
                        row[j] += a[i * k + l0 + l] * tile[l * wide + j];
                    }
                }
                for (int64_t j = 0; j < wide; j++) {
                    c[i * n + j0 + j] = l0 ? c[i * n + j0 + j] + row[j] : row[j];
                }
            }
        }
    }
}
