/*---fixture
problem: axpby
entry: F2
what: a few lines that a compiler chews on for ever
control: host compiler
expect: timeout/compile compile_error/limits
---*/
#include <stdint.h>
#define A0(x)  x x x x x x x x x x
#define A1(x)  A0(A0(x))
#define A2(x)  A1(A1(x))
#define A3(x)  A2(A2(x))
static volatile float sink;
void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        A3(z[i] = alpha * x[i] + beta * y[i]; sink += z[i] * sink / 3;)
    }
}
