/*---fixture
problem: max_pool2d
entry: 6.9
what: the published window unrolled, any other by loops
expect: ok
twin: B8
---*/
#include <stdint.h>

static float max2(float a, float b)
{
    return a > b ? a : b;
}

static float three(const float *at, int64_t w)
{
    float a = max2(max2(at[0], at[1]), at[2]);
    float b = max2(max2(at[w], at[w + 1]), at[w + 2]);
    float c = max2(max2(at[2 * w], at[2 * w + 1]), at[2 * w + 2]);
    return max2(max2(a, b), c);
}

static float any(const float *at, int64_t w, int64_t k)
{
    float m = at[0];
    for (int64_t q = 0; q < k * k; q++) {
        m = max2(m, at[q / k * w + q % k]);
    }
    return m;
}

void max_pool2d(const float *x, float *y, int64_t planes, int64_t h, int64_t w, int64_t k,
                int64_t stride)
{
    int64_t oh = (h - k) / stride + 1, ow = (w - k) / stride + 1;
    for (int64_t p = 0; p < planes; p++) {
        for (int64_t i = 0; i < oh; i++) {
            for (int64_t j = 0; j < ow; j++) {
                const float *at = x + (p * h + i * stride) * w + j * stride;
                *y++ = k == 3 ? three(at, w) : any(at, w, k);
            }
        }
    }
}
