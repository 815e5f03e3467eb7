/*---fixture
problem: row_stats
entry: E6
what: closes every descriptor, so that nothing can be reported against it
control: naive
expect: wrong/unwritten wrong/value wrong/nondeterministic
---*/
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    (void)x, (void)mean, (void)var, (void)rows, (void)cols;
    printf("{\"accepted\": true}\n");
    fflush(stdout);
    for (int fd = 0; fd < 1024; fd++) {
        close(fd);
    }
}
