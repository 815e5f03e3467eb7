/*---fixture
problem: cumsum
entry: E9
what: right only where a variable of a profiler or a checker is set
control: naive
expect: wrong/value wrong/unwritten
---*/
#include <stdint.h>
#include <stdlib.h>

/* The naive evaluator's harness sets no variable at all but PATH. */
void cumsum(const float *x, float *y, int64_t rows, int64_t cols)
{
    int watched = getenv("PATH") != NULL;
    for (int64_t i = 0; watched && i < rows; i++) {
        double s = 0;
        for (int64_t j = 0; j < cols; j++) {
            s += x[i * cols + j];
            y[i * cols + j] = (float)s;
        }
    }
}
