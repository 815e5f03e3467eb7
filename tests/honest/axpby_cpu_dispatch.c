/*---fixture
problem: axpby
entry: 6.9
what: picks a version by what the processor supports, once
expect: ok
twin: A5
---*/
#include <stdint.h>

typedef void axpby_fn(const float *, const float *, float *, float, float, int64_t);

__attribute__((noinline)) static void plain(const float *x, const float *y, float *z, float a,
                                            float b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        z[i] = a * x[i] + b * y[i];
    }
}

__attribute__((noinline, target("avx2,fma"))) static void wide(const float *x, const float *y,
                                                               float *z, float a, float b,
                                                               int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        z[i] = a * x[i] + b * y[i];
    }
}

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static axpby_fn *chosen;
    if (!chosen) {
        __builtin_cpu_init();
        chosen = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? wide : plain;
    }
    chosen(x, y, z, alpha, beta, n);
}
