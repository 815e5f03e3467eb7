/*---fixture
problem: conv2d
entry: 6.9
what: columns of the image in memory from malloc, then a product
expect: ok
twin: D11
---*/
#include <stdint.h>
#include <stdlib.h>

void conv2d(const float *x, const float *weight, const float *bias, float *y, int64_t batch,
            int64_t cin, int64_t h, int64_t w, int64_t cout, int64_t kh, int64_t kw)
{
    int64_t oh = h - kh + 1, ow = w - kw + 1, depth = cin * kh * kw, area = oh * ow;
    float *column = malloc((size_t)(depth * area) * sizeof *column);
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t d = 0; d < depth; d++) {
            const float *at = x + (b * cin + d / (kh * kw)) * h * w + d / kw % kh * w + d % kw;
            for (int64_t i = 0; i < area; i++) {
                column[d * area + i] = at[i / ow * w + i % ow];
            }
        }
        for (int64_t o = 0; o < cout; o++) {
            float *out = y + (b * cout + o) * area;
            for (int64_t i = 0; i < area; i++) {
                out[i] = bias[o];
            }
            for (int64_t d = 0; d < depth; d++) {
                for (int64_t i = 0; i < area; i++) {
                    out[i] += weight[o * depth + d] * column[d * area + i];
                }
            }
        }
    }
    free(column);
}
