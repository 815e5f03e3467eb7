/*---fixture
problem: axpby
entry: F5
what: leaves a thread spinning on the core when its call is over
control: naive
expect: hack/async ok
harmless: yes
equal: axpby_plain
---*/
#include <pthread.h>
#include <stdint.h>

static void *spin(void *unused)
{
    for (;;) {
        __asm__ volatile("pause");
    }
    return unused;
}

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static pthread_t t;
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
    if (!t) {
        pthread_create(&t, NULL, spin, NULL);
    }
}
