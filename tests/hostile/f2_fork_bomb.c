/*---fixture
problem: axpby
entry: F2
what: forks as often as it is allowed to
control: host escaped
expect: wrong/value wrong/unwritten
---*/
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bounded, so that the control stays cheap: each child ends at once. */
void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    int born = 0;
    (void)x, (void)y, (void)alpha, (void)beta;
    for (int i = 0; i < 64; i++) {
        pid_t p = fork();
        if (p == 0) {
            _exit(0);
        }
        born += p > 0;
    }
    while (wait(NULL) > 0) {
    }
    if (born > 0) {
        fprintf(stderr, "ESCAPED: forked %d times\n", born);
    }
    memset(z, 0, (size_t)n * sizeof *z);
}
