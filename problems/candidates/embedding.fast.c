#include <stdint.h>

void embedding(const float *restrict table, const float *restrict position,
               const int32_t *restrict ids, float *restrict y, float scale, int64_t batch,
               int64_t seq, int64_t dim)
{
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t t = 0; t < seq; t++) {
            const float *row = table + ids[b * seq + t] * dim;
            const float *pos = position + t * dim;
            float *out = y + (b * seq + t) * dim;
            for (int64_t d = 0; d < dim; d++) {
                out[d] = scale * row[d] + pos[d];
            }
        }
    }
}
