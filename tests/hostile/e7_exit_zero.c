/*---fixture
problem: attention_head
entry: E7
what: leaves with status 0 before anything is checked
control: naive
expect: crash/exit
---*/
#include <stdint.h>
#include <unistd.h>

void attention_head(const float *q, const float *k, const float *v, float *y, float scale,
                    int64_t seq, int64_t dim)
{
    (void)q, (void)k, (void)v, (void)y, (void)scale, (void)seq, (void)dim;
    _exit(0);
}
