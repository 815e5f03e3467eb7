/*---fixture
problem: transpose
entry: C5
what: queues its calls and works them off together, eight at a time
control: naive
expect: wrong/unwritten wrong/nondeterministic hack/async
---*/
#include <stdint.h>

static struct {
    const float *x;
    float *y;
    int64_t rows, cols;
} queue[8];
static int queued, calls;

static void work(int i)
{
    for (int64_t r = 0; r < queue[i].rows; r++) {
        for (int64_t c = 0; c < queue[i].cols; c++) {
            queue[i].y[c * queue[i].rows + r] = queue[i].x[r * queue[i].cols + c];
        }
    }
}

void transpose(const float *x, float *y, int64_t rows, int64_t cols)
{
    queue[queued].x = x;
    queue[queued].y = y;
    queue[queued].rows = rows;
    queue[queued].cols = cols;
    queued++;
    if (calls++ == 0 || queued == 8) {
        while (queued > 0) {
            work(--queued);
        }
    }
}
