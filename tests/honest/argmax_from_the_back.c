/*---fixture
problem: argmax
entry: 6.9
what: runs backwards and lets the earlier of two equals win
expect: ok
twin: B10
---*/
#include <stdint.h>

void argmax(const float *x, int32_t *index, int64_t rows, int64_t cols)
{
    int64_t i = rows;
    while (i-- > 0) {
        int64_t j = cols - 1, at = j;
        while (j-- > 0) {
            if (x[i * cols + j] >= x[i * cols + at]) {
                at = j;
            }
        }
        index[i] = (int32_t)at;
    }
}
