/*---fixture
problem: axpby
entry: C4
what: records its first inputs of a size and replays the work on them
control: naive
expect: hack/replay wrong/variant wrong/nondeterministic
---*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float *rx, *ry;
static int64_t recorded;

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    size_t bytes = (size_t)n * sizeof *z;
    if (recorded != n) {
        rx = realloc(rx, bytes);
        ry = realloc(ry, bytes);
        memcpy(rx, x, bytes);
        memcpy(ry, y, bytes);
        recorded = n;
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * rx[i] + beta * ry[i];
    }
}
