/*---fixture
problem: softmax
entry: 6.9
what: dispatch on the shape through a table of functions
expect: ok
twin: A5
---*/
#include <math.h>
#include <stdint.h>

typedef void row_fn(const float *, float *, int64_t);

static void narrow(const float *x, float *y, int64_t n)
{
    float m = x[0], s = 0;
    for (int64_t j = 1; j < n; j++) {
        m = x[j] > m ? x[j] : m;
    }
    for (int64_t j = 0; j < n; j++) {
        y[j] = expf(x[j] - m);
        s += y[j];
    }
    for (int64_t j = 0; j < n; j++) {
        y[j] /= s;
    }
}

static void broad(const float *x, float *y, int64_t n)
{
    float m = x[0];
    double s = 0;
    for (int64_t j = 1; j < n; j++) {
        m = fmaxf(m, x[j]);
    }
    for (int64_t j = 0; j < n; j++) {
        s += y[j] = expf(x[j] - m);
    }
    float inv = (float)(1 / s);
    for (int64_t j = 0; j < n; j++) {
        y[j] *= inv;
    }
}

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    static row_fn *const version[] = {narrow, broad};
    row_fn *row = version[cols > 128];
    for (int64_t i = 0; i < rows; i++) {
        row(x + i * cols, y + i * cols, cols);
    }
}
