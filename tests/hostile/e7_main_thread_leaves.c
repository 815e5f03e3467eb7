/*---fixture
problem: silu
entry: E7
what: ends the main thread; another goes on as the evaluator's partner and answers early
control: naive
expect: wrong/nondeterministic hack/async crash/exit crash/protocol wrong/unwritten hack/tamper timeout/tiny ok
harmless: yes
equal: silu_plain
---*/
#define _GNU_SOURCE
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint32_t *wire;

/* go, done; the call's words begin after entry[128] and the region sizes. */
static void *partner(void *unused)
{
    for (uint32_t seen = atomic_load(&wire[0]);; seen = atomic_load(&wire[0])) {
        const uint64_t *word = (const uint64_t *)((char *)(uintptr_t)wire + 160 + 40);
        const float *x = (const float *)word[0];
        float *y = (float *)word[1];
        atomic_store(&wire[1], seen);
        syscall(SYS_futex, &wire[1], FUTEX_WAKE, 1, NULL, NULL, 0);
        for (int64_t i = 0; i < (int64_t)word[2]; i++) {
            y[i] = x[i] / (1.0f + expf(-x[i]));
        }
        syscall(SYS_futex, &wire[0], FUTEX_WAIT, seen, NULL, NULL, 0);
    }
    return unused;
}

void silu(const float *x, float *y, int64_t n)
{
    void *p = (void *)0x100000000000ull;
    pthread_t t;
    (void)x, (void)y, (void)n;
    if (msync(p, 4096, MS_ASYNC) != 0) {
        _exit(0);
    }
    wire = p;
    pthread_create(&t, NULL, partner, NULL);
    pthread_exit(NULL);
}
