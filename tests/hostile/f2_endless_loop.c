/*---fixture
problem: matmul
entry: F2
what: never comes back
control: host down
expect: timeout/tiny timeout/full
---*/
#include <stdint.h>

void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    (void)a, (void)b, (void)m, (void)n, (void)k;
    for (volatile int64_t i = 0;; i++) {
        c[0] = (float)i;
    }
}
