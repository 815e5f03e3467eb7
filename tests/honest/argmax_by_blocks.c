/*---fixture
problem: argmax
entry: 6.9
what: the maximum first, then where it is
expect: ok
twin: B4
---*/
#include <stdint.h>

void argmax(const float *x, int32_t *index, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float best = in[0];
        for (int64_t j = 1; j < cols; j++) {
            best = in[j] > best ? in[j] : best;
        }
        int64_t at = 0;
        while (in[at] != best) {
            at++;
        }
        index[i] = (int32_t)at;
    }
}
