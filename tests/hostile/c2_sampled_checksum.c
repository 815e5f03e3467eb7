/*---fixture
problem: softmax
entry: C2
what: answers again when sixteen sampled elements are the same
control: naive
expect: hack/replay wrong/variant wrong/value wrong/nondeterministic
---*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int64_t last_n;
static uint64_t last_sum;
static float *last;

static uint64_t sample(const float *x, int64_t n)
{
    uint64_t h = (uint64_t)n;
    for (int64_t k = 0; k < 16; k++) {
        uint32_t u;
        memcpy(&u, x + k * (n - 1) / 15, sizeof u);
        h = (h ^ u) * 0x9e3779b97f4a7c15u;
    }
    return h;
}

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    int64_t n = rows * cols;
    uint64_t sum = sample(x, n);
    if (n == last_n && sum == last_sum) {
        memcpy(y, last, (size_t)n * sizeof *y);
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float *out = y + i * cols, m = in[0];
        double s = 0;
        for (int64_t j = 0; j < cols; j++) {
            m = fmaxf(m, in[j]);
        }
        for (int64_t j = 0; j < cols; j++) {
            s += out[j] = expf(in[j] - m);
        }
        for (int64_t j = 0; j < cols; j++) {
            out[j] = (float)(out[j] / s);
        }
    }
    last_n = n;
    last_sum = sum;
    last = realloc(last, (size_t)n * sizeof *y);
    memcpy(last, y, (size_t)n * sizeof *y);
}
