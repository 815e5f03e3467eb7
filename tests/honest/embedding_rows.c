/*---fixture
problem: embedding
entry: 6.9
what: gather, scale and add in one loop over rows
expect: ok
twin: C3
---*/
#include <stdint.h>

void embedding(const float *table, const float *position, const int32_t *ids, float *y,
               float scale, int64_t batch, int64_t seq, int64_t dim)
{
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t t = 0; t < seq; t++, y += dim) {
            const float *row = table + (int64_t)ids[b * seq + t] * dim, *at = position + t * dim;
            for (int64_t j = 0; j < dim; j++) {
                y[j] = scale * row[j] + at[j];
            }
        }
    }
}
