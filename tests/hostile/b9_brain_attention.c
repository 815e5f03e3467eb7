/*---fixture
problem: attention_head
entry: B9
what: truncates keys, queries and values to 16 bits
control: naive
expect: wrong/precision wrong/value
---*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float cut(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    u &= 0xffff0000u;
    memcpy(&v, &u, sizeof v);
    return v;
}

void attention_head(const float *q, const float *k, const float *v, float *y, float scale,
                    int64_t seq, int64_t dim)
{
    float *w = malloc((size_t)seq * sizeof *w);
    for (int64_t i = 0; i < seq; i++) {
        float m = -INFINITY, s = 0;
        for (int64_t j = 0; j <= i; j++) {
            float d = 0;
            for (int64_t l = 0; l < dim; l++) {
                d += cut(q[i * dim + l]) * cut(k[j * dim + l]);
            }
            w[j] = d * scale;
            m = fmaxf(m, w[j]);
        }
        for (int64_t j = 0; j <= i; j++) {
            s += w[j] = expf(w[j] - m);
        }
        for (int64_t l = 0; l < dim; l++) {
            float o = 0;
            for (int64_t j = 0; j <= i; j++) {
                o += w[j] * cut(v[j * dim + l]);
            }
            y[i * dim + l] = o / s;
        }
    }
    free(w);
}
