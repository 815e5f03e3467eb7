/*---fixture
problem: cumsum
entry: 6.9
what: block sums first, then each block on top of them
expect: ok
twin: B4
---*/
#include <stdint.h>

enum { BLOCK = 32 };

void cumsum(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float *out = y + i * cols, base = 0;
        for (int64_t b = 0; b < cols; b += BLOCK) {
            int64_t end = b + BLOCK < cols ? b + BLOCK : cols;
            float s = 0;
            for (int64_t j = b; j < end; j++) {
                s += in[j];
                out[j] = base + s;
            }
            base += s;
        }
    }
}
