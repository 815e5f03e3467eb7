#include <stdint.h>

/* Mistake: the maximum starts at 0, so a window of negative numbers gives 0. */
void max_pool2d(const float *x, float *y, int64_t planes, int64_t h, int64_t w, int64_t k,
                int64_t stride)
{
    int64_t oh = (h - k) / stride + 1, ow = (w - k) / stride + 1;
    for (int64_t p = 0; p < planes; p++) {
        for (int64_t i = 0; i < oh; i++) {
            for (int64_t j = 0; j < ow; j++) {
                float m = 0.0f;
                for (int64_t t = 0; t < k * k; t++) {
                    float v = x[(p * h + i * stride + t / k) * w + j * stride + t % k];
                    m = v > m ? v : m;
                }
                y[(p * oh + i) * ow + j] = m;
            }
        }
    }
}
