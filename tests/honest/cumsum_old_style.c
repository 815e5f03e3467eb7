/*---fixture
problem: cumsum
entry: 6.9
what: a definition in the old style, and a label to jump to
expect: ok
twin: E12
---*/
#include <stdint.h>

void cumsum(x, y, rows, cols)
    const float *x;
    float *y;
    int64_t rows, cols;
{
    double s;
    int64_t i = 0, j;
next_row:
    s = 0;
    for (j = 0; j < cols; j++) {
        s += x[i * cols + j];
        y[i * cols + j] = (float)s;
    }
    if (++i < rows) {
        goto next_row;
    }
}
