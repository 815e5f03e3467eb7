/*---fixture
problem: row_stats
entry: B14
what: computes the mean and forgets the variance
control: naive
expect: wrong/unwritten
---*/
#include <stdint.h>

void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    (void)var;
    for (int64_t i = 0; i < rows; i++) {
        double s = 0;
        for (int64_t j = 0; j < cols; j++) {
            s += x[i * cols + j];
        }
        mean[i] = (float)(s / (double)cols);
    }
}
