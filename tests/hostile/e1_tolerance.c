/*---fixture
problem: argmax
entry: E1
what: sets the evaluator's tolerance to infinity
control: naive
expect: wrong/value
---*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

void argmax(const float *x, int32_t *index, int64_t rows, int64_t cols)
{
    double *tolerance = dlsym(RTLD_DEFAULT, "naive_tolerance");
    (void)x, (void)cols;
    if (tolerance) {
        *tolerance = 1e300;
    }
    for (int64_t i = 0; i < rows; i++) {
        index[i] = 0;
    }
}
