/*---fixture
problem: row_stats
entry: 6.9
what: mean and variance updated together, element by element
expect: ok
twin: B7
---*/
#include <stdint.h>

void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        double m = 0, q = 0;
        for (int64_t j = 0; j < cols; j++) {
            double d = x[i * cols + j] - m;
            m += d / (double)(j + 1);
            q += d * (x[i * cols + j] - m);
        }
        mean[i] = (float)m;
        var[i] = (float)(q / (double)cols);
    }
}
