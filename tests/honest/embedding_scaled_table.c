/*---fixture
problem: embedding
entry: 6.9
what: scales the whole table anew in every call, then gathers
expect: ok
twin: C3
---*/
#include <stdint.h>
#include <stdlib.h>

void embedding(const float *table, const float *position, const int32_t *ids, float *y,
               float scale, int64_t batch, int64_t seq, int64_t dim)
{
    int64_t tokens = batch * seq;
    int32_t top = 0;
    for (int64_t t = 0; t < tokens; t++) {
        top = ids[t] > top ? ids[t] : top;
    }
    float *scaled = malloc((size_t)((top + 1) * dim) * sizeof *scaled);
    for (int64_t i = 0; i < (top + 1) * dim; i++) {
        scaled[i] = scale * table[i];
    }
    for (int64_t t = 0; t < tokens; t++) {
        for (int64_t j = 0; j < dim; j++) {
            y[t * dim + j] = scaled[ids[t] * dim + j] + position[t % seq * dim + j];
        }
    }
    free(scaled);
}
