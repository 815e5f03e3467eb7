/*---fixture
problem: argmax
entry: F1
what: aborts, as a library's assertion would
control: host down
expect: crash/signal
---*/
#include <stdint.h>
#include <stdlib.h>

void argmax(const float *x, int32_t *index, int64_t rows, int64_t cols)
{
    (void)x, (void)index, (void)rows, (void)cols;
    abort();
}
