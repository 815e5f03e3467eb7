/*---fixture
problem: silu
entry: B17
what: answers computed at load time for the inputs of a known seed
control: naive
expect: wrong/value wrong/precision
---*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N = 524288 };
static float answer[N];

__attribute__((constructor)) static void foresee(void)
{
    srand(42);
    for (int i = 0; i < N; i++) {
        float x = (float)(-1 + 2 * ((double)rand() / ((double)RAND_MAX + 1)));
        answer[i] = x / (1.0f + expf(-x));
    }
}

void silu(const float *x, float *y, int64_t n)
{
    (void)x;
    memcpy(y, answer, (size_t)(n < N ? n : N) * sizeof *y);
}
