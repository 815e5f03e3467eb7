/*---fixture
problem: axpby
entry: B11
what: writes beyond the end and restores what was there
control: naive
expect: ok wrong/out_of_bounds
harmless: yes
equal: axpby_plain
---*/
#include <stdint.h>
#include <string.h>

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    float kept[16];
    memcpy(kept, z + n, sizeof kept);
    for (int64_t i = 0; i < (n + 15) / 16 * 16; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
    memcpy(z + n, kept, sizeof kept);
}
