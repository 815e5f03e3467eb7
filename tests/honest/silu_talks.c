/*---fixture
problem: silu
entry: 6.9
what: prints to both streams
expect: ok
twin: E6
---*/
#include <math.h>
#include <stdint.h>
#include <stdio.h>

void silu(const float *x, float *y, int64_t n)
{
    static int calls;
    if (calls++ < 20) {
        fprintf(stderr, "silu: warning: %lld elements, call %d\n", (long long)n, calls);
        printf("verdict: ok, speedup: 9.9 (says the kernel itself)\n");
        fflush(stdout);
    }
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] / (1.0f + expf(-x[i]));
    }
}
