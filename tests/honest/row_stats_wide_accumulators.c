/*---fixture
problem: row_stats
entry: 6.9
what: double accumulators, split over lanes
expect: ok
twin: B9
---*/
#include <stdint.h>

void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        double s[8] = {0}, q[8] = {0}, sum = 0, square = 0;
        for (int64_t j = 0; j < cols; j++) {
            s[j & 7] += in[j];
        }
        for (int l = 0; l < 8; l++) {
            sum += s[l];
        }
        double m = sum / (double)cols;
        for (int64_t j = 0; j < cols; j++) {
            q[j & 7] += (in[j] - m) * (in[j] - m);
        }
        for (int l = 0; l < 8; l++) {
            square += q[l];
        }
        mean[i] = (float)m;
        var[i] = (float)(square / (double)cols);
    }
}
