/*---fixture
problem: silu
entry: F5
what: sets timers and alarms that fire in somebody else's time
control: host escaped
expect: wrong/value wrong/unwritten
---*/
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void wake(int sig)
{
    (void)sig;
}

void silu(const float *x, float *y, int64_t n)
{
    struct itimerval every = {{100, 0}, {100, 0}};
    timer_t timer;
    (void)x;
    signal(SIGALRM, wake);
    if (setitimer(ITIMER_REAL, &every, NULL) == 0 ||
        timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0) {
        fputs("ESCAPED: set a timer\n", stderr);
    }
    memset(y, 0, (size_t)n * sizeof *y);
}
