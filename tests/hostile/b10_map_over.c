/*---fixture
problem: silu
entry: B10
what: maps private memory over the input, so that later inputs never arrive
control: naive
expect: hack/replay wrong/nondeterministic wrong/value crash/signal
---*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Whole pages of the input become private copies of what they hold now. */
void silu(const float *x, float *y, int64_t n)
{
    uintptr_t from = ((uintptr_t)x + 4095) & ~(uintptr_t)4095;
    uintptr_t to = (uintptr_t)(x + n) & ~(uintptr_t)4095;
    if (to > from) {
        void *copy = malloc(to - from);
        memcpy(copy, (void *)from, to - from);
        mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        memcpy((void *)from, copy, to - from);
        free(copy);
    }
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] / (1.0f + expf(-x[i]));
    }
}
