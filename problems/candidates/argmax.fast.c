#include <stdint.h>

typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t v16i __attribute__((vector_size(64), aligned(4), may_alias));

static inline v16 vmax(v16 a, v16 b)
{
    v16i gt = a > b;
    return (v16)((gt & (v16i)a) | (~gt & (v16i)b));
}

static float row_max(const float *x, int64_t n)
{
    int64_t j = 0;
    float best = x[0];
    if (n >= 64) {
        v16 m[4];
        for (int u = 0; u < 4; u++) {
            m[u] = *(const v16 *)(x + 16 * u);
        }
        for (j = 64; j + 64 <= n; j += 64) {
#pragma GCC unroll 4
            for (int u = 0; u < 4; u++) {
                m[u] = vmax(*(const v16 *)(x + j + 16 * u), m[u]);
            }
        }
        v16 all = vmax(vmax(m[0], m[1]), vmax(m[2], m[3]));
        for (int l = 0; l < 16; l++) {
            best = all[l] > best ? all[l] : best;
        }
    }
    for (; j < n; j++) {
        best = x[j] > best ? x[j] : best;
    }
    return best;
}

/* First block of 64 that holds the value, then the column within it. */
static int64_t find(const float *x, int64_t n, float value)
{
    int64_t j = 0;
    for (; j + 64 <= n; j += 64) {
        v16i hit = (*(const v16 *)(x + j) == value) | (*(const v16 *)(x + j + 16) == value) |
                   (*(const v16 *)(x + j + 32) == value) | (*(const v16 *)(x + j + 48) == value);
        int32_t any = 0;
        for (int l = 0; l < 16; l++) {
            any |= hit[l];
        }
        if (any) {
            break;
        }
    }
    while (j < n - 1 && x[j] != value) {
        j++;
    }
    return j;
}

void argmax(const float *x, int32_t *index, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        index[i] = (int32_t)find(row, cols, row_max(row, cols));
    }
}
