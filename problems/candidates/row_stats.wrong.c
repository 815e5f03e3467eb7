#include <stdint.h>

/* Mistake: the variance is divided by cols - 1. */
void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float m = 0, s = 0;
        for (int64_t j = 0; j < cols; j++) {
            m += row[j];
        }
        m /= (float)cols;
        for (int64_t j = 0; j < cols; j++) {
            s += (row[j] - m) * (row[j] - m);
        }
        mean[i] = m;
        var[i] = s / (float)(cols - 1);
    }
}
