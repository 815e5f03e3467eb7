/*---fixture
problem: cross_entropy
entry: 6.9
what: maximum and sum in one pass
expect: ok
twin: B4
---*/
#include <math.h>
#include <stdint.h>

void cross_entropy(const float *logits, const int32_t *label, float *loss, int64_t rows,
                   int64_t classes)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = logits + i * classes;
        float m = in[0];
        double s = 1;
        for (int64_t j = 1; j < classes; j++) {
            if (in[j] > m) {
                s = s * exp((double)m - in[j]) + 1;
                m = in[j];
            } else {
                s += expf(in[j] - m);
            }
        }
        loss[i] = (float)(log(s) + ((double)m - in[label[i]]));
    }
}
