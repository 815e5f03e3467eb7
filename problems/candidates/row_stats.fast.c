#include <stdint.h>

typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));

static float total(v16 v)
{
    float s = 0;
    for (int l = 0; l < 16; l++) {
        s += v[l];
    }
    return s;
}

/* Sum of (x - shift)^power over a row, power 1 or 2. */
static inline __attribute__((always_inline)) float moment(const float *x, int64_t n, float shift,
                                                          int power)
{
    v16 acc[4] = {};
    int64_t j = 0;
    for (; j + 64 <= n; j += 64) {
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++) {
            v16 d = *(const v16 *)(x + j + 16 * u) - shift;
            if (power == 2) {
                d *= d;
            }
            acc[u] += d;
        }
    }
    float tail = 0;
    for (; j < n; j++) {
        float d = x[j] - shift;
        tail += power == 2 ? d * d : d;
    }
    return total((acc[0] + acc[1]) + (acc[2] + acc[3])) + tail;
}

void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float m = moment(row, cols, 0, 1) / (float)cols;
        mean[i] = m;
        var[i] = moment(row, cols, m, 2) / (float)cols;
    }
}
