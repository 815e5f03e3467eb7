/*---fixture
problem: axpby
entry: 6.9
what: tries two block sizes in its first calls and keeps the faster
expect: ok
twin: D13
---*/
#include <stdint.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void blocks(const float *x, const float *y, float *z, float a, float b, int64_t n,
                   int64_t size)
{
    for (int64_t i = 0; i < n; i += size) {
        int64_t end = i + size < n ? i + size : n;
        for (int64_t j = i; j < end; j++) {
            z[j] = a * x[j] + b * y[j];
        }
    }
}

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static int64_t best, best_for;
    static const int64_t sizes[] = {1024, 65536};
    if (best_for != n) {
        double least = 1e9;
        for (int k = 0; k < 2; k++) {
            double t0 = now();
            for (int r = 0; r < 3; r++) {
                blocks(x, y, z, alpha, beta, n, sizes[k]);
            }
            double t = now() - t0;
            best = t < least ? sizes[k] : best;
            least = t < least ? t : least;
        }
        best_for = n;
        return;
    }
    blocks(x, y, z, alpha, beta, n, best);
}
