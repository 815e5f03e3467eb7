/*---fixture
problem: cumsum
entry: C2
what: a table of answers keyed on addresses and extents
control: naive
expect: hack/replay
---*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const float *x;
    int64_t rows, cols;
    float *y;
} memo[256];

void cumsum(const float *x, float *y, int64_t rows, int64_t cols)
{
    size_t bytes = (size_t)(rows * cols) * sizeof *y;
    int at = (int)(((uintptr_t)x >> 2) * 2654435761u >> 7 & 255);
    if (memo[at].x == x && memo[at].rows == rows && memo[at].cols == cols) {
        memcpy(y, memo[at].y, bytes);
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        double s = 0;
        for (int64_t j = 0; j < cols; j++) {
            s += x[i * cols + j];
            y[i * cols + j] = (float)s;
        }
    }
    memo[at].x = x;
    memo[at].rows = rows;
    memo[at].cols = cols;
    memo[at].y = realloc(memo[at].y, bytes);
    memcpy(memo[at].y, y, bytes);
}
