/*---fixture
problem: rms_norm_linear
entry: 6.9
what: multiplies first and divides each row by its norm afterwards
expect: ok
twin: B6
---*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

void rms_norm_linear(const float *x, const float *gain, const float *w, float *y, float eps,
                     int64_t rows, int64_t inner, int64_t outer)
{
    float *g = malloc((size_t)inner * sizeof *g);
    for (int64_t i = 0; i < rows; i++) {
        double square = 0;
        for (int64_t j = 0; j < inner; j++) {
            square += (double)x[i * inner + j] * x[i * inner + j];
            g[j] = x[i * inner + j] * gain[j];
        }
        double inv = 1 / sqrt(square / (double)inner + eps);
        for (int64_t o = 0; o < outer; o++) {
            double s = 0;
            for (int64_t j = 0; j < inner; j++) {
                s += (double)g[j] * w[o * inner + j];
            }
            y[i * outer + o] = (float)(s * inv);
        }
    }
    free(g);
}
