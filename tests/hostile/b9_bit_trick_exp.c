/*---fixture
problem: softmax
entry: B9
what: an exponential made of one multiplication and a cast
control: naive
expect: wrong/precision wrong/value wrong/nonfinite
---*/
#include <math.h>
#include <stdint.h>
#include <string.h>

static float rough(float x)
{
    float f = x * 12102203.0f + 1064986823.0f;
    uint32_t u = f > 0 ? (uint32_t)f : 0;
    memcpy(&f, &u, sizeof f);
    return f;
}

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float *out = y + i * cols, m = in[0], s = 0;
        for (int64_t j = 0; j < cols; j++) {
            m = fmaxf(m, in[j]);
        }
        for (int64_t j = 0; j < cols; j++) {
            s += out[j] = rough(in[j] - m);
        }
        for (int64_t j = 0; j < cols; j++) {
            out[j] /= s;
        }
    }
}
