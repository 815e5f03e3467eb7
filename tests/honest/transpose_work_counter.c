/*---fixture
problem: transpose
entry: 6.9
what: three threads take rows from one atomic counter and are joined
expect: ok
twin: B12
---*/
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct job {
    const float *x;
    float *y;
    int64_t rows, cols;
    _Atomic int64_t next;
};

static void *take_rows(void *arg)
{
    struct job *j = arg;
    for (;;) {
        int64_t from = atomic_fetch_add(&j->next, 16);
        if (from >= j->rows) {
            return NULL;
        }
        int64_t to = from + 16 < j->rows ? from + 16 : j->rows;
        for (int64_t c = 0; c < j->cols; c++) {
            for (int64_t r = from; r < to; r++) {
                j->y[c * j->rows + r] = j->x[r * j->cols + c];
            }
        }
    }
}

void transpose(const float *x, float *y, int64_t rows, int64_t cols)
{
    struct job job = {.x = x, .y = y, .rows = rows, .cols = cols};
    pthread_t t[2];
    int born = 0;
    while (born < 2 && pthread_create(&t[born], NULL, take_rows, &job) == 0) {
        born++;
    }
    take_rows(&job);
    while (born > 0) {
        pthread_join(t[--born], NULL);
    }
}
