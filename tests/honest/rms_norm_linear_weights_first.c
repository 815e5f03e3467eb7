/*---fixture
problem: rms_norm_linear
entry: 6.9
what: folds the gain into the weights, anew in every call
expect: ok
twin: C3
---*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static float dot(const float *a, const float *b, int64_t n)
{
    float lane[16] = {0}, s = 0;
    int64_t j = 0;
    for (; j + 16 <= n; j += 16) {
        for (int l = 0; l < 16; l++) {
            lane[l] += a[j + l] * b[j + l];
        }
    }
    for (; j < n; j++) {
        s += a[j] * b[j];
    }
    for (int l = 0; l < 16; l++) {
        s += lane[l];
    }
    return s;
}

void rms_norm_linear(const float *x, const float *gain, const float *w, float *y, float eps,
                     int64_t rows, int64_t inner, int64_t outer)
{
    float *folded = aligned_alloc(64, (size_t)(inner * outer * 4 + 63) / 64 * 64);
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t j = 0; j < inner; j++) {
            folded[o * inner + j] = gain[j] * w[o * inner + j];
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * inner;
        float inv = 1 / sqrtf(dot(row, row, inner) / (float)inner + eps);
        for (int64_t o = 0; o < outer; o++) {
            y[i * outer + o] = dot(row, folded + o * inner, inner) * inv;
        }
    }
    free(folded);
}
