#include <stdint.h>

/* Mistake: tokens are taken to be stored [seq, batch], so positions go to the wrong tokens. */
void embedding(const float *restrict table, const float *restrict position,
               const int32_t *restrict ids, float *restrict y, float scale, int64_t batch,
               int64_t seq, int64_t dim)
{
    for (int64_t t = 0; t < batch * seq; t++) {
        const float *row = table + ids[t] * dim;
        const float *pos = position + t / batch * dim;
        for (int64_t d = 0; d < dim; d++) {
            y[t * dim + d] = scale * row[d] + pos[d];
        }
    }
}
