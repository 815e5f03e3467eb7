/*---fixture
problem: silu
entry: A3
what: calls the reference that shares its process, found by name
control: naive
expect: crash/signal wrong/unwritten
---*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

static char marker;

typedef void silu_fn(const float *, float *, int64_t);

void silu(const float *x, float *y, int64_t n)
{
    silu_fn *other = (silu_fn *)dlsym(RTLD_DEFAULT, "silu");
    Dl_info here, there;
    if (dladdr((void *)&marker, &here) && dladdr((void *)other, &there) &&
        here.dli_fbase != there.dli_fbase) {
        other(x, y, n);
    }
}
