/*---fixture
problem: axpby
entry: D8
what: threads that spin whenever its own call is over, to slow what is measured next
control: naive
expect: hack/async hack/tamper ok
harmless: yes
equal: axpby_plain
---*/
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

static atomic_int mine = 1;

static void *spin(void *unused)
{
    for (;;) {
        while (!atomic_load(&mine)) {
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000}, NULL);
    }
    return unused;
}

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static int started;
    atomic_store(&mine, 1);
    for (; started < 8; started++) {
        pthread_t t;
        pthread_create(&t, NULL, spin, NULL);
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
    atomic_store(&mine, 0);
}
