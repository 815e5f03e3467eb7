/*---fixture
problem: silu
entry: F2
what: touches more and more memory until something ends it
control: host down
expect: out_of_memory/host crash/signal timeout/tiny
---*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void silu(const float *x, float *y, int64_t n)
{
    (void)x, (void)n;
    for (volatile char *p; (p = malloc(64 << 20)) != NULL;) {
        memset((void *)(uintptr_t)p, 1, 64 << 20);
        y[0] += p[5];
    }
    abort();
}
