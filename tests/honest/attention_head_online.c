/*---fixture
problem: attention_head
entry: 6.9
what: keys one by one with a running maximum, no matrix of scores
expect: ok
twin: B4
---*/
#include <math.h>
#include <stdint.h>

void attention_head(const float *q, const float *k, const float *v, float *y, float scale,
                    int64_t seq, int64_t dim)
{
    for (int64_t i = 0; i < seq; i++) {
        float *out = y + i * dim, m = -INFINITY, s = 0;
        for (int64_t l = 0; l < dim; l++) {
            out[l] = 0;
        }
        for (int64_t j = 0; j <= i; j++) {
            float d = 0;
            for (int64_t l = 0; l < dim; l++) {
                d += q[i * dim + l] * k[j * dim + l];
            }
            d *= scale;
            float higher = fmaxf(m, d), keep = expf(m - higher), add = expf(d - higher);
            s = s * keep + add;
            for (int64_t l = 0; l < dim; l++) {
                out[l] = out[l] * keep + add * v[j * dim + l];
            }
            m = higher;
        }
        for (int64_t l = 0; l < dim; l++) {
            out[l] /= s;
        }
    }
}
