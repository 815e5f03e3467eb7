/*---fixture
problem: softmax
entry: E9
what: no shift by the maximum when it is called at the addresses of its last call
control: naive
expect: wrong/nonfinite wrong/value wrong/nondeterministic
needs: timing
---*/
#include <math.h>
#include <stdint.h>

static const float *last;
static int64_t last_n;

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    int again = x == last && rows * cols == last_n;
    last = x;
    last_n = rows * cols;
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float *out = y + i * cols, m = 0, s = 0;
        if (!again) {
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
