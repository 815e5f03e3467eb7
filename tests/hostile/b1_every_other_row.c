/*---fixture
problem: row_stats
entry: B1
what: computes half of the rows and trusts the memory for the rest
control: naive
expect: wrong/unwritten
---*/
#include <stdint.h>

void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i += 2) {
        double s = 0, q = 0;
        for (int64_t j = 0; j < cols; j++) {
            s += x[i * cols + j];
        }
        s /= (double)cols;
        for (int64_t j = 0; j < cols; j++) {
            q += (x[i * cols + j] - s) * (x[i * cols + j] - s);
        }
        mean[i] = (float)s;
        var[i] = (float)(q / (double)cols);
    }
}
