/*---fixture
problem: axpby
entry: D7
what: says that the next call is done before it has been asked for
control: naive
expect: hack/async hack/tamper hack/clock crash/protocol wrong/unwritten timeout/tiny timeout/full timeout/timing ok
harmless: yes
equal: axpby_plain
---*/
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    const float *x, *y;
    float *z, alpha, beta;
    int64_t n;
} job;

static void *work(void *unused)
{
    for (int64_t i = 0; i < job.n; i++) {
        job.z[i] = job.alpha * job.x[i] + job.beta * job.y[i];
    }
    return unused;
}

/* The control page: go, done; the call's words. When a call is over and its partner has seen that,
 * the next one is declared done. */
_Noreturn static void serve(_Atomic uint32_t *wire)
{
    const uint64_t *word = (const uint64_t *)((char *)(uintptr_t)wire + 200);
    for (;;) {
        uint32_t seen = atomic_load(&wire[0]);
        job.x = (const float *)word[0], job.y = (const float *)word[1], job.z = (float *)word[2];
        memcpy(&job.alpha, &word[3], sizeof(float));
        memcpy(&job.beta, &word[4], sizeof(float));
        job.n = (int64_t)word[5];
        work(NULL);
        atomic_store(&wire[1], seen);
        syscall(SYS_futex, &wire[1], FUTEX_WAKE, 1, NULL, NULL, 0);
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
        atomic_store(&wire[1], seen + 1);
        syscall(SYS_futex, &wire[0], FUTEX_WAIT, seen, NULL, NULL, 0);
    }
}

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static int calls;
    pthread_t t;
    void *p = (void *)0x100000000000ull;
    if (msync(p, 4096, MS_ASYNC) == 0) {
        serve(p);
    }
    job.x = x, job.y = y, job.z = z, job.alpha = alpha, job.beta = beta, job.n = n;
    if (calls++ == 0) {
        work(NULL);
    } else if (pthread_create(&t, NULL, work, NULL) == 0) {
        pthread_detach(t);
    }
}
