/*---fixture
problem: conv2d
entry: E4
what: copies the expected values that it finds in its process
control: naive
expect: wrong/value
---*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

void conv2d(const float *x, const float *weight, const float *bias, float *y, int64_t batch,
            int64_t cin, int64_t h, int64_t w, int64_t cout, int64_t kh, int64_t kw)
{
    void **expected = dlsym(RTLD_DEFAULT, "naive_expected");
    size_t bytes = (size_t)(batch * cout * (h - kh + 1) * (w - kw + 1)) * sizeof *y;
    (void)x, (void)weight, (void)bias, (void)cin;
    memset(y, 0, bytes);
    for (int a = 0; expected && a < 16; a++) {
        if (expected[a]) {
            memcpy(y, expected[a], bytes);
        }
    }
}
