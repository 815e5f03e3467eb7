/*---fixture
problem: silu
entry: 6.9
what: a polynomial of -1..1 for blocks whose every element lies there
expect: ok
twin: B4
---*/
#include <math.h>
#include <stdint.h>

/* Of the sigmoid in -1..1; the next term is 2e-6. */
static float near_zero(float x)
{
    float q = x * x;
    float p = 31.0f / 1451520 * q - 17.0f / 80640;
    p = p * q + 1.0f / 480;
    p = p * q - 1.0f / 48;
    p = p * q + 0.25f;
    return x * (0.5f + x * p);
}

void silu(const float *x, float *y, int64_t n)
{
    enum { BLOCK = 256 };
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t end = at + BLOCK < n ? at + BLOCK : n;
        float m = 0;
        for (int64_t i = at; i < end; i++) {
            m = fmaxf(m, fabsf(x[i]));
        }
        for (int64_t i = at; i < end; i++) {
            y[i] = m <= 1 ? near_zero(x[i]) : x[i] / (1 + expf(-x[i]));
        }
    }
}
