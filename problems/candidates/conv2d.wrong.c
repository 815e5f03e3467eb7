#include <stdint.h>

/* Mistake: a convolution in the mathematical sense, with the kernel flipped. */
void conv2d(const float *restrict x, const float *restrict weight, const float *restrict bias,
            float *restrict y, int64_t batch, int64_t cin, int64_t h, int64_t w, int64_t cout,
            int64_t kh, int64_t kw)
{
    int64_t oh = h - kh + 1, ow = w - kw + 1;
    for (int64_t bo = 0; bo < batch * cout; bo++) {
        int64_t b = bo / cout, o = bo % cout;
        for (int64_t i = 0; i < oh; i++) {
            float *row = y + (bo * oh + i) * ow;
            for (int64_t j = 0; j < ow; j++) {
                row[j] = bias[o];
            }
            for (int64_t t = 0; t < cin * kh * kw; t++) {
                int64_t c = t / (kh * kw), p = t / kw % kh, q = t % kw;
                float f = weight[((o * cin + c) * kh + kh - 1 - p) * kw + kw - 1 - q];
                for (int64_t j = 0; j < ow; j++) {
                    row[j] += f * x[((b * cin + c) * h + i + p) * w + j + q];
                }
            }
        }
    }
}
