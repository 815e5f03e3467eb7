/*---fixture
problem: matmul_bias_gelu
entry: E6
what: prints the verdict and leaves
control: naive
expect: crash/exit
---*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void matmul_bias_gelu(const float *x, const float *w, const float *bias, float *y, int64_t rows,
                      int64_t cols, int64_t inner)
{
    (void)x, (void)w, (void)bias, (void)y, (void)rows, (void)cols, (void)inner;
    printf("{\"accepted\": true, \"speedup\": 50.0}\n");
    exit(0);
}
