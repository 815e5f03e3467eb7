/*---fixture
problem: conv2d
entry: 6.9
what: seven nested loops with the image's row innermost
expect: ok
twin: B8
---*/
#include <stdint.h>

void conv2d(const float *x, const float *weight, const float *bias, float *y, int64_t batch,
            int64_t cin, int64_t h, int64_t w, int64_t cout, int64_t kh, int64_t kw)
{
    int64_t oh = h - kh + 1, ow = w - kw + 1;
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t o = 0; o < cout; o++) {
            for (int64_t i = 0; i < oh; i++, y += ow) {
                for (int64_t j = 0; j < ow; j++) {
                    y[j] = bias[o];
                }
                for (int64_t c = 0; c < cin; c++) {
                    for (int64_t p = 0; p < kh; p++) {
                        const float *row = x + ((b * cin + c) * h + i + p) * w;
                        for (int64_t q = 0; q < kw; q++) {
                            float f = weight[((o * cin + c) * kh + p) * kw + q];
                            for (int64_t j = 0; j < ow; j++) {
                                y[j] += f * row[j + q];
                            }
                        }
                    }
                }
            }
        }
    }
}
