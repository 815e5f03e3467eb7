/*---fixture
problem: axpby
entry: E10
what: never returns: takes over the protocol and answers every call before it works
control: naive
expect: wrong/unwritten hack/async wrong/nondeterministic hack/tamper hack/clock timeout/tiny crash/protocol ok
harmless: yes
equal: axpby_plain
---*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static float scalar(const uint64_t *word)
{
    float f;
    memcpy(&f, word, sizeof f);
    return f;
}

_Noreturn static void serve(_Atomic uint32_t *wire)
{
    const uint64_t *word = (const uint64_t *)((char *)(uintptr_t)wire + 200);
    for (;;) {
        uint32_t seen = atomic_load(&wire[0]);
        atomic_store(&wire[1], seen);
        syscall(SYS_futex, &wire[1], FUTEX_WAKE, 1, NULL, NULL, 0);
        sched_yield();
        const float *x = (const float *)word[0], *y = (const float *)word[1];
        float *z = (float *)word[2], alpha = scalar(&word[3]), beta = scalar(&word[4]);
        for (int64_t i = 0; i < (int64_t)word[5]; i++) {
            z[i] = alpha * x[i] + beta * y[i];
        }
        syscall(SYS_futex, &wire[0], FUTEX_WAIT, seen, NULL, NULL, 0);
    }
}

static void slow(void)
{
    usleep(500);
}

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    void *p = (void *)0x100000000000ull;
    void (**reference)(void) = dlsym(RTLD_DEFAULT, "naive_reference");
    if (msync(p, 4096, MS_ASYNC) == 0) {
        serve(p);
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
    if (reference) {
        *reference = slow; /* the other side of the comparison */
    }
}
