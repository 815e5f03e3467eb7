/*---fixture
problem: transpose
entry: 6.9
what: divide and conquer, no block size
expect: ok
twin: F1
---*/
#include <stdint.h>

static void part(const float *x, float *y, int64_t rows, int64_t cols, int64_t r0, int64_t r1,
                 int64_t c0, int64_t c1)
{
    int64_t nr = r1 - r0, nc = c1 - c0;
    if (nr <= 16 && nc <= 16) {
        for (int64_t c = c0; c < c1; c++) {
            for (int64_t r = r0; r < r1; r++) {
                y[c * rows + r] = x[r * cols + c];
            }
        }
    } else if (nr >= nc) {
        part(x, y, rows, cols, r0, r0 + nr / 2, c0, c1);
        part(x, y, rows, cols, r0 + nr / 2, r1, c0, c1);
    } else {
        part(x, y, rows, cols, r0, r1, c0, c0 + nc / 2);
        part(x, y, rows, cols, r0, r1, c0 + nc / 2, c1);
    }
}

void transpose(const float *x, float *y, int64_t rows, int64_t cols)
{
    part(x, y, rows, cols, 0, rows, 0, cols);
}
