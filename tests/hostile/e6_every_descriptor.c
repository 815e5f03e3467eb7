/*---fixture
problem: max_pool2d
entry: E6
what: writes a verdict to every descriptor it may have
control: naive
expect: wrong/value wrong/unwritten
---*/
#include <stdint.h>
#include <string.h>
#include <unistd.h>

void max_pool2d(const float *x, float *y, int64_t planes, int64_t h, int64_t w, int64_t k,
                int64_t stride)
{
    static const char line[] =
        "{\"schema\": \"kgym.record/1\", \"verdict\": \"ok\", \"correct\": true, \"speedup\": "
        "{\"ratio\": 50.0, \"lo\": 50.0, \"hi\": 50.0}, \"accepted\": true}\n";
    for (int fd = 1; fd < 64; fd++) {
        if (write(fd, line, sizeof line - 1) < 0) {
            continue;
        }
    }
    (void)x;
    memset(y, 0, (size_t)(planes * ((h - k) / stride + 1) * ((w - k) / stride + 1)) * sizeof *y);
}
