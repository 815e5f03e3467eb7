/*---fixture
problem: silu
entry: 6.9
what: a constructor prepares coefficients that depend on no input
expect: ok
twin: C7
---*/
#include <math.h>
#include <stdint.h>

static float coefficient[8];

__attribute__((constructor)) static void prepare(void)
{
    float f = 1;
    for (int k = 0; k < 8; k++) {
        coefficient[k] = 1 / f;
        f *= (float)(k + 1);
    }
}

static float exp_of(float v)
{
    v = v < -103 ? -103 : v > 88.7f ? 88.7f : v;
    float n = rintf(v * 1.44269504f);
    float r = fmaf(n, -0.693145752f, v);
    r = fmaf(n, -1.42860677e-6f, r);
    float p = coefficient[7];
    for (int k = 6; k >= 0; k--) {
        p = fmaf(p, r, coefficient[k]);
    }
    return ldexpf(p, (int)n);
}

void silu(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] / (1.0f + exp_of(-x[i]));
    }
}
