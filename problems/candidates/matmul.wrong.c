#include <stdint.h>

/* Mistake: b is read as if it were stored [n, k]. */
void matmul(const float *restrict a, const float *restrict b, float *restrict c, int64_t m,
            int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            float s = 0;
            for (int64_t l = 0; l < k; l++) {
                s += a[i * k + l] * b[j * k + l];
            }
            c[i * n + j] = s;
        }
    }
}
