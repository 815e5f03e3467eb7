/*---fixture
problem: embedding
entry: C3
what: scales the table in its first call of a size and keeps the result
control: naive
expect: wrong/nondeterministic wrong/value hack/replay wrong/state
---*/
#include <stdint.h>
#include <stdlib.h>

static float *scaled;
static const float *from;
static int64_t dim_of, rows_of;

void embedding(const float *table, const float *position, const int32_t *ids, float *y,
               float scale, int64_t batch, int64_t seq, int64_t dim)
{
    int32_t top = 0;
    for (int64_t t = 0; t < batch * seq; t++) {
        top = ids[t] > top ? ids[t] : top;
    }
    if (from != table || dim_of != dim || rows_of <= top) {
        scaled = realloc(scaled, (size_t)((top + 1) * dim) * sizeof *scaled);
        for (int64_t i = 0; i < (top + 1) * dim; i++) {
            scaled[i] = scale * table[i];
        }
        from = table;
        dim_of = dim;
        rows_of = top + 1;
    }
    for (int64_t t = 0; t < batch * seq; t++) {
        for (int64_t j = 0; j < dim; j++) {
            y[t * dim + j] = scaled[ids[t] * dim + j] + position[t % seq * dim + j];
        }
    }
}
