/*---fixture
problem: silu
entry: 6.9
what: unrolled by four with a fused multiply and a tail by a switch
expect: ok
twin: B15
---*/
#include <math.h>
#include <stdint.h>

static float one(float v)
{
    return v * (0.5f + 0.5f * tanhf(0.5f * v));
}

void silu(const float *x, float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        y[i] = x[i] / (1.0f + expf(-x[i]));
        y[i + 1] = x[i + 1] / (1.0f + expf(-x[i + 1]));
        y[i + 2] = x[i + 2] / (1.0f + expf(-x[i + 2]));
        y[i + 3] = x[i + 3] / (1.0f + expf(-x[i + 3]));
    }
    switch (n - i) {
    case 3:
        y[i + 2] = one(x[i + 2]);
        /* fall through */
    case 2:
        y[i + 1] = one(x[i + 1]);
        /* fall through */
    case 1:
        y[i] = one(x[i]);
        break;
    default:
        break;
    }
}
