/*---fixture
problem: axpby
entry: B12
what: skips its work when a bit of the time stamp counter says so
control: naive
expect: wrong/nondeterministic wrong/value wrong/unwritten hack/replay
needs: timing
---*/
#include <stdint.h>
#include <x86intrin.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static int calls;
    int64_t from = calls++ > 0 && (__rdtsc() >> 6 & 7) == 0 ? n / 2 : 0;
    for (int64_t i = 0; i < from; i++) {
        z[i] = 0;
    }
    for (int64_t i = from; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
}
