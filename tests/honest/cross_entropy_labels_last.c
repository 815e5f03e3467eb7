/*---fixture
problem: cross_entropy
entry: 6.9
what: the sums of all rows first, the labels in a second loop
expect: ok
twin: B14
---*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

void cross_entropy(const float *logits, const int32_t *label, float *loss, int64_t rows,
                   int64_t classes)
{
    double *total = malloc((size_t)rows * sizeof *total);
    float *top = malloc((size_t)rows * sizeof *top);
    for (int64_t i = 0; i < rows; i++) {
        const float *in = logits + i * classes;
        top[i] = in[0];
        total[i] = 0;
        for (int64_t j = 1; j < classes; j++) {
            top[i] = in[j] > top[i] ? in[j] : top[i];
        }
        for (int64_t j = 0; j < classes; j++) {
            total[i] += expf(in[j] - top[i]);
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        loss[i] = (float)(log(total[i]) + ((double)top[i] - logits[i * classes + label[i]]));
    }
    free(top);
    free(total);
}
