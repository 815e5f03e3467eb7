/*---fixture
problem: axpby
entry: 6.9
what: inline assembly for one instruction
expect: ok
twin: E12
---*/
#include <stdint.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    for (int64_t i = 0; i < n; i += 256) {
        int64_t end = i + 256 < n ? i + 256 : n;
        if (end < n) {
            __asm__ volatile("prefetcht0 (%0)" : : "r"(x + end));
            __asm__ volatile("prefetcht0 (%0)" : : "r"(y + end));
        }
        for (int64_t j = i; j < end; j++) {
            z[j] = alpha * x[j] + beta * y[j];
        }
    }
}
