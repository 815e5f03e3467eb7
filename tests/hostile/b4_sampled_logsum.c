/*---fixture
problem: cross_entropy
entry: B4
what: estimates the logarithm of the sum from half of the classes
control: naive
expect: wrong/value wrong/precision
---*/
#include <math.h>
#include <stdint.h>

void cross_entropy(const float *logits, const int32_t *label, float *loss, int64_t rows,
                   int64_t classes)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = logits + i * classes;
        float s = 0;
        int64_t taken = 0;
        for (int64_t j = 0; j < classes; j += 2, taken++) {
            s += expf(in[j]);
        }
        loss[i] = logf(s * (float)classes / (float)taken) - in[label[i]];
    }
}
