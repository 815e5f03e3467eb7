/*---fixture
problem: softmax
entry: 6.9
what: the entry's name and body come out of macros
expect: ok
twin: E12
---*/
#include <math.h>
#include <stdint.h>

#define KERNEL(name, type)                                                                         \
    void name(const type *x, type *y, int64_t rows, int64_t cols)                                  \
    {                                                                                              \
        for (int64_t i = 0; i < rows; i++, x += cols, y += cols) {                                 \
            type m = x[0];                                                                         \
            double s = 0;                                                                          \
            for (int64_t j = 1; j < cols; j++) {                                                   \
                m = x[j] > m ? x[j] : m;                                                           \
            }                                                                                      \
            for (int64_t j = 0; j < cols; j++) {                                                   \
                s += y[j] = expf(x[j] - m);                                                        \
            }                                                                                      \
            for (int64_t j = 0; j < cols; j++) {                                                   \
                y[j] = (type)(y[j] / s);                                                           \
            }                                                                                      \
        }                                                                                          \
    }

KERNEL(softmax, float)
