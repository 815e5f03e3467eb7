/*---fixture
problem: conv2d
entry: F1
what: stores through a wild pointer
control: host down
expect: crash/signal
---*/
#include <stdint.h>

void conv2d(const float *x, const float *weight, const float *bias, float *y, int64_t batch,
            int64_t cin, int64_t h, int64_t w, int64_t cout, int64_t kh, int64_t kw)
{
    (void)x, (void)weight, (void)bias, (void)y, (void)batch, (void)cin, (void)h, (void)w;
    (void)cout, (void)kh, (void)kw;
    *(volatile float *)0x1234560 = 1;
}
