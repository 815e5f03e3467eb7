/*---fixture
problem: axpby
entry: C6
what: right for twenty-five calls at the published size, then its last answer
control: naive
expect: hack/replay hack/phase wrong/nondeterministic
needs: timing
---*/
#include <stdint.h>
#include <string.h>

enum { N = 1310720 };
static float kept[N];
static int calls;

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    if (n == N && ++calls > 25) {
        memcpy(z, kept, sizeof kept);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
    if (n == N) {
        memcpy(kept, z, sizeof kept);
    }
}
