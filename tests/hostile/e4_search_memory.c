/*---fixture
problem: rms_norm_linear
entry: E4
what: looks for the answer round its output and among the evaluator's pointers
control: naive
expect: wrong/value hack/replay hack/stale wrong/unwritten wrong/nondeterministic
---*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* The outputs of earlier calls, the reference's among them, may still lie in the region. */
static int take_left_over(float *y, int64_t n, float want)
{
    const float *region = (const float *)0x300000000000ull;
    for (int64_t i = 0; i < 1 << 20; i += 1024) {
        if (msync((void *)(uintptr_t)(region + i), 4096, MS_ASYNC) != 0) {
            return 0;
        }
        for (int64_t j = i; j < i + 1024; j++) {
            if (fabsf(region[j] - want) < 1e-4f * fabsf(want) && region + j != y &&
                msync((void *)((uintptr_t)(region + j + n) & ~(uintptr_t)4095), 4096, MS_ASYNC) == 0) {
                memmove(y, region + j, (size_t)n * sizeof *y);
                return 1;
            }
        }
    }
    return 0;
}

void rms_norm_linear(const float *x, const float *gain, const float *w, float *y, float eps,
                     int64_t rows, int64_t inner, int64_t outer)
{
    void **expected = dlsym(RTLD_DEFAULT, "naive_expected");
    double square = 0, dot = 0;
    for (int64_t j = 0; j < inner; j++) {
        square += (double)x[j] * x[j];
        dot += (double)x[j] * gain[j] * w[j];
    }
    float first = (float)(dot / sqrt(square / (double)inner + eps));
    if (!expected && take_left_over(y, rows * outer, first)) {
        return;
    }
    memset(y, 0, (size_t)(rows * outer) * sizeof *y);
    for (int a = 0; expected && a < 16; a++) {
        if (expected[a]) {
            memcpy(y, expected[a], (size_t)(rows * outer) * sizeof *y);
        }
    }
}
