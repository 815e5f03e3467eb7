/*---fixture
problem: axpby
entry: 6.9
what: an aligned path where pointers are aligned, scalar elsewhere
expect: ok
twin: A5
---*/
#include <stdint.h>

_Static_assert(sizeof(float) == 4, "float has 32 bits");

static void aligned(const float *restrict x, const float *restrict y, float *restrict z, float a,
                    float b, int64_t n)
{
    const float *ax = __builtin_assume_aligned(x, 64), *ay = __builtin_assume_aligned(y, 64);
    float *az = __builtin_assume_aligned(z, 64);
    for (int64_t i = 0; i < n; i++) {
        az[i] = a * ax[i] + b * ay[i];
    }
}

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    if ((((uintptr_t)x | (uintptr_t)y | (uintptr_t)z) & 63) == 0) {
        aligned(x, y, z, alpha, beta, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
}
