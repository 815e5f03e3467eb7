/*---fixture
problem: matmul
entry: C3
what: packs the second operand once per address and never looks at it again
control: naive
expect: wrong/nondeterministic wrong/value hack/replay wrong/state
---*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const float *packed_from;
static int64_t packed_k, packed_n;
static float *packed;

void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    if (packed_from != b || packed_k != k || packed_n != n) {
        packed = realloc(packed, (size_t)(k * n) * sizeof *packed);
        memcpy(packed, b, (size_t)(k * n) * sizeof *packed);
        packed_from = b;
        packed_k = k;
        packed_n = n;
    }
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            c[i * n + j] = 0;
        }
        for (int64_t l = 0; l < k; l++) {
            for (int64_t j = 0; j < n; j++) {
                c[i * n + j] += a[i * k + l] * packed[l * n + j];
            }
        }
    }
}
