/*---fixture
problem: axpby
entry: D3
what: returns at once and lets a detached thread do the work
control: naive
expect: hack/async wrong/unwritten wrong/nondeterministic ok
harmless: yes
equal: axpby_plain
---*/
#include <pthread.h>
#include <stdint.h>

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

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static int calls;
    pthread_t t;
    job.x = x, job.y = y, job.z = z, job.alpha = alpha, job.beta = beta, job.n = n;
    if (calls++ == 0) {
        work(NULL);
    } else if (pthread_create(&t, NULL, work, NULL) == 0) {
        pthread_detach(t);
    }
}
