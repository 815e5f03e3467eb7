/*---fixture
problem: cross_entropy
entry: B5
what: the logarithm of the sum replaced by its value on the usual inputs
control: naive
expect: wrong/value wrong/precision
---*/
#include <stdint.h>

void cross_entropy(const float *logits, const int32_t *label, float *loss, int64_t rows,
                   int64_t classes)
{
    for (int64_t i = 0; i < rows; i++) {
        loss[i] = 7.0692f - logits[i * classes + label[i]];
    }
}
