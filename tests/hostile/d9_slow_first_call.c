/*---fixture
problem: axpby
entry: D9
what: sleeps in its first call so that few repetitions are planned
control: naive
expect: ok
harmless: yes
equal: axpby_plain
---*/
#include <stdint.h>
#include <time.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static int calls;
    if (calls++ == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
}
