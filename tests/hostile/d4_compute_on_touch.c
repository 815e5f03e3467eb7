/*---fixture
problem: silu
entry: D4
what: takes the output's pages away and computes when the reader faults
control: naive
expect: wrong/unwritten crash/signal wrong/nondeterministic hack/async
---*/
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

static const float *px;
static float *py;
static int64_t pn;
static uintptr_t from, to;

static void compute(void)
{
    for (int64_t i = 0; i < pn; i++) {
        py[i] = px[i] / (1.0f + expf(-px[i]));
    }
}

static void on_fault(int sig)
{
    (void)sig;
    mprotect((void *)from, to - from, PROT_READ | PROT_WRITE);
    compute();
}

void silu(const float *x, float *y, int64_t n)
{
    px = x, py = y, pn = n;
    from = ((uintptr_t)y + 4095) & ~(uintptr_t)4095;
    to = (uintptr_t)(y + n) & ~(uintptr_t)4095;
    if (to <= from) {
        compute();
        return;
    }
    signal(SIGSEGV, on_fault);
    y[0] = x[0] / (1.0f + expf(-x[0]));
    for (float *p = y; (uintptr_t)p < from; p++) {
        *p = x[p - y] / (1.0f + expf(-x[p - y]));
    }
    mprotect((void *)from, to - from, PROT_NONE);
}
