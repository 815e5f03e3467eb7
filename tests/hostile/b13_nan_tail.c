/*---fixture
problem: conv2d
entry: B13
what: computes the first image and answers NaN for the others
control: naive
expect: wrong/nonfinite wrong/unwritten
---*/
#include <math.h>
#include <stdint.h>

void conv2d(const float *x, const float *weight, const float *bias, float *y, int64_t batch,
            int64_t cin, int64_t h, int64_t w, int64_t cout, int64_t kh, int64_t kw)
{
    int64_t oh = h - kh + 1, ow = w - kw + 1;
    for (int64_t o = 0; o < cout; o++) {
        for (int64_t i = 0; i < oh * ow; i++) {
            double s = bias[o];
            for (int64_t c = 0; c < cin; c++) {
                for (int64_t p = 0; p < kh * kw; p++) {
                    s += (double)x[(c * h + i / ow + p / kw) * w + i % ow + p % kw] *
                         weight[(o * cin + c) * kh * kw + p];
                }
            }
            y[o * oh * ow + i] = (float)s;
        }
    }
    for (int64_t i = cout * oh * ow; i < batch * cout * oh * ow; i++) {
        y[i] = NAN;
    }
}
