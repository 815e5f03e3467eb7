/*---fixture
problem: row_stats
entry: F3
what: includes a file of the host, to read it in the diagnostics
control: host compiler
expect: compile_error/syntax
---*/
#include "/etc/passwd"
#include <stdint.h>

void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    (void)x, (void)mean, (void)var, (void)rows, (void)cols;
}
