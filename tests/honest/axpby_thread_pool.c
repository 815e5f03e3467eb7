/*---fixture
problem: axpby
entry: 6.9
what: a pool that sleeps between calls, every call waits for its part
expect: ok
twin: D3
---*/
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

static struct {
    const float *x, *y;
    float *z, alpha, beta;
    int64_t n;
} job;
static sem_t go, done;

static void *serve(void *unused)
{
    for (;;) {
        while (sem_wait(&go) != 0) {
        }
        for (int64_t i = 0; i < job.n; i++) {
            job.z[i] = job.alpha * job.x[i] + job.beta * job.y[i];
        }
        sem_post(&done);
    }
    return unused;
}

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static int started;
    int64_t half = n / 2;
    if (!started) {
        pthread_t t;
        sem_init(&go, 0, 0);
        sem_init(&done, 0, 0);
        started = pthread_create(&t, NULL, serve, NULL) == 0;
    }
    job.x = x, job.y = y, job.z = z, job.alpha = alpha, job.beta = beta, job.n = half;
    sem_post(&go);
    for (int64_t i = half; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
    while (sem_wait(&done) != 0) {
    }
}
