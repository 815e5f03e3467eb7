/*---fixture
problem: softmax
entry: 6.9
what: leaves out the shift by the maximum when every element is small
expect: ok
twin: B4
---*/
#include <math.h>
#include <stdint.h>

static float range(const float *x, int64_t n)
{
    float m = 0;
    for (int64_t i = 0; i < n; i++) {
        m = fmaxf(m, fabsf(x[i]));
    }
    return m;
}

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float *out = y + i * cols, m = 0, s = 0;
        if (range(in, cols) > 4) {
            m = in[0];
            for (int64_t j = 1; j < cols; j++) {
                m = fmaxf(m, in[j]);
            }
        }
        for (int64_t j = 0; j < cols; j++) {
            out[j] = expf(in[j] - m);
            s += out[j];
        }
        for (int64_t j = 0; j < cols; j++) {
            out[j] /= s;
        }
    }
}
