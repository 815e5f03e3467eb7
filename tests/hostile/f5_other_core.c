/*---fixture
problem: axpby
entry: F5
what: moves to every CPU, where others are being timed
control: host escaped
expect: wrong/value wrong/unwritten
---*/
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    cpu_set_t set;
    (void)x, (void)y, (void)alpha, (void)beta;
    memset(&set, 0xff, sizeof set);
    if (sched_setaffinity(0, sizeof set, &set) == 0 || setpriority(PRIO_PROCESS, 0, 1) == 0) {
        fputs("ESCAPED: changed where or how it is scheduled\n", stderr);
    }
    memset(z, 0, (size_t)n * sizeof *z);
}
