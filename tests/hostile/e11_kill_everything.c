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
    if (kill(-1, 0) == 0) { /* said first: whoever waits for this process dies as well */
        fputs("ESCAPED: may kill all others\n", stderr);
    }
    kill(-1, SIGKILL);
    memset(y, 0, (size_t)(rows * cols) * sizeof *y);
}
