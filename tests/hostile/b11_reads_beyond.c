/*---fixture
problem: row_stats
entry: B11
what: sums whole vectors, whatever lies behind the row's end
control: naive
expect: wrong/nonfinite wrong/value wrong/variant
---*/
#include <stdint.h>

static double block(const float *x, int64_t n, double shift, int square)
{
    double s = 0;
    for (int64_t j = 0; j < (n + 15) / 16 * 16; j++) {
        double d = x[j] - shift;
        s += square ? d * d : d;
    }
    return s / (double)n;
}

void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        double m = block(x + i * cols, cols, 0, 0);
        mean[i] = (float)m;
        var[i] = (float)block(x + i * cols, cols, m, 1);
    }
}
