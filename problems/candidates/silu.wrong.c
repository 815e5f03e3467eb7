#include <stdint.h>

/* Mistake: exp through the exponent bits alone is right to about 3 %. */
static inline float fast_exp(float x)
{
    union {
        int32_t i;
        float f;
    } u;
    x = x < -80.0f ? -80.0f : (x > 80.0f ? 80.0f : x);
    u.i = (int32_t)(12102203.0f * x) + 1064866805;
    return u.f;
}

void silu(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] / (1.0f + fast_exp(-x[i]));
    }
}
