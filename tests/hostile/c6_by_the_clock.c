/*---fixture
problem: silu
entry: C6
what: right during the first thirty milliseconds of its process
control: naive
expect: hack/replay hack/phase wrong/nondeterministic wrong/value
needs: timing
---*/
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { N = 524288 };
static float kept[N];
static int calls;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void silu(const float *x, float *y, int64_t n)
{
    static double born;
    born = born > 0 ? born : now();
    if (n == N && calls > 0 && now() - born > 0.03) {
        memcpy(y, kept, sizeof kept);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] / (1.0f + expf(-x[i]));
    }
    if (n == N) {
        calls++;
        memcpy(kept, y, sizeof kept);
    }
}
