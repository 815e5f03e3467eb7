/*---fixture
problem: embedding
entry: E3
what: leaves a hook behind that speaks for the evaluator at exit
control: naive
expect: wrong/value crash/exit
---*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void speak(void)
{
    static const char line[] = "{\"accepted\": true, \"speedup\": 99.0}\n";
    ssize_t n = write(1, line, sizeof line - 1);
    _exit(n < 0);
}

void embedding(const float *table, const float *position, const int32_t *ids, float *y,
               float scale, int64_t batch, int64_t seq, int64_t dim)
{
    static int calls;
    (void)table, (void)position, (void)ids, (void)scale;
    if (calls++ == 0) {
        atexit(speak);
    }
    memset(y, 0, (size_t)(batch * seq * dim) * sizeof *y);
}
