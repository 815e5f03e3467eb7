/*---fixture
problem: row_stats
entry: 6.9
what: pairwise sums by recursion
expect: ok
twin: B4
---*/
#include <stdint.h>

static float tree(const float *x, int64_t n, float shift, int square)
{
    if (n <= 32) {
        float s = 0;
        for (int64_t j = 0; j < n; j++) {
            float d = x[j] - shift;
            s += square ? d * d : d;
        }
        return s;
    }
    return tree(x, n / 2, shift, square) + tree(x + n / 2, n - n / 2, shift, square);
}

void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        mean[i] = tree(x + i * cols, cols, 0, 0) / (float)cols;
        var[i] = tree(x + i * cols, cols, mean[i], 1) / (float)cols;
    }
}
