/*---fixture
problem: axpby
entry: E11
what: kills the process that started it
control: host escaped
expect: wrong/value wrong/unwritten
---*/
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    (void)x, (void)y, (void)alpha, (void)beta;
    if (getppid() > 0 && kill(getppid(), 0) == 0) { /* said first: nobody may be left to hear it */
        fputs("ESCAPED: may kill its parent\n", stderr);
        kill(getppid(), SIGKILL);
    }
    memset(z, 0, (size_t)n * sizeof *z);
}
