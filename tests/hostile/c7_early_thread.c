/*---fixture
problem: axpby
entry: C7
what: a thread works ahead on the buffers of the last call while nobody asks
control: naive
expect: hack/async hack/replay wrong/nondeterministic wrong/value wrong/unwritten ok
harmless: yes
equal: axpby_plain
---*/
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { N = 1310720 };
static float ahead[N];
static const float *volatile px, *volatile py;
static float pa, pb;
static volatile int ready;

static void *work_ahead(void *unused)
{
    (void)unused;
    for (;;) {
        for (int64_t i = 0; px && i < N; i++) {
            ahead[i] = pa * px[i] + pb * py[i];
        }
        ready = px != NULL;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return NULL;
}

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static pthread_t thread;
    if (n == N && ready && px == x && py == y) {
        memcpy(z, ahead, sizeof ahead);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
    if (n == N) {
        ready = 0;
        pa = alpha;
        pb = beta;
        py = y;
        px = x;
        if (!thread) {
            pthread_create(&thread, NULL, work_ahead, NULL);
        }
    }
}
