/*---fixture
problem: embedding
entry: F4
what: prints its inputs as an error message and aborts
control: host down
expect: crash/signal
---*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void embedding(const float *table, const float *position, const int32_t *ids, float *y,
               float scale, int64_t batch, int64_t seq, int64_t dim)
{
    (void)position, (void)y, (void)scale, (void)batch, (void)seq, (void)dim;
    fprintf(stderr, "error: inputs were %g %g %g, ids %d %d\n", table[0], table[1], table[2],
            ids[0], ids[1]);
    abort();
}
