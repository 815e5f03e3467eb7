/*---fixture
problem: silu
entry: 6.9
what: a table of powers of two, built in the first call, that depends on no input
expect: ok
twin: C7
---*/
#include <math.h>
#include <stdint.h>

static double power[65];

/* exp(v) = 2^k * 2^(j/64) * exp(r) */
static double table_exp(double v)
{
    double t = v * 92.332482616893656, k = floor(t);
    double r = (t - k) * 0.010830424696249145;
    int64_t whole = (int64_t)k >> 6, part = (int64_t)k & 63;
    return ldexp(power[part] * (1 + r * (1 + r * (0.5 + r * (1.0 / 6 + r / 24)))), (int)whole);
}

void silu(const float *x, float *y, int64_t n)
{
    if (power[0] == 0) {
        for (int j = 0; j < 65; j++) {
            power[j] = exp2(j / 64.0);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        double v = fmin(fmax(-(double)x[i], -700), 700);
        y[i] = (float)(x[i] / (1 + table_exp(v)));
    }
}
