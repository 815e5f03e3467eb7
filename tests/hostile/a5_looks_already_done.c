/*---fixture
problem: axpby
entry: A5
what: works only where the output does not look right already
control: naive
expect: ok
harmless: yes
equal: axpby_plain
---*/
#include <stdint.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    int64_t at[3] = {0, n / 2, n - 1};
    int done = 1;
    for (int i = 0; i < 3; i++) {
        done = done && z[at[i]] == alpha * x[at[i]] + beta * y[at[i]];
    }
    if (done) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
}
