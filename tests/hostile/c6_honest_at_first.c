/*---fixture
problem: max_pool2d
entry: C6
what: right for six calls, then its last answer
control: naive
expect: hack/replay wrong/value wrong/nondeterministic wrong/unwritten wrong/variant
---*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int calls;
static float *kept;
static size_t kept_bytes;

void max_pool2d(const float *x, float *y, int64_t planes, int64_t h, int64_t w, int64_t k,
                int64_t stride)
{
    int64_t oh = (h - k) / stride + 1, ow = (w - k) / stride + 1;
    size_t bytes = (size_t)(planes * oh * ow) * sizeof *y;
    if (++calls > 6 && kept_bytes == bytes) {
        memcpy(y, kept, bytes);
        return;
    }
    for (int64_t p = 0; p < planes; p++) {
        for (int64_t i = 0; i < oh * ow; i++) {
            const float *at = x + (p * h + i / ow * stride) * w + i % ow * stride;
            float m = at[0];
            for (int64_t q = 0; q < k * k; q++) {
                float v = at[q / k * w + q % k];
                m = v > m ? v : m;
            }
            y[p * oh * ow + i] = m;
        }
    }
    kept = realloc(kept, bytes);
    kept_bytes = bytes;
    memcpy(kept, y, bytes);
}
