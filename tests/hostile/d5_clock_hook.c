/*---fixture
problem: cumsum
entry: D5
what: replaces the evaluator's clock by one that stands still
control: naive
expect: wrong/value
---*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

static double still(void)
{
    static double t;
    return t += 1e-9;
}

void cumsum(const float *x, float *y, int64_t rows, int64_t cols)
{
    double (**clock_hook)(void) = (double (**)(void))dlsym(RTLD_DEFAULT, "naive_clock");
    for (int64_t i = 0; i < rows; i++) {
        double s = 0;
        for (int64_t j = 0; j < cols; j++) {
            s += x[i * cols + j];
            y[i * cols + j] = clock_hook ? (float)s : 0;
        }
    }
    if (clock_hook) {
        *clock_hook = still;
    }
}
