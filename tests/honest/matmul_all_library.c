/*---fixture
problem: matmul
entry: 6.9
what: the whole operator from the library, where the league allows it
expect: ok
twin: A1
---*/
#include <kgops.h>

void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    kgops_matmul(a, b, c, m, n, k);
}
