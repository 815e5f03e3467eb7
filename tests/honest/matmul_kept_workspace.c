/*---fixture
problem: matmul
entry: 6.9
what: a workspace kept between calls, keyed on its size, filled anew each time
expect: ok
twin: C3
---*/
#include <stdint.h>
#include <stdlib.h>

static float *packed;
static int64_t capacity;

void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    if (capacity < k * n) {
        free(packed);
        packed = malloc((size_t)(k * n) * sizeof *packed);
        capacity = k * n;
    }
    for (int64_t l = 0; l < k; l++) {
        for (int64_t j = 0; j < n; j++) {
            packed[j * k + l] = b[l * n + j];
        }
    }
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            float s[8] = {0};
            int64_t l = 0;
            for (; l + 8 <= k; l += 8) {
                for (int q = 0; q < 8; q++) {
                    s[q] += a[i * k + l + q] * packed[j * k + l + q];
                }
            }
            float sum = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
            for (; l < k; l++) {
                sum += a[i * k + l] * packed[j * k + l];
            }
            c[i * n + j] = sum;
        }
    }
}
