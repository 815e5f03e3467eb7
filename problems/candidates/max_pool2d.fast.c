#include <stdint.h>
#include <stdlib.h>

/* m = max over k of the arrays x, x + step, x + 2 step ... [n]; both loops vectorise. */
static void max_of(const float *restrict x, int64_t step, int64_t k, float *restrict m, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        m[j] = x[j];
    }
    for (int64_t q = 1; q < k; q++) {
        const float *shifted = x + q * step;
        for (int64_t j = 0; j < n; j++) {
            m[j] = shifted[j] > m[j] ? shifted[j] : m[j];
        }
    }
}

/* The common window, without a pass over memory per tap. */
static void max_of3(const float *restrict x, int64_t step, float *restrict m, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        float a = x[j], b = x[j + step], c = x[j + 2 * step];
        a = b > a ? b : a;
        m[j] = c > a ? c : a;
    }
}

/* Separable: the maximum down every column of the band, then along it, then every stride-th. */
void max_pool2d(const float *x, float *y, int64_t planes, int64_t h, int64_t w, int64_t k,
                int64_t stride)
{
    int64_t oh = (h - k) / stride + 1, ow = (w - k) / stride + 1;
    float *down = malloc((size_t)w * 2 * sizeof *down);
    if (!down) {
        return;
    }
    float *along = down + w;
    for (int64_t p = 0; p < planes; p++) {
        for (int64_t i = 0; i < oh; i++) {
            const float *band = x + (p * h + i * stride) * w;
            float *out = y + (p * oh + i) * ow;
            if (k == 3) {
                max_of3(band, w, down, w);
                max_of3(down, 1, along, w - 2);
            } else {
                max_of(band, w, k, down, w);
                max_of(down, 1, k, along, w - k + 1);
            }
            for (int64_t j = 0; j < ow; j++) {
                out[j] = along[j * stride];
            }
        }
    }
    free(down);
}
