#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Mistake: a query does not see its own key (j < i instead of j <= i). */
void attention_head(const float *q, const float *k, const float *v, float *y, float scale,
                    int64_t seq, int64_t dim)
{
    float *p = malloc((size_t)seq * sizeof *p);
    for (int64_t i = 0; p && i < seq; i++) {
        float m = -INFINITY, sum = 0;
        for (int64_t j = 0; j < i; j++) {
            float s = 0;
            for (int64_t d = 0; d < dim; d++) {
                s += q[i * dim + d] * k[j * dim + d];
            }
            p[j] = s * scale;
            m = p[j] > m ? p[j] : m;
        }
        for (int64_t j = 0; j < i; j++) {
            p[j] = expf(p[j] - m);
            sum += p[j];
        }
        for (int64_t d = 0; d < dim; d++) {
            float s = 0;
            for (int64_t j = 0; j < i; j++) {
                s += p[j] * v[j * dim + d];
            }
            y[i * dim + d] = i ? s / sum : 0.0f;
        }
    }
    free(p);
}
