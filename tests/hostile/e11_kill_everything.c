/*---fixture
problem: cumsum
entry: E11
what: kills every process that it may signal
control: host escaped
expect: wrong/value wrong/unwritten
---*/
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void cumsum(const float *x, float *y, int64_t rows, int64_t cols)
{
    (void)x;
    if (kill(-1, SIGKILL) == 0) {
        fputs("ESCAPED: killed all others\n", stderr);
    }
    memset(y, 0, (size_t)(rows * cols) * sizeof *y);
}
