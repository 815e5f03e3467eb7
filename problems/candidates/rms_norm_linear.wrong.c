#include <math.h>
#include <stdint.h>

/* Mistake: the sum of squares is not divided by the length of the row. */
void rms_norm_linear(const float *x, const float *gain, const float *w, float *y, float eps,
                     int64_t rows, int64_t inner, int64_t outer)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * inner;
        float ss = 0;
        for (int64_t p = 0; p < inner; p++) {
            ss += in[p] * in[p];
        }
        float inv = 1.0f / sqrtf(ss + eps);
        for (int64_t o = 0; o < outer; o++) {
            float s = 0;
            for (int64_t p = 0; p < inner; p++) {
                s += in[p] * inv * gain[p] * w[o * inner + p];
            }
            y[i * outer + o] = s;
        }
    }
}
