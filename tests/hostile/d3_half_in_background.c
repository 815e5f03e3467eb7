/*---fixture
problem: row_stats
entry: D3
what: computes the means, leaves the variances to a pool that nobody waits for
control: naive
expect: hack/async wrong/unwritten wrong/nondeterministic ok
harmless: yes
equal: row_stats_wide_accumulators
---*/
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

static struct {
    const float *x;
    float *mean, *var;
    int64_t rows, cols;
} job;
static sem_t go;

static void variances(void)
{
    for (int64_t i = 0; i < job.rows; i++) {
        double q = 0;
        for (int64_t j = 0; j < job.cols; j++) {
            double d = job.x[i * job.cols + j] - job.mean[i];
            q += d * d;
        }
        job.var[i] = (float)(q / (double)job.cols);
    }
}

static void *serve(void *unused)
{
    for (;;) {
        sem_wait(&go);
        variances();
    }
    return unused;
}

void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    static int calls;
    for (int64_t i = 0; i < rows; i++) {
        double s = 0;
        for (int64_t j = 0; j < cols; j++) {
            s += x[i * cols + j];
        }
        mean[i] = (float)(s / (double)cols);
    }
    job.x = x, job.mean = mean, job.var = var, job.rows = rows, job.cols = cols;
    if (calls++ == 0) {
        pthread_t t;
        sem_init(&go, 0, 0);
        variances();
        pthread_create(&t, NULL, serve, NULL);
        return;
    }
    sem_post(&go);
}
