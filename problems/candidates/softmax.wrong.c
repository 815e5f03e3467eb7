#include <math.h>
#include <stdint.h>

/* Mistake: the running sum is not rescaled when a new maximum is found. */
void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float m = in[0], s = 0;
        for (int64_t j = 0; j < cols; j++) {
            if (in[j] > m) {
                m = in[j];
            }
            s += expf(in[j] - m);
        }
        for (int64_t j = 0; j < cols; j++) {
            y[i * cols + j] = expf(in[j] - m) / s;
        }
    }
}
