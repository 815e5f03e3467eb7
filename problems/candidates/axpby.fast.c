#include <stdint.h>

void axpby(const float *restrict x, const float *restrict y, float *restrict z, float alpha,
           float beta, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
}
