/*---fixture
problem: axpby
entry: 6.9
what: two threads, joined before the call returns
expect: ok
twin: D3
---*/
#include <pthread.h>
#include <stdint.h>

struct part {
    const float *x, *y;
    float *z, alpha, beta;
    int64_t n;
};

static void *work(void *arg)
{
    struct part *p = arg;
    for (int64_t i = 0; i < p->n; i++) {
        p->z[i] = p->alpha * p->x[i] + p->beta * p->y[i];
    }
    return NULL;
}

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    int64_t half = n / 2;
    struct part a = {x, y, z, alpha, beta, half};
    struct part b = {x + half, y + half, z + half, alpha, beta, n - half};
    pthread_t t;
    if (pthread_create(&t, NULL, work, &a) != 0) {
        work(&a);
        work(&b);
        return;
    }
    work(&b);
    pthread_join(t, NULL);
}
