/*---fixture
problem: max_pool2d
entry: 6.9
what: maxima along rows, then along columns, through a static workspace
expect: ok
twin: C9
---*/
#include <stdint.h>
#include <stdlib.h>

static float *line;
static int64_t room;

void max_pool2d(const float *x, float *y, int64_t planes, int64_t h, int64_t w, int64_t k,
                int64_t stride)
{
    int64_t oh = (h - k) / stride + 1, ow = (w - k) / stride + 1;
    if (room < h * ow) {
        line = realloc(line, (size_t)(h * ow) * sizeof *line);
        room = h * ow;
    }
    for (int64_t p = 0; p < planes; p++, x += h * w) {
        for (int64_t i = 0; i < h * ow; i++) {
            const float *at = x + i / ow * w + i % ow * stride;
            float m = at[0];
            for (int64_t q = 1; q < k; q++) {
                m = at[q] > m ? at[q] : m;
            }
            line[i] = m;
        }
        for (int64_t i = 0; i < oh * ow; i++) {
            const float *at = line + i / ow * stride * ow + i % ow;
            float m = at[0];
            for (int64_t q = 1; q < k; q++) {
                m = at[q * ow] > m ? at[q * ow] : m;
            }
            *y++ = m;
        }
    }
}
